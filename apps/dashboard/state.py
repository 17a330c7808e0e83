"""What a visitor has chosen; all of it fits into a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import param

from dashboard.examples import EXAMPLES, FIRST
from dashboard.hub import PairSpec
from dashboard.run import SYMBOLS, Plan
from phrasekit.decode.knobs import BOUNDS
from phrasekit.methods import runnable
from phrasekit.widgets.controls import KNOBS

VERSION = "1"  # of links
TABS = ("step", "tune", "compare", "pool", "search", "theory", "model")
POOLS = ("fresh", "kept", "shared")
SCHEDULES = ("serial", "threads")  # of parallel methods
PROMPTS = ("this", "examples", "bundled")  # what to compare and to search on
PACES = {"full speed": 0.0, "8 iterations a second": 8.0, "2 iterations a second": 2.0}
# knob → ends of its slider; a link may not ask for more
REACH = {name: (BOUNDS[name][0], most) for name, (_, most) in KNOBS.items() if name in SYMBOLS}


class Settings(param.Parameterized):
    """Everything a link carries, each value within its bounds.

    Knobs change the work and never the text; temperature, top-p and seed change the text.
    """

    tab = param.Selector(default="step", objects=list(TABS))
    prompt = param.String(default=EXAMPLES[FIRST])
    method = param.Selector(default="ouroboros", objects=list(runnable(None)))
    gamma = param.Integer(default=2, bounds=REACH["gamma"], doc="γ")
    window = param.Integer(default=0, bounds=REACH["window"], doc="W")
    level = param.Integer(default=6, bounds=REACH["level"], doc="N")
    guesses = param.Integer(default=3, bounds=REACH["guesses"], doc="G")
    suffixes = param.Integer(default=3, bounds=REACH["suffixes"], doc="K")
    beta = param.Integer(default=6, bounds=REACH["beta"], doc="β")
    lookup = param.Integer(default=10, bounds=REACH["lookup"], doc="L")
    temperature = param.Number(default=0.0, bounds=(0.0, 2.0))
    top_p = param.Number(default=1.0, bounds=(0.05, 1.0))
    seed = param.Integer(default=0, bounds=(0, 2**32 - 1))
    tokens = param.Integer(default=160, bounds=(1, 512), doc="tokens to write at most")
    pool = param.Selector(default="fresh", objects=list(POOLS))
    pace = param.Selector(default="8 iterations a second", objects=list(PACES))
    schedule = param.Selector(default="serial", objects=list(SCHEDULES))
    compared = param.String(
        default="speculative,prompt_lookup,lookahead,ouroboros", regex=r"^[a-z_,-]{0,240}$"
    )
    prompts = param.Selector(default="examples", objects=list(PROMPTS))
    race_tokens = param.Integer(default=96, bounds=(1, 512), doc="tokens of every lane at most")
    searched = param.String(default="ouroboros", regex=r"^[a-z_,-]{0,240}$")
    strategy = param.Selector(default="algorithm1", objects=["algorithm1", "grid"])
    budget = param.Integer(default=120, bounds=(0, 7200), doc="seconds of a search; 0 sets no end")
    step = param.Integer(default=0, bounds=(0, 100_000), doc="iteration shown, from 0")
    target = param.String(default="")
    draft = param.String(default="")
    device = param.String(default="cpu")
    dtype = param.String(default="")

    @property
    def knobs(self) -> dict[str, int]:
        """The knobs as chosen."""
        return {name: getattr(self, name) for name in REACH}

    @property
    def spec(self) -> PairSpec:
        """The pair as chosen."""
        return PairSpec(target=self.target, draft=self.draft, device=self.device, dtype=self.dtype)

    def plan(self, **changes: Any) -> Plan:
        """The run as chosen."""
        given: dict[str, Any] = {
            "prompt": self.prompt,
            "method": self.method,
            "knobs": self.knobs,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "max_new_tokens": self.tokens,
            "pace": PACES[self.pace],
            "schedule": self.schedule,
        }
        return Plan(**{**given, **changes})

    def take_knobs(self, knobs: Mapping[str, Any]) -> None:
        """Show knobs of a pair or method, as far as the sliders reach."""
        self.param.update(**{name: _within(name, knobs[name]) for name in REACH if name in knobs})

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return {name: getattr(self, name) for name in NAMES}

    def query(self) -> str:
        """The whole state, as the end of a link."""
        return "?" + urlencode({"v": VERSION, **{name: str(value) for name, value in self.as_dict().items()}})

    def read(self, arguments: Mapping[str, Sequence[bytes | str]]) -> list[str]:
        """Take the values of a link, one by one; a value that does not fit is left out.

        Args:
            arguments: name → values, as a server has them.

        Returns:
            What did not fit, in words.
        """
        given = {name: _text(values[-1]) for name, values in arguments.items() if values}
        version = given.pop("v", VERSION)
        if version != VERSION:
            return [f"This link is of version {version[:12]!r}, but this page reads version {VERSION}."]
        return [
            f"{name} = {given[name][:40]!r} in the link does not fit and was left out."
            for name in NAMES
            if name in given and not self._take(name, given[name])
        ]

    def _take(self, name: str, text: str) -> bool:
        kind = type(getattr(self, name))
        try:
            setattr(self, name, kind(text))
        except (ValueError, TypeError, OverflowError):
            return False
        return True


NAMES = tuple(name for name in Settings.param if name != "name")


def _within(name: str, value: int) -> int:
    lowest, highest = REACH[name]
    return max(lowest, min(highest, value))


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
