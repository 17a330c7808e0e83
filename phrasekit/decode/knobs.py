"""The knobs of every method in one frozen record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from phrasekit.decode.bounds import check_whole

REPAIRS = ("paper", "prefix", "off")


@dataclass(frozen=True, kw_only=True, slots=True)
class Knobs:
    """Settings that change the work, never the text. A method reads those it has a use for.

    Attributes:
        gamma: γ, tokens the draft model must deliver per iteration; 0 drafts nothing.
        window: W, columns of the lookahead window; 0 switches it off.
        level: N, n-gram level: a phrase is a key token and up to N−1 followers.
        guesses: G, pool phrases verified per draft forward (lookahead: per target forward).
        suffixes: K, pool phrases appended to the draft for the target; 0 switches lengthening off.
        beta: β, phrase length with p₁ = the draft's last token: β−1 new tokens per suffix.
        cut_to_gamma: drop what the last draft forward delivered beyond γ, as the paper does.
        harvest_discarded: runs of right tokens in the discarded draft tail become phrases.
        repair: what an unused suffix becomes: "paper" p₁,v₂…v_β, "prefix" up to the first
            corrected token, "off" nothing.
        harvest_committed: n-grams of the committed text become phrases.
        lookup: tokens copied by prompt lookup.
        lookup_ngram: longest n-gram that prompt lookup and retrieval match.
        depth: d, tokens retrieved per query.
        retrieve: the draft side of DOUBLE drafts by retrieval; else token by token, as PEARL does.
        guide: the target side of DOUBLE retrieves too and verifies what it found in its own forward.
        reuse_rejected: drafts that were thrown away can be retrieved.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value outside its bounds.
    """

    gamma: int = 4
    window: int = 0
    level: int = 6
    guesses: int = 4
    suffixes: int = 3
    beta: int = 6
    cut_to_gamma: bool = False
    harvest_discarded: bool = True
    repair: str = "prefix"
    harvest_committed: bool = True
    lookup: int = 10
    lookup_ngram: int = 3
    depth: int = 10
    retrieve: bool = True
    guide: bool = True
    reuse_rejected: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))

    def but(self, **changes: Any) -> Knobs:
        """A copy with some knobs changed.

        Raises:
            ValueError: an unknown knob, or a value outside its bounds.
            TypeError: a value of the wrong type.
        """
        unknown = sorted(set(changes) - set(BOUNDS) - set(FLAGS) - {"repair"})
        if unknown:
            raise ValueError(
                f"knobs must be among {', '.join([*BOUNDS, *FLAGS, 'repair'])}, but got {', '.join(unknown)}"
            )
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)


BOUNDS = {
    "gamma": (0, 256),
    "window": (0, 256),
    "level": (2, 32),
    "guesses": (0, 64),
    "suffixes": (0, 64),
    "beta": (2, 64),
    "lookup": (0, 256),
    "lookup_ngram": (1, 16),
    "depth": (1, 20),
}
FLAGS = ("cut_to_gamma", "harvest_discarded", "harvest_committed", "retrieve", "guide", "reuse_rejected")


def _check(name: str, value: object) -> None:
    if name in BOUNDS:
        check_whole(f"knob {name}", value, *BOUNDS[name])
    elif name in FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"knob {name} must be True or False, but got {value!r}")
    elif value not in REPAIRS:
        raise ValueError(f"knob {name} must be one of {', '.join(REPAIRS)}, but got {value!r}")
