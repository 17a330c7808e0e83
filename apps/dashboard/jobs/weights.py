"""How much memory a pair will need, from what lies on the disk, before any of it is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dashboard.jobs.hub import PairSpec
from phrasekit import demo

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1}
LOADED = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
MOST_HEADER = 100 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """The size of a model on the disk.

    Attributes:
        parameters: numbers in it; 0 where the format does not say.
        stored: bytes on the disk.
    """

    parameters: int
    stored: int

    def loaded(self, dtype: str, device: str) -> int:
        """Bytes in memory: float32 on a CPU and as stored elsewhere, unless a dtype is asked for."""
        if not self.parameters:
            return self.stored
        asked = dtype or ("float32" if device == "cpu" else "")
        return self.parameters * LOADED[asked] if asked in LOADED else self.stored


def weights_of(name: str) -> Weights | None:
    """The size of a folder, a GGUF file or a downloaded hub model; None where it is not here."""
    folder = Path(name).expanduser()
    if folder.suffix == ".gguf" and folder.is_file():
        return Weights(0, folder.stat().st_size)
    if not folder.is_dir():
        found = _downloaded(name)
        if found is None:
            return None
        folder = found
    files = sorted(folder.glob("*.safetensors"))
    return (
        Weights(sum(map(_parameters, files)), sum(file.stat().st_size for file in files)) if files else None
    )


def pair_weights(spec: PairSpec) -> tuple[Weights | None, ...]:
    """The sizes of target and draft."""
    if not spec.target:
        return weights_of(str(demo.FOLDER / "target")), weights_of(str(demo.FOLDER / "draft"))
    return tuple(weights_of(name) for name in (spec.target, spec.draft) if name)


def _parameters(file: Path) -> int:
    """Numbers in a safetensors file, from its header alone; 0 where that cannot be read."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, MOST_HEADER)))
        return sum(_numbers(entry) for name, entry in header.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0


def _numbers(entry: dict[str, list[int] | str]) -> int:
    start, end = (int(place) for place in entry["data_offsets"])
    return (end - start) // BYTES.get(str(entry["dtype"]), 4)


def _downloaded(name: str) -> Path | None:
    """The folder of a hub model in the cache; the network is not asked."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return None
