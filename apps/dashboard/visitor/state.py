"""What a visitor has chosen; all of it fits into a link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import param

from dashboard.jobs import studies
from dashboard.jobs.hub import PairSpec
from dashboard.jobs.run import SYMBOLS, Plan
from dashboard.visitor.examples import EXAMPLES, FIRST
from dashboard.visitor.options import Options
from phrasekit.decode.knobs import BOUNDS
from phrasekit.methods import runnable
from phrasekit.widgets.controls import KNOBS

VERSION = "1"  # of links
# Characters of a link. The page sends it with its websocket, twice, and a server takes 64 kB of headers: a
# longer one would show a page that never connects.
LONGEST = 12_000
LONG = ("pasted", "prompt")  # what a link leaves out where it has no room, the first one first
TABS = ("step", "tune", "compare", "pool", "search", "theory", "model")
# of the phrases of a pool
ORDERS = ("tokens saved", "times tried", "newest first", "longest first", "after the token", "source")
POOLS = ("fresh", "kept", "shared")
SCHEDULES = ("serial", "threads")  # of parallel methods
PROMPTS = ("this", "examples", "bundled")  # what to compare on
SEARCHED = ("all", "some", "pasted")  # what to search on
STRATEGIES = ("algorithm1", "grid")
NOW = "now"  # among the methods to compare: the setting of Tune
MOST_COMPARED, MOST_SEARCHED, MOST_PASTED = 8, 4, 64
NO_STUDY = "none"  # where a study's name would be
PACES = {"full speed": 0.0, "8 iterations a second": 8.0, "2 iterations a second": 2.0}
# knob → ends of its slider; a link may not ask for more
REACH = {name: (BOUNDS[name][0], most) for name, (_, most) in KNOBS.items() if name in SYMBOLS}
# values of a grid by knob, as they are typed
GRIDS = {
    "gamma": "1, 2, 4",
    "window": "0, 8",
    "level": "4, 6",
    "guesses": "2, 4",
    "suffixes": "0, 3",
    "beta": "4, 6",
}
# numbers of Theory → ends of their sliders
CURVES = {"alpha": (0.0, 0.99), "c": (1.0, 6.0), "ratio": (0.02, 1.5), "beta": (0, 12)}


def _any_of(names: Iterable[str], most: int) -> str:
    """A pattern: up to so many of the names, with commas between."""
    one = f"({'|'.join(map(re.escape, names))})"
    return rf"\A({one}(,{one}){{0,{most - 1}}})?\Z"


def _short(most: int) -> str:
    """A pattern: so many characters on one line."""
    return rf"\A[^\x00-\x1f]{{0,{most}}}\Z"


def _grid(name: str) -> param.String:
    return param.String(default=GRIDS[name], regex=_short(80), doc="values of a grid, as typed")


def _curve(kind: type[param.Number], name: str) -> param.Number:
    return kind(default=None, allow_None=True, bounds=CURVES[name], doc="None: as the run shown has it")


class Settings(param.Parameterized):
    """Everything a link carries, each value within its bounds.

    Knobs change the work and never the text; temperature, top-p and seed change the text. What only a run of
    the visitor has, such as pins, the token looked at or a moment of a race, is not in it.
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
        default="speculative,prompt_lookup,lookahead,ouroboros",
        regex=_any_of((*runnable(None), NOW), MOST_COMPARED),
    )
    prompts = param.Selector(default="examples", objects=list(PROMPTS))
    race_tokens = param.Integer(default=96, bounds=(1, 512), doc="tokens of every lane at most")
    passes = param.Integer(default=3, bounds=(1, 9), doc="times that all of a race is done")
    words = param.String(default="", regex=_short(80), doc="words that the phrases shown must hold")
    sort = param.Selector(default=ORDERS[0], objects=list(ORDERS), doc="order of the phrases")
    searched = param.String(default="ouroboros", regex=_any_of(runnable(None), MOST_SEARCHED))
    strategy = param.Selector(default="algorithm1", objects=list(STRATEGIES))
    budget = param.Integer(default=120, bounds=(0, 7200), doc="seconds of a search; 0 sets no end")
    search_prompts = param.Selector(default="all", objects=list(SEARCHED))
    search_tokens = param.Integer(default=40, bounds=(4, 256), doc="tokens of every trial and prompt")
    repeats = param.Integer(default=2, bounds=(1, 9), doc="of every trial and prompt")
    study = param.String(
        default="",
        regex=rf"\A({NO_STUDY}|(?a:{studies.NAME.pattern}))?\Z",
        doc='a study\'s name; "" is a new one',
    )
    grid = param.String(default="gamma,beta", regex=_any_of(GRIDS, len(GRIDS)), doc="knobs of a grid")
    grid_gamma = _grid("gamma")
    grid_window = _grid("window")
    grid_level = _grid("level")
    grid_guesses = _grid("guesses")
    grid_suffixes = _grid("suffixes")
    grid_beta = _grid("beta")
    pasted = param.String(default="", doc="prompts to search on, with a line --- between them")
    curve_alpha = _curve(param.Number, "alpha")
    curve_c = _curve(param.Number, "c")
    curve_ratio = _curve(param.Number, "ratio")
    curve_beta = _curve(param.Integer, "beta")
    step = param.Integer(default=0, bounds=(0, 100_000), doc="iteration shown, from 0")
    target = param.String(default="", regex=_short(1000))
    draft = param.String(default="", regex=_short(1000))
    device = param.String(default="cpu", regex=r"\A[a-z]{1,12}(:\d{1,3})?\Z")
    dtype = param.String(default="", regex=r"\A(?a:\w{0,24})\Z")

    @classmethod
    def of(cls, options: Options) -> Settings:
        """What a visitor of this server begins with, within the server's own caps."""
        pair = options.pair
        made = cls(target=pair.target, draft=pair.draft, device=pair.device, dtype=pair.dtype)
        for name in ("tokens", "race_tokens", "search_tokens"):
            known = made.param[name]
            least, most = known.bounds
            known.bounds = (least, max(least, min(most, options.new_tokens)))
            setattr(made, name, min(getattr(cls, name), known.bounds[1]))
        made.param["prompt"].regex = rf"\A(?s:.{{0,{options.prompt_characters}}})\Z"
        made.param["pasted"].regex = rf"\A(?s:.{{0,{MOST_PASTED * options.prompt_characters}}})\Z"
        return made

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
        self.param.update(**{name: within(name, knobs[name]) for name in REACH if name in knobs})

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return {name: getattr(self, name) for name in NAMES}

    def query(self) -> str:
        """The whole state, as the end of a link; without `unlinked`."""
        left_out = self.unlinked
        return _link({name: value for name, value in self.as_dict().items() if name not in left_out})

    @property
    def unlinked(self) -> tuple[str, ...]:
        """What a link has no room for: long prompts."""
        values = self.as_dict()
        for count in range(len(LONG)):
            if len(_link(values)) <= LONGEST:
                return LONG[:count]
            del values[LONG[count]]
        return LONG

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
        known = self.param[name]
        try:
            setattr(self, name, None if not text and known.allow_None else _kind(known)(text))
        except (ValueError, TypeError, OverflowError):
            return False
        return True


NAMES = tuple(name for name in Settings.param if name != "name")


def within(name: str, value: int) -> int:
    """The value, or the end of the slider that is nearest to it."""
    lowest, highest = REACH[name]
    return max(lowest, min(highest, value))


def _link(values: Mapping[str, Any]) -> str:
    given = {name: "" if value is None else str(value) for name, value in values.items()}
    return "?" + urlencode({"v": VERSION, **given}, errors="replace")


def _kind(known: param.Parameter) -> type[int | float | str]:
    """What a value is made from a link's words by."""
    if isinstance(known, param.Integer):
        return int
    return float if isinstance(known, param.Number) else str


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
