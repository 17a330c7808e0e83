"""What the person who starts the server decides, for every visitor."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.jobs.hub import PairSpec


@dataclass(frozen=True, kw_only=True)
class Options:
    """Models on offer, and caps.

    Attributes:
        pair: loaded at start and shown first.
        models: further models that visitors may load, by name; a path may only come from here.
        any_model: whether visitors may also type the name of a hub model; never a path.
        prompt_characters: longest prompt.
        prompt_tokens: the same in tokens, known once there is a tokenizer.
        new_tokens: most tokens of a run.
        trace_bytes: largest trace file that may be uploaded.
    """

    pair: PairSpec = field(default_factory=PairSpec)
    models: tuple[str, ...] = ()
    any_model: bool = False
    prompt_characters: int = 8_000
    prompt_tokens: int = 2_048
    new_tokens: int = 512
    trace_bytes: int = 16 << 20

    def check(self, spec: PairSpec) -> None:
        """Refuse a pair that this server does not offer.

        Raises:
            ValueError: with what is offered.
        """
        for name in filter(None, (spec.target, spec.draft)):
            if name not in self.offered and not (self.any_model and _is_hub_name(name)):
                offered = ", ".join(["the embedded pair", *self.offered])
                raise ValueError(
                    f"a model must be one that this server offers ({offered}), but got {name[:60]!r}"
                )
        if spec.draft and not spec.target:
            raise ValueError("a draft needs a target, but only a draft was chosen; choose a target as well")
        if not _DEVICE.fullmatch(spec.device) or (spec.dtype and not spec.dtype.isidentifier()):
            raise ValueError(
                "device must be such as 'cpu' or 'cuda:1' and dtype such as 'bfloat16'; choose others"
            )

    @property
    def offered(self) -> tuple[str, ...]:
        """Models that visitors may choose by name, in order."""
        own = (self.pair.target, self.pair.draft, *self.models)
        return tuple(dict.fromkeys(name for name in own if name))


_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)
_DEVICE = re.compile(r"[a-z]+(:\d+)?")


def _is_hub_name(name: str) -> bool:
    """Whether it can only be a name: no path, and no folder that happens to lie here."""
    return bool(_HUB_NAME.fullmatch(name)) and ".." not in name and not Path(name).exists()
