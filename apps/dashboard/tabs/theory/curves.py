"""The closed forms over γ: Eq. 5, Eq. 6, PEARL and what nobody who drafts beside the target can exceed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phrasekit.theory import (
    Acceptance,
    best_gamma,
    effective_draft_length,
    ouroboros_speedup,
    parallel_ceiling,
    pearl_speedup,
    speculative_speedup,
)
from phrasekit.views import View
from phrasekit.views.figure import axis, colors, figure, graph_objects, label, note
from phrasekit.views.speedup import SpeedupInfo
from phrasekit.views.table import Table
from phrasekit.views.theme import Theme

GAMMAS = tuple(range(1, 17))
SPECULATIVE, OUROBOROS, PEARL = "speculative", "Ouroboros", "PEARL"  # as the curves are named
# sign, in what colour of a page, what it is
KEY = (
    ("━", "--draft-edge", "speculative decoding (Eq. 5)"),
    ("━", "--phrase-edge", "Ouroboros (Eq. 6)"),
    ("╍", "--copy-edge", "PEARL: draft and target at the same time"),
    ("○", "--ink", "the run, as Eq. 6 has it with the run's own numbers"),
    ("◆", "--ink", "the run by the clock"),
)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """What the equations are fed with.

    Attributes:
        alpha: chance that a drafted token is accepted, the same at every position.
        c: tokens drafted per draft forward.
        ratio: t_S / t_T, cost of a draft forward in target forwards.
        beta: tokens appended to the draft for free.
    """

    alpha: float
    c: float
    ratio: float
    beta: int

    @property
    def ceiling(self) -> float:
        """C = t_T / t_S."""
        return parallel_ceiling(t_draft=self.ratio, t_target=1.0)

    @property
    def double(self) -> float:
        """C · (1 + AMT), with the c tokens of a draft forward beside its own one retrieved."""
        return effective_draft_length(matched=max(0.0, self.c - 1), t_draft=self.ratio, t_target=1.0)

    def speculative(self, gamma: int) -> float:
        """Eq. 5."""
        return speculative_speedup(Acceptance(beyond=self.alpha), gamma, t_draft=self.ratio, t_target=1.0)

    def ouroboros(self, gamma: int) -> float:
        """Eq. 6."""
        return ouroboros_speedup(
            Acceptance(beyond=self.alpha), gamma, self.beta, c=self.c, t_draft=self.ratio, t_target=1.0
        )

    def pearl(self, gamma: int) -> float:
        """Draft and target at the same time, perfectly overlapped."""
        return pearl_speedup(self.alpha, gamma, t_draft=self.ratio, t_target=1.0)

    @property
    def best(self) -> int:
        """The best γ of Eq. 6 among those drawn; 0 where no draft is better."""
        return best_gamma(
            Acceptance(beyond=self.alpha),
            GAMMAS[-1],
            beta=self.beta,
            c=self.c,
            t_draft=self.ratio,
            t_target=1.0,
        )


@dataclass(frozen=True)
class CurvesInfo:
    """The curves, and where a run stands.

    Attributes:
        numbers: of the sliders.
        run: a measured run, or None.
        name: of the run's method.
    """

    numbers: Numbers
    run: SpeedupInfo | None = None
    name: str = ""

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        n = self.numbers
        found = ((words, max(GAMMAS, key=each), each) for words, each in self.curves)
        best = [f"{each(gamma):.2f}× {words} at γ = {gamma}" for words, gamma, each in found]
        told = (
            f"With α = {n.alpha:.2f} and a draft forward that costs {n.ratio:.2f} of a target forward, the "
            f"formulas are highest with {best[0]}, {best[1]} and {best[2]}, which never exceeds "
            f"C = {n.ceiling:.2f}."
        )
        if self.run is None or self.run.measured is None:
            return told
        return (
            f"{told} By the clock the run was {self.run.measured:.2f}× as fast as plain decoding; as the "
            "formulas know only means, a run may lie above or below them."
        )

    @property
    def curves(self) -> tuple[tuple[str, Callable[[int], float]], ...]:
        """What each curve is, in words, and the curve."""
        n = self.numbers
        return (
            ("for speculative decoding (Eq. 5)", n.speculative),
            ("for Ouroboros (Eq. 6)", n.ouroboros),
            ("for PEARL, which drafts while the target verifies,", n.pearl),
        )

    def table(self) -> Table:
        """A row per γ."""
        n = self.numbers
        rows = tuple((gamma, n.speculative(gamma), n.ouroboros(gamma), n.pearl(gamma)) for gamma in GAMMAS)
        return Table(
            ("γ", "speculative (Eq. 5)", f"Ouroboros (Eq. 6), c = {n.c:.2f}, β = {n.beta}", "PEARL"), rows
        )

    def text(self) -> str:
        """The sentence, then the rows."""
        return f"{self.sentence}\n{self.table()}"


def curves_view(numbers: Numbers, run: SpeedupInfo | None, name: str) -> View:
    """The curves with a run's point on them."""
    return View(CurvesInfo(numbers, run, name), draw_curves)


