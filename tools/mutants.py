"""Run mutmut's mutants of ``phrasekit/decode`` with forks instead of new test sessions.

mutmut makes the mutants and shows the results. Its own runner collects all tests anew for every mutant, which
takes longer than the test that kills it. Here they are collected once; each mutant is a forked process that
runs the tests of its own module, the quickest first, until one fails. Hypothesis tries fewer examples and
does not shrink what it finds. From the root of the repository:

    nice -n 19 python tools/mutants.py                 # make the mutants, run them all
    nice -n 19 python tools/mutants.py "*.tree.*"      # some, by the names that mutmut gives them
    nice -n 19 python tools/mutants.py --again         # those that survived last time, with every test
    mutmut show NAME

``killed``: a test failed. ``timeout``: a test took six seconds of the processor, so a loop never ended.
``survived``: no test failed within ``--limit`` seconds. Everything is written below ``mutants/``; each result
with the test that decided it in ``mutants/results.tsv``.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest
from mutmut.mutation.data import SourceFileMutationData

TESTS = ["tests/decode", "tests/propose/test_window.py", "tests/engine/test_probabilities.py"]
OWN = {
    "pickers": "picker",
    "rejection_picker": "rejection",
    "proposer": "walk",
}  # a module's tests, if not of its name
SLOW = ("picker", "rejection", "rejection_picker")  # their tests draw tens of thousands of tokens: last
SURVIVED, KILLED, TIMEOUT = 0, 1, 36  # as mutmut writes them
NAMES = {SURVIVED: "survived", KILLED: "killed", TIMEOUT: "timeout"}
LONGEST = 6.0  # seconds of the processor for one test
MEMORY = 8 << 30  # bytes of address space beyond those in use: an endless list fails soon
MAKE = """
from pathlib import Path
from mutmut.__main__ import *
set_mutant_under_test("mutant_generation")
Path("mutants").mkdir(exist_ok=True)
copy_src_dir(), copy_also_copy_files(), setup_source_paths(), create_mutants(1)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--again", action="store_true", help="only those that survived last time")
    parser.add_argument("--left", action="store_true", help="only those not run yet; implies --keep")
    parser.add_argument("--keep", action="store_true", help="run the mutants made last time, with new tests")
    parser.add_argument("--examples", type=int, default=25, help="examples of a property")
    parser.add_argument("--limit", type=float, default=15, help="processor seconds of a mutant")
    options = parser.parse_args()
    if not (options.keep or options.left):
        subprocess.run([sys.executable, "-c", MAKE], check=True, stdout=subprocess.DEVNULL)
    files = Results()
    shutil.copytree("tests", "mutants/tests", dirs_exist_ok=True)
    os.chdir("mutants")
    sys.path.insert(0, str(Path.cwd()))
    os.environ["MUTANT_UNDER_TEST"] = ""
    flags = ["--rootdir=.", "-q", "-s", "-m", "not slow", "--tb=no", "-p", "no:cacheprovider"]
    pytest.main([*flags, *TESTS], plugins=[Mutants(options, files)])


class Results:
    """What mutmut keeps of every mutant."""

    def __init__(self) -> None:
        self.files = [SourceFileMutationData(path=path) for path in Path("phrasekit/decode").glob("*.py")]
        for file in self.files:
            file.load()
            file.meta_path = file.meta_path.absolute()

    def codes(self) -> dict[str, int | None]:
        return {name: code for file in self.files for name, code in file.exit_code_by_key.items()}

    def note(self, name: str, code: int, test: str) -> None:
        file = next(file for file in self.files if name in file.exit_code_by_key)
        file.exit_code_by_key[name] = code
        file.save()
        with Path("results.tsv").open("a") as results:
            results.write(f"{name}\t{NAMES[code]}\t{test}\n")


class Mutants:
    """A pytest plugin that runs mutants in the place of tests."""

    def __init__(self, options: argparse.Namespace, results: Results) -> None:
        self.options, self.results = options, results
        self.seconds: dict[str, float] = {}
        self.failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        # after conftest.py, before the test modules, whose decorators read it; imported here, as pytest asks
        from hypothesis import Phase, settings

        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("mutants", phases=phases, max_examples=self.options.examples)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        names = [name for name, code in self.results.codes().items() if self.wanted(name, code)]
        names.sort(key=lambda name: name.split(".")[2] in SLOW)
        counts: Counter[str] = Counter()
        for done, name in enumerate(names, 1):
            code, test = self.run(name, self.chosen(name, session.items))
            self.results.note(name, code, test)
            counts[NAMES[code]] += 1
            if code != KILLED or done % 50 == 0 or done == len(names):
                say(f"{done} of {len(names)}, {dict(counts)}: {name} {NAMES[code]}, {test}")
        os._exit(0)

    def wanted(self, name: str, code: int | None) -> bool:
        if (self.options.again and code != SURVIVED) or (self.options.left and code is not None):
            return False
        return any(fnmatch(name, pattern) for pattern in self.options.patterns)

    def chosen(self, name: str, items: list[pytest.Item]) -> list[pytest.Item]:
        module = name.split(".")[2]
        own = f"tests/decode/test_{OWN.get(module, module)}.py"
        some = [item for item in items if self.options.again or item.nodeid.startswith(own)]
        return sorted(
            some, key=lambda item: (not item.nodeid.startswith(own), self.seconds.get(item.nodeid, 0))
        )

    def run(self, name: str, items: list[pytest.Item]) -> tuple[int, str]:
        """How a mutant ends, and the last test that was run."""
        reader, writer = os.pipe()
        if not (child := os.fork()):
            self.live(name, items, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            lines = pipe.read().splitlines()
        tried, taken = lines[::2], map(float, lines[1::2])
        self.seconds.update(zip(tried, taken, strict=False))  # the last one may never have ended
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == SURVIVED:
            return SURVIVED, f"{len(tried)} of {len(items)} tests"
        return TIMEOUT if status == -signal.SIGPROF else KILLED, tried[-1]

    def live(self, name: str, items: list[pytest.Item], writer: int) -> None:
        """The forked process: as this mutant, to the first test that fails."""
        os.environ["MUTANT_UNDER_TEST"] = name
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        for item, following in zip(items, [*items[1:], None], strict=True):
            start = time.process_time()
            if start > self.options.limit:
                break
            os.write(writer, f"{item.nodeid}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            os.write(writer, f"{time.process_time() - start}\n".encode())
            if self.failed:
                os._exit(KILLED)
        os._exit(SURVIVED)


def say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)


if __name__ == "__main__":
    main()
