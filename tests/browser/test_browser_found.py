"""Which browser the tests take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.chromium import NAMES, chromium

BASH = shutil.which("bash")


def program(path: Path, text: str = "exit 0") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{BASH}\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_an_installed_browser_goes_before_playwrights_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    own = program(tmp_path / "cache" / "chrome")
    assert chromium(own) == own
    assert chromium(str(tmp_path / "missing")) is None
    for name in reversed(NAMES):
        installed = program(tmp_path / name)
        assert chromium(own) == installed


# ---- what .ci/run does about it ----------------------------------------------------------------------

CI = Path(__file__).resolve().parents[2] / ".ci" / "run"
SKIPPED = "browser tests will be skipped"


@pytest.fixture
def ci(tmp_path):
    """Run .ci/run where nothing exists but what a test puts there; gives its output."""
    tools = tmp_path / "tools"
    script = program(tmp_path / "checkout" / ".ci" / "run", CI.read_text("utf-8"))
    for name in ("dirname", "timeout"):
        (tools / name).parent.mkdir(exist_ok=True)
        (tools / name).symlink_to(shutil.which(name))
    program(tools / "id", "echo 0")
    program(tools / "python3", "echo Python")
    program(tools / "make", 'echo "make $*"')

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        for name, text in more.items():
            program(tools / name.replace("_", "-"), text)
        return subprocess.run(
            [BASH, script], capture_output=True, text=True, env={"PATH": str(tools)}, timeout=30, check=False
        )

    return run


def test_ci_takes_the_browser_that_is_there(ci):
    ran = ci(chromium="exit 0", apt_get="echo never >&2; exit 1")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("make test\n")


def test_ci_installs_a_browser_quietly(ci, tmp_path):
    asked = tmp_path / "asked"
    ran = ci(apt_get=f'echo "$*" >> {asked}; echo noise; echo noise >&2')
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "noise" not in ran.stdout
    assert [line.split()[1] for line in asked.read_text("utf-8").splitlines()] == ["update", "install"]
    assert asked.read_text("utf-8").split()[-1] == "chromium"


@pytest.mark.parametrize(
    "there",
    [{"apt_get": "exit 100"}, {}, {"apt_get": "exit 0", "id": "echo 1000"}],
    ids=["it cannot be installed", "no apt-get", "not root"],
)
def test_ci_tests_without_a_browser_and_says_so(ci, there):
    ran = ci(**there)
    assert ran.returncode == 0
    assert ran.stderr.strip().endswith(SKIPPED)
    assert ran.stdout.endswith("make test\n")
