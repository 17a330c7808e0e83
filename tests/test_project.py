"""What a stranger relies on before reading any code: files that agree, commands that exist, safe sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "phrasekit"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ON_CONDA = {"torch": "pytorch", "playwright": "playwright-python"}
IMPORTED_AS = {"pyyaml": "yaml", "panel-material-ui": "panel_material_ui"}


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def split_requirement(line: str) -> tuple[str, str]:
    """``"transformers>=5.17,<6"`` → ``("transformers", ">=5.17,<6")``."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)(.*)", line.replace(" ", ""))
    if found is None:
        raise ValueError(f"not a requirement: {line!r}")
    return found[1].lower(), found[2]


def required(*extras: str) -> dict[str, str]:
    """The core dependencies and those of ``extras``, name → versions accepted."""
    lines = [*PROJECT["project"]["dependencies"]]
    for extra in extras:
        lines += PROJECT["project"]["optional-dependencies"][extra]
    return dict(split_requirement(line) for line in lines)


def pins() -> dict[str, str]:
    lines = [line for line in text("constraints.txt").splitlines() if line and not line.startswith("#")]
    return dict(split_requirement(line) for line in lines)


# --- environments -------------------------------------------------------------------------------


def test_conda_environment_agrees_with_pyproject():
    listed = yaml.safe_load(text("environment.yml"))["dependencies"]
    conda = dict(split_requirement(line) for line in listed if isinstance(line, str))
    assert conda.pop("python") == PROJECT["project"]["requires-python"]
    assert conda.pop("pip") == ""
    expected = {ON_CONDA.get(name, name): versions for name, versions in required("test", "notebook").items()}
    by_pip = required("retrieve", "bench").keys() - required().keys()
    assert conda == {name: versions for name, versions in expected.items() if name not in by_pip}
    assert [line for line in listed if isinstance(line, dict)] == [{"pip": ["-e .[retrieve,bench]"]}]


def test_all_extra_names_every_other_extra():
    extras = dict(PROJECT["project"]["optional-dependencies"])
    (line,) = extras.pop("all")
    assert set(re.fullmatch(r"phrasekit\[(.*)\]", line)[1].split(",")) == set(extras)


def test_constraints_pin_one_version_of_everything_the_tests_install():
    pinned = pins()
    assert pinned["torch"] == "==2.13.0"  # a looser pin pulls gigabytes of GPU libraries
    assert all(re.fullmatch(r"==\d[\w.]*", version) for version in pinned.values()), pinned
    missing = required("test", "dev").keys() - pinned.keys()
    assert not missing, f"constraints.txt pins no version of {sorted(missing)}"


def test_version_is_the_same_everywhere():
    version = PROJECT["project"]["version"]
    assert yaml.safe_load(text("CITATION.cff"))["version"] == version
    assert re.findall(r"^## \[(\d[^\]]*)\]", text("CHANGELOG.md"), re.MULTILINE)[0] == version


def test_citation_names_both_papers():
    references = yaml.safe_load(text("CITATION.cff"))["references"]
    papers = {reference["identifiers"][0]["value"]: reference for reference in references}
    assert set(papers) == {"arXiv:2402.13720", "arXiv:2601.05524"}
    for identifier, paper in papers.items():
        assert paper["doi"] == identifier.replace("arXiv:", "10.48550/arXiv.")
        assert paper["title"]
        assert all({"given-names", "family-names"} == author.keys() for author in paper["authors"])


def test_types_ship_with_the_package():
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]
    assert (PACKAGE / "py.typed").is_file()


# --- README, Makefile, CI -----------------------------------------------------------------------


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", text("Makefile"), re.MULTILINE))


def code_of(markdown: str) -> Iterator[str]:
    """Every line of a fenced block and every inline code span."""
    fenced = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
    for block in fenced.findall(markdown):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", fenced.sub("", markdown))


def commands(markdown: str, program: str) -> list[str]:
    """The first word after ``program`` wherever the text shows it as a command."""
    shown = re.compile(rf"(?:^|[$;&|]\s*){program} +([a-z][\w-]*)")
    return [word for code in code_of(markdown) for word in shown.findall(code.strip())]


