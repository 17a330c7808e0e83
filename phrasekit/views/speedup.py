"""The speed-up that Eq. 6 of the Ouroboros paper gives over γ and β, and where the run stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from phrasekit.theory import Acceptance, best_gamma, ouroboros_speedup
from phrasekit.trace.metrics import Metrics, measure
from phrasekit.trace.records import Iteration, Trace
from phrasekit.views.table import Table

GAMMAS, BETAS = 16, 12  # the largest shown


@dataclass(frozen=True, slots=True)
class SpeedupInfo:
    """Eq. 6 over γ and β, fed with what a run measured.

    Attributes:
        gammas: the columns, tokens drafted.
        betas: the rows, tokens appended to the draft.
        grid: speed-up per row and column.
        acceptance: the function A.
        known: draft positions with a measured hazard; behind them the constant chance stands in.
        c: tokens drafted per draft forward.
        t_draft: milliseconds of a draft forward, median.
        t_target: milliseconds of a target forward, median.
        gamma: of the run: mean draft length, rounded.
        beta: of the run: mean length of the best suffix proposed behind the draft, rounded.
        measured: speed-up by the clock, None without a time of plain decoding.
        plain: milliseconds a token of plain decoding, None where it is not given.
    """

    gammas: tuple[int, ...]
    betas: tuple[int, ...]
    grid: tuple[tuple[float, ...], ...]
    acceptance: Acceptance
    known: int
    c: float
    t_draft: float
    t_target: float
    gamma: int
    beta: int
    measured: float | None
    plain: float | None

    def at(self, gamma: int, beta: int) -> float:
        """Speed-up by Eq. 6 with the run's A, c and times."""
        return ouroboros_speedup(
            self.acceptance, gamma, beta, c=self.c, t_draft=self.t_draft, t_target=self.t_target
        )

    @property
    def here(self) -> float:
        """Speed-up by Eq. 6 where the run stands."""
        return self.at(self.gamma, self.beta)

    @property
    def best(self) -> int:
        """The γ with the largest speed-up for the run's β."""
        return self.ridge(self.beta)

    def ridge(self, beta: int) -> int:
        """The γ with the largest speed-up for a β."""
        most = self.gammas[-1]
        return best_gamma(
            self.acceptance, most, beta=beta, c=self.c, t_draft=self.t_draft, t_target=self.t_target
        )

    @property
    def equation(self) -> str:
        """Eq. 6 with the numbers of the run."""
        accepted = self.acceptance.expected(self.gamma + self.beta)
        return (
            f"(A(γ+β) + 1)·t_T / (γ·t_S/c + t_T) = ({accepted:.2f} + 1)·{self.t_target:.1f} / "
            f"({self.gamma}·{self.t_draft:.1f}/{self.c:.2f} + {self.t_target:.1f}) = {self.here:.2f}×"
        )

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        told = (
            f"At γ = {self.gamma} and β = {self.beta} Eq. 6 gives {self.here:.2f}× of plain decoding; for "
            f"this β the formula is best at γ = {self.best} with {self.at(self.best, self.beta):.2f}×"
        )
        if self.measured is None:
            return f"{told}."
        return f"{told}; the clock says {self.measured:.2f}×."

    def table(self) -> Table:
        """A row per β, a column per γ."""
        rows = tuple((beta, *row) for beta, row in zip(self.betas, self.grid, strict=True))
        return Table(("β", *(f"γ {gamma}" for gamma in self.gammas)), rows)

    def text(self) -> str:
        """The equation with its numbers, then the grid."""
        known = (
            f"A from measured hazards up to position {self.known}, then {self.acceptance.beyond:.2f} a "
            "token; a suffix token is taken to be as good as a drafted one, and every target forward to cost "
            "the same"
        )
        return "\n".join((self.sentence, self.equation, known, self.table().text()))


def speedup_info(
    trace: Trace,
    *,
    plain: Trace | float | None = None,
    gammas: int = GAMMAS,
    betas: int = BETAS,
) -> SpeedupInfo:
    """Feed Eq. 6 with a run's acceptance and times.

    Args:
        trace: a run with a draft model.
        plain: plain decoding of the same model: a run of method "vanilla", or milliseconds a token; for
            the measured speed-up.
        gammas: the largest γ.
        betas: the largest β.

    Raises:
        ValueError: the run has no draft model, no second iteration or no times; a limit or the plain
            time is not positive.
    """
    if gammas < 1 or betas < 1:
        raise ValueError(f"gammas and betas must be 1 or more, but got {gammas} and {betas}")
    measured = measure(trace)
    later = trace.iterations[1:]
    draft = [inner.forward.ms for one in later for inner in one.draft]
    target = [one.forward.ms for one in later]
    if not draft or not median(draft) or not median(target):
        raise ValueError(
            f"Eq. 6 needs a run with a draft model, timed over 2 iterations or more, but got {len(later)} "
            f"iterations after the first with {len(draft)} draft forwards"
        )
    acceptance = _acceptance(measured)
    c = measured.tokens_per_draft_forward or 1.0
    each = _plain(plain)
    info = SpeedupInfo(
        gammas=tuple(range(gammas + 1)),
        betas=tuple(range(betas + 1)),
        grid=(),
        acceptance=acceptance,
        known=len(acceptance.hazards),
        c=c,
        t_draft=float(median(draft)),
        t_target=float(median(target)),
        gamma=round(measured.drafted / measured.drafting) if measured.drafting else 0,
        beta=round(_appended(trace.iterations)),
        measured=_by_clock(later, each),
        plain=each,
    )
    grid = tuple(tuple(info.at(gamma, beta) for gamma in info.gammas) for beta in info.betas)
    return SpeedupInfo(
        **{name: getattr(info, name) for name in SpeedupInfo.__slots__ if name != "grid"}, grid=grid
    )


def _acceptance(measured: Metrics) -> Acceptance:
    """Hazards where they were tested, the constant chance behind them."""
    chance = measured.acceptance_estimate or 0.0
    known = [hazard for hazard in measured.hazard_by_position if hazard is not None]
    return Acceptance(tuple(known), chance)


def _appended(iterations: Sequence[Iteration]) -> float:
    """Mean tokens of the longest suffix behind the draft, over all iterations that drafted."""
    lengths = []
    for iteration in iterations:
        tree = iteration.tree
        if tree.trunk:
            behind = [
                len(branch.nodes)
                for branch in tree.branches
                if branch.nodes and tree.parents[branch.nodes[0]] == tree.trunk[-1]
            ]
            lengths.append(max(behind, default=0))
    return sum(lengths) / len(lengths) if lengths else 0.0


def _plain(plain: Trace | float | None) -> float | None:
    if isinstance(plain, Trace):
        times = [one.ms / max(1, len(one.emitted)) for one in plain.iterations[1:]]
        return float(median(times)) if times else None
    if plain is not None and not plain > 0:
        raise ValueError(f"plain must be above 0 milliseconds a token, but got {plain}")
    return plain


def _by_clock(later: Sequence[Iteration], plain: float | None) -> float | None:
    ms = sum(one.ms for one in later)
    emitted = sum(len(one.emitted) for one in later)
    return plain * emitted / ms if plain and ms else None
