"""Where a measurement was made: a number without its machine is not a result."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import phrasekit
from phrasekit.lm import Pair

PACKAGES = ("torch", "transformers", "numpy", "flashspec", "economize")


def environment(pair: Pair) -> dict[str, object]:
    """Versions, machine, models and settings, as plain values."""
    adapter = pair.target.adapter
    device = pair.target.device
    return {
        "phrasekit": phrasekit.__version__,
        "revision": revision(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "system": platform.platform(),
        "cpu": cpu_name(),
        "cores": cores(),
        "load_before": load(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else "",
        "dtype": str(adapter.dtype).removeprefix("torch."),
        "attention": str(getattr(adapter.config, "_attn_implementation", "")),
        "target": pair.target.name,
        "draft": pair.draft.name if pair.draft else "",
        "allocator": {name: value for name in _ALLOCATOR if (value := os.environ.get(name))},
    }


_ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")


def revision(root: Path | None = None) -> str:
    """The git revision of a source checkout, "-dirty" where files differ; "" elsewhere."""
    root = root or Path(phrasekit.__file__).resolve().parents[1]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return ""
    command = [git, "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpu_name(source: Path = Path("/proc/cpuinfo")) -> str:
    """What the processor calls itself."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", source.read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float | None:
    """Processes that wanted a core over the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