def test_commands_are_found_in_code_and_not_in_prose():
    markdown = "We make sure.\n\n```sh\n$ make demo ARGS=x\ncd a && make test  # make it\n```\nor `make lab`."
    assert commands(markdown, "make") == ["demo", "test", "lab"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_shown_exists(name):
    shown = commands(text(name), "make")
    assert "test" in shown
    assert "demo" in shown
    missing = set(shown) - make_targets()
    assert not missing, f"{name} shows make {sorted(missing)}, the Makefile has no such target"


def test_every_target_is_phony_and_in_the_help():
    phony = set(re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)[1].split())
    helped = set(re.findall(r"^([a-z][\w-]*):.*  ## \S", text("Makefile"), re.MULTILINE))
    assert make_targets() == phony == helped


def test_ci_runs_the_readme_test_command():
    lines = [line.strip() for line in text(".ci/run").splitlines()]
    assert "set -euo pipefail" in lines
    assert lines[-1] == "exec make test"
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_lead_somewhere(name):
    markdown = text(name)
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", markdown) + re.findall(
        r"^\[[^\]]+\]:\s*(\S+)", markdown, re.MULTILINE
    )
    links += re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", markdown)
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), f"{name} links to {link}, which does not exist"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text("utf-8")), f"{name} links to {link}: no such heading"


def anchors(markdown: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


# --- the package's sources ----------------------------------------------------------------------

PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def offences(source: str) -> list[str]:
    """What a source file of the package must not hold, each as ``line: what``."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in {"print", "builtins.print"}:
                found.append(f"{node.lineno}: print")
            if name == "torch.load":
                found.append(f"{node.lineno}: torch.load")
            found += [
                f"{node.lineno}: trust_remote_code=True"
                for keyword in node.keywords
                if keyword.arg == "trust_remote_code" and is_true(keyword.value)
            ]
        elif isinstance(node, ast.Dict):
            found += [
                f"{node.lineno}: trust_remote_code=True"
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "trust_remote_code" and is_true(value)
            ]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            found += [f"{node.lineno}: import of {m}" for m in modules if m.split(".")[0] in PICKLES]
    return found


def is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("print('x')", ["1: print"]),
        ("def f():\n    import pickle", ["2: import of pickle"]),
        ("from cloudpickle.compat import x", ["1: import of cloudpickle.compat"]),
        ("torch.load('x')", ["1: torch.load"]),
        ("load(name, trust_remote_code=True)", ["1: trust_remote_code=True"]),
        ("load(**{'trust_remote_code': True})", ["1: trust_remote_code=True"]),
        ("load(name, trust_remote_code=False)\nconsole.print('x')\nfrom .pickles import y\n'print(1)'", []),
    ],
)
def test_offences_are_found(source, found):
    assert offences(source) == found


def test_sources_hold_no_print_no_pickle_and_no_remote_code():
    assert SOURCES
    found = [
        f"{path.relative_to(ROOT)}:{what}" for path in SOURCES for what in offences(path.read_text("utf-8"))
    ]
    assert not found


def imported(source: str) -> set[str]:
    """Top-level names of the modules that ``source`` imports absolutely, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names


def test_everything_imported_is_declared():
    extras = [
        extra for extra in PROJECT["project"]["optional-dependencies"] if extra not in {"all", "test", "dev"}
    ]
    declared = {IMPORTED_AS.get(name, name) for name in required(*extras)}
    known = declared | sys.stdlib_module_names | {"phrasekit"}
    for path in SOURCES:
        undeclared = imported(path.read_text("utf-8")) - known
        assert not undeclared, (
            f"{path.relative_to(ROOT)} imports {sorted(undeclared)}, pyproject.toml does not"
        )


def test_rooms_that_must_stay_plain_are_under_the_contract():
    contracts = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    plain = set(contracts["plain"]["source_modules"])
    for room in ("errors", "trace", "theory", "views"):
        exists = (PACKAGE / f"{room}.py").exists() or (PACKAGE / room / "__init__.py").exists()
        assert exists == (f"phrasekit.{room}" in plain), (
            f"put {room} under, or take it from, contract 'plain'"
        )


def loaded_after(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after ``statement``."""
    code = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("statement", ["import phrasekit", "import phrasekit.trace"])
def test_import_loads_neither_torch_nor_transformers(statement):
    loaded = loaded_after(statement)
    assert "phrasekit" in loaded
    assert not loaded & {"torch", "transformers"}
