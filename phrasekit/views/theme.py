"""Colours and type of every view, as data.

Hue says who proposed a token, decoration what the target said, ink is the reader. What is found instead of
computed has one hue, wherever it is found; marks at the top and left of its chips tell the places apart,
as a hue more would not be told apart by everyone. Tints are 35 % of the
Okabe-Ito hue over the surface; an edge is the hue itself, darkened (light) or lightened (dark) only until it
stands 3 : 1 against its own tint. Nothing here is written behind text but tints.

The scale of probabilities runs in OKLab from the surface, where the model was certain, to `unsure`, so that
lightness alone orders it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from phrasekit.trace.records import (
    DRAFT,
    GUIDE,
    LOOKUP,
    PHRASE,
    REJECTED,
    RETRIEVED,
    SUFFIX,
    TARGET,
    WINDOW,
)

SANS = '-apple-system, BlinkMacSystemFont, "Segoe UI", "Helvetica Neue", Arial, system-ui, sans-serif'
MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of colours, each `#rrggbb`.

    Attributes:
        page: behind frames.
        surface: frames and cards.
        sunken: key tokens, the future, the best row.
        ink: text, selection, the accepted path.
        ink_2: secondary text.
        ink_3: notes and axes.
        line: hairlines.
        line_2: stronger hairlines.
        edge: graphics that carry meaning.
        ghost: the drafted bar, "may look at the cache".
        draft_tint: behind tokens of the draft model (sky).
        draft_edge: lines and marks of the draft model.
        draft_mark: cells without text of the draft model.
        phrase_tint: behind pool phrases used while drafting, and the pool (green).
        phrase_edge: lines and marks of those.
        phrase_mark: cells without text of those.
        suffix_tint: behind pool phrases used as a suffix (orange).
        suffix_edge: lines and marks of those.
        suffix_mark: cells without text of those.
        copy_tint: behind tokens copied from the context or retrieved (reddish purple).
        copy_edge: lines and marks of those.
        copy_mark: cells without text of those.
        target_tint: bars of the target (blue); never behind its tokens.
        target_edge: outline and left bar of the target's own tokens.
        mistake: the first mistake, strike lines, errors (vermillion).
        unsure: behind a token of probability 0; certain ones stand on the surface.
        mark: the linked highlight (yellow).
        mark_edge: outline of the linked highlight.
        focus: the focus ring.
    """

    page: str
    surface: str
    sunken: str
    ink: str
    ink_2: str
    ink_3: str
    line: str
    line_2: str
    edge: str
    ghost: str
    draft_tint: str
    draft_edge: str
    draft_mark: str
    phrase_tint: str
    phrase_edge: str
    phrase_mark: str
    suffix_tint: str
    suffix_edge: str
    suffix_mark: str
    copy_tint: str
    copy_edge: str
    copy_mark: str
    target_tint: str
    target_edge: str
    mistake: str
    unsure: str
    mark: str
    mark_edge: str
    focus: str

    def variables(self) -> dict[str, str]:
        """Names and values of the CSS variables, `--ink-2` and so on."""
        return {f"--{f.name.replace('_', '-')}": getattr(self, f.name) for f in fields(self)}

    def tint(self, kind: str) -> str:
        """Colour behind the text of a token, by who proposed it."""
        return self.surface if kind in (TARGET, WINDOW) else str(getattr(self, f"{hue(ROLES[kind])}_tint"))

    def edge_of(self, kind: str) -> str:
        """Colour of lines and marks, by who proposed the token."""
        return str(getattr(self, f"{hue(ROLES[kind])}_edge"))

    def mark_of(self, kind: str) -> str:
        """Colour of a cell without text, by who proposed its token; the target's own is solid."""
        return self.target_edge if kind == TARGET else str(getattr(self, f"{hue(ROLES[kind])}_mark"))


# Kinds of the trace, as the names that looks go by; window rows belong to the pool.
ROLES = {
    DRAFT: "draft",
    PHRASE: "phrase",
    SUFFIX: "suffix",
    LOOKUP: "copy",
    WINDOW: "phrase",
    RETRIEVED: "retrieved",
    REJECTED: "rejected",
    GUIDE: "guide",
    TARGET: "target",
}
FOUND = ("copy", "retrieved", "rejected", "guide")  # one hue, told apart by marks
TEXTURES = {RETRIEVED: "/", REJECTED: ".", GUIDE: "|"}  # of cells without text, for plotly


def hue(role: str) -> str:
    """Name of the colours of a role."""
    return "copy" if role in FOUND else role


LIGHT = Theme(
    page="#F6F6F3",
    surface="#FFFFFF",
    sunken="#F5F5F1",
    ink="#17191C",
    ink_2="#454A52",
    ink_3="#5F656F",
    line="#E5E5DF",
    line_2="#CDCDC6",
    edge="#868B94",
    ghost="#D9DAD6",
    draft_tint="#C4E5F7",
    draft_edge="#3F84AB",
    draft_mark="#C4E5F7",
    phrase_tint="#A6DDCE",
    phrase_edge="#008460",
    phrase_mark="#A6DDCE",
    suffix_tint="#F6DDA6",
    suffix_edge="#A57200",
    suffix_mark="#F6DDA6",
    copy_tint="#EDD0E0",
    copy_edge="#A76389",
    copy_mark="#EDD0E0",
    target_tint="#A6CEE4",
    target_edge="#0072B2",
    mistake="#B84F00",
    unsure="#B5A6EA",
    mark="#FBF7BE",
    mark_edge="#958D29",
    focus="#5B3FD1",
)

DARK = Theme(
    page="#101215",
    surface="#17191D",
    sunken="#1D2024",
    ink="#ECEDEF",
    ink_2="#B9BEC6",
    ink_3="#979DA7",
    line="#282C31",
    line_2="#3B4047",
    edge="#7C838D",
    ghost="#33383E",
    draft_tint="#2D4F64",
    draft_edge="#56B4E9",
    draft_mark="#38688A",
    phrase_tint="#0F483B",
    phrase_edge="#12A67C",
    phrase_mark="#0B6E53",
    suffix_tint="#5F4813",
    suffix_edge="#E69F00",
    suffix_mark="#946B10",
    copy_tint="#563B4D",
    copy_edge="#CC79A7",
    copy_mark="#8A5573",
    target_tint="#123F5C",
    target_edge="#3A98D0",
    mistake="#F0833A",
    unsure="#5B49A6",
    mark="#45431F",
    mark_edge="#C9C04A",
    focus="#B4A3FF",
)

THEMES = {"light": LIGHT, "dark": DARK}