def draw_curves(info: CurvesInfo, theme: str = "light") -> Any:
    """Lines over γ, each named at its end; rules at 1× and at the ceilings."""
    paint, n = colors(theme), info.numbers
    lines = _lines(info, paint)
    top = max([1.5, *(value for _, values, _ in lines for value in values)])
    known = [value for value in (n.ceiling, n.double) if value <= 1.6 * top]
    top = max([top, *known, *_points(info)])
    return figure(
        info.sentence,
        paint,
        [*_curves(lines), *_run(info, paint)],
        height=400,
        band=10,
        margin={"l": 44, "r": 104},
        axes={
            "xaxis": axis(paint, "γ, tokens drafted", range=[0.5, GAMMAS[-1] + 0.1], dtick=1, showgrid=False),
            "yaxis": axis(paint, "", range=[0, top * 1.1], ticksuffix="×"),
        },
        showlegend=False,
        shapes=[_rule(paint, 1.0, "dash"), *(_rule(paint, value, "dot") for value in known)],
        annotations=_notes(info, paint, lines, known),
    )


def _lines(info: CurvesInfo, theme: Theme) -> list[tuple[str, list[float], dict[str, Any]]]:
    n = info.numbers
    return [
        (SPECULATIVE, list(map(n.speculative, GAMMAS)), {"color": theme.draft_edge, "width": 2.5}),
        (OUROBOROS, list(map(n.ouroboros, GAMMAS)), {"color": theme.phrase_edge, "width": 3}),
        (PEARL, list(map(n.pearl, GAMMAS)), {"color": theme.copy_edge, "width": 2.5, "dash": "dash"}),
    ]


def _curves(lines: list[tuple[str, list[float], dict[str, Any]]]) -> list[Any]:
    go = graph_objects()
    return [
        go.Scatter(
            x=list(GAMMAS),
            y=values,
            mode="lines",
            line=line,
            hovertext=[f"{name}, γ {g}: {value:.2f}×" for g, value in zip(GAMMAS, values, strict=True)],
            hoverinfo="text",
        )
        for name, values, line in lines
    ]


def _points(info: CurvesInfo) -> list[float]:
    run = info.run
    return [] if run is None else [run.here, *([run.measured] if run.measured is not None else [])]


def _run(info: CurvesInfo, theme: Theme) -> list[Any]:
    """A ring where Eq. 6 puts the run, a diamond where the clock does."""
    run = info.run
    if run is None:
        return []
    go = graph_objects()
    gamma = min(max(run.gamma, GAMMAS[0]), GAMMAS[-1])
    ring = {"size": 13, "color": theme.surface, "line": {"width": 3, "color": theme.ink}}
    told = f"{label(info.name, keep=40)}: γ {run.gamma}"
    found = [
        go.Scatter(
            x=[gamma],
            y=[run.here],
            mode="markers",
            marker=ring,
            hovertext=[f"{told}, {run.here:.2f}× by Eq. 6 with its own numbers"],
            hoverinfo="text",
        )
    ]
    if run.measured is not None:
        found.append(
            go.Scatter(
                x=[gamma],
                y=[run.measured],
                mode="markers",
                marker={"size": 12, "symbol": "diamond", "color": theme.ink},
                hovertext=[f"{told}, {run.measured:.2f}× by the clock"],
                hoverinfo="text",
            )
        )
    return found


def _rule(theme: Theme, height: float, dash: str) -> dict[str, Any]:
    line = {"color": theme.ink_3, "width": 1.5, "dash": dash}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height, "line": line}


def _notes(
    info: CurvesInfo,
    theme: Theme,
    lines: list[tuple[str, list[float], dict[str, Any]]],
    known: list[float],
) -> list[dict[str, Any]]:
    """Names at the ends of the lines, moved apart where they would touch."""
    n = info.numbers
    ends = [(values[-1], f"<b>{name}</b>", line["color"]) for name, values, line in lines]
    ends.append((1.0, "plain", theme.ink_3))
    if n.ceiling in known:
        ends.append((n.ceiling, f"C = {n.ceiling:.1f}×", theme.ink_3))
    if n.double in known and n.double > n.ceiling:
        ends.append((n.double, f"C · c = {n.double:.1f}×", theme.ink_3))
    top = max([height for height, _, _ in ends] + _points(info)) * 1.1
    placed, last = [], -1.0
    for height, words, color in sorted(ends):
        at = max(height, last + 0.05 * top)
        last = at
        placed.append(
            note(theme, words, 1.01, at, yref="y", yanchor="middle", font={"size": 12, "color": color})
        )
    return placed
