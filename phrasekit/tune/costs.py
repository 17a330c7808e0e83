"""What a forward costs on this device, against its rows and the rows already in the cache."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

from phrasekit.bench.forwards import Clock
from phrasekit.bench.runner import synchronizer
from phrasekit.lm import LanguageModel, Pair
from phrasekit.theory import LONGEST, Acceptance, ouroboros_speedup
from phrasekit.trace import Iteration, Metrics, Trace
from phrasekit.tune.records import Cancelled

TARGET, DRAFT = "target", "draft"
ROWS = (1, 2, 4, 8, 16, 32)
CONTEXTS = (32, 128, 512)
WARMUP = 2  # forwards that do not count


@dataclass(frozen=True, slots=True)
class Cost:
    """One cell: a forward over `rows` rows behind `context` cached ones takes `ms` milliseconds."""

    rows: int
    context: int
    ms: float


@dataclass(frozen=True, slots=True)
class CostTable:
    """Milliseconds of a forward.

    Attributes:
        target: every measured cell of the target.
        draft: of the draft model; empty without one.

    Raises:
        ValueError: a table without a target, with a gap, or with a time that is not positive.
    """

    target: tuple[Cost, ...]
    draft: tuple[Cost, ...] = ()

    def __post_init__(self) -> None:
        if not self.target:
            raise ValueError("a cost table needs the times of a target, but has none; measure them")
        for name, cells in ((TARGET, self.target), (DRAFT, self.draft)):
            places = {(cell.rows, cell.context) for cell in cells}
            whole = {(rows, context) for rows, _ in places for _, context in places}
            if places != whole or len(places) != len(cells):
                raise ValueError(
                    f"the costs of the {name} must be one for each rows and context, but are not"
                )
            if any(not cell.ms > 0 for cell in cells):
                raise ValueError(f"the costs of the {name} must be above 0, but are not")

    @property
    def contexts(self) -> tuple[int, ...]:
        """Cached rows measured, in order."""
        return tuple(sorted({cell.context for cell in self.target}))

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows measured, in order."""
        return tuple(sorted({cell.rows for cell in self.target}))

    def ms(self, model: str, rows: float, context: float) -> float:
        """Milliseconds of a forward, linear between the cells; beyond them the nearest cell holds.

        Args:
            model: "target" or "draft".
            rows: fed to the forward.
            context: rows already in the cache.

        Raises:
            ValueError: there is no such model in the table.
        """
        cells = self.target if model == TARGET else self.draft if model == DRAFT else ()
        if not cells:
            raise ValueError(f"the cost table has no times of a {model}; it was measured without one")
        found = {(cell.rows, cell.context): cell.ms for cell in cells}
        widths, lengths = sorted({rows for rows, _ in found}), sorted({context for _, context in found})
        low, high, share = _between(lengths, context)
        return _mix(_along(found, widths, rows, low), _along(found, widths, rows, high), share)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CostTable:
        """The table that `as_dict` described.

        Raises:
            ValueError: the values are not of that form.
        """
        try:
            return cls(*(tuple(_cell(cell) for cell in values[name]) for name in (TARGET, DRAFT)))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"a cost table must hold cells of rows, context and ms for target and draft, but: {error!r}"
            ) from error


def _cell(values: Mapping[str, Any]) -> Cost:
    return Cost(int(values["rows"]), int(values["context"]), float(values["ms"]))


def _along(found: Mapping[tuple[int, int], float], widths: Sequence[int], rows: float, context: int) -> float:
    low, high, share = _between(widths, rows)
    return _mix(found[low, context], found[high, context], share)


def _between(values: Sequence[int], place: float) -> tuple[int, int, float]:
    """The neighbours of a place among sorted values, and how far it lies towards the upper one."""
    if place <= values[0] or len(values) == 1:
        return values[0], values[0], 0.0
    if place >= values[-1]:
        return values[-1], values[-1], 0.0
    upper = bisect_left(values, place)
    low, high = values[upper - 1], values[upper]
    return low, high, (place - low) / (high - low)


def _mix(low: float, high: float, share: float) -> float:
    return low + share * (high - low)


def measure_costs(
    pair: Pair,
    *,
    rows: Sequence[int] = ROWS,
    contexts: Sequence[int] = CONTEXTS,
    repeats: int = 5,
    clock: Clock = perf_counter,
    cancelled: Callable[[], bool] = lambda: False,
) -> CostTable:
    """Time forwards of both models, median over the repeats; the first forwards of a cell do not count.

    Contexts that a model has no room for are left out, and the longest that it has takes their place.

    Args:
        pair: models.
        rows: rows of a forward.
        contexts: rows in the cache.
        repeats: forwards counted per cell.
        clock: gives seconds.
        cancelled: asked before every forward.

    Raises:
        Cancelled: `cancelled` said so.
        ValueError: a number below 1, or a model whose context is shorter than the rows.
    """
    if not rows or not contexts or min(*rows, *contexts, repeats) < 1:
        raise ValueError(
            f"rows, contexts and repeats must be 1 or more, but got {list(rows)}, {list(contexts)} "
            f"and {repeats}"
        )
    models = [pair.target] if pair.draft is None else [pair.target, pair.draft]
    most = min((model.context for model in models if model.context is not None), default=None)
    fitting = _fitting(contexts, None if most is None else most - max(rows))
    wait = synchronizer(pair)

    def cells(model: LanguageModel) -> tuple[Cost, ...]:
        found = []
        for context in fitting:
            session = model.session(context + max(rows))
            session.prefill([token % model.vocabulary for token in range(context)])
            for width in sorted(set(rows)):
                tokens = [token % model.vocabulary for token in range(width)]
                seconds = []
                for _ in range(WARMUP + repeats):
                    if cancelled():
                        raise Cancelled
                    wait()
                    started = clock()
                    session.forward(tokens[:1], tokens[1:], range(-1, width - 2))
                    wait()
                    seconds.append(clock() - started)
                found.append(Cost(width, context, 1e3 * median(seconds[WARMUP:])))
        return tuple(found)

    return CostTable(*(cells(model) for model in models))


def _fitting(contexts: Sequence[int], room: int | None) -> list[int]:
    if room is None:
        return sorted(set(contexts))
    if room < 1:
        raise ValueError(
            f"the rows must leave room in the models' context, but leave {room}; take fewer rows"
        )
    return sorted({min(context, room) for context in contexts})


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What the forwards of runs looked like, as sums.

    Attributes:
        forwards: of the target, those reading a prompt left out.
        rows: fed to them.
        cached: in the cache before them.
        draft_forwards: of the model that drafts for the target.
        draft_rows: fed to those.
        emitted: tokens of these iterations.
        appended: tokens of the longest suffix behind the draft.
    """

    forwards: int = 0
    rows: int = 0
    cached: int = 0
    draft_forwards: int = 0
    draft_rows: int = 0
    emitted: int = 0
    appended: int = 0

    @classmethod
    def of(cls, trace: Trace) -> Work:
        """The work of one run, its first iteration left out."""
        later = trace.iterations[1:]
        drafts = [inner for one in later for inner in one.draft]
        return cls(
            forwards=len(later),
            rows=sum(one.forward.rows for one in later),
            cached=sum(one.forward.cached for one in later),
            draft_forwards=len(drafts),
            draft_rows=sum(inner.forward.rows for inner in drafts),
            emitted=sum(len(one.emitted) for one in later),
            appended=sum(map(_appended, later)),
        )

    def __add__(self, other: Work) -> Work:
        return Work(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What costs and acceptance let one expect.

    Attributes:
        equation: speed-up by Eq. 6 (Eq. 5 where nothing is appended and c is 1), None without a draft model.
        forwards: speed-up if only the forwards took time, each as long as the table says.
        rows: a target forward over the rows of the run, against one over a single row.
        draft: a draft forward over the rows of the run, against a target forward over a single row;
            None without a draft model.
    """

    equation: float | None
    forwards: float
    rows: float
    draft: float | None

    @property
    def sentence(self) -> str:
        """What the cost table lets one expect, in a sentence."""
        draft = "" if self.draft is None else f", a draft forward {self.draft:.2f} of it"
        equation = "" if self.equation is None else f"{self.equation:.2f} times as fast by Eq. 6, "
        return (
            f"By the cost table a target forward here takes {self.rows:.2f} of one over a single row{draft}: "
            f"{equation}{self.forwards:.2f} times if forwards were all that takes time."
        )


def predict(table: CostTable, metrics: Metrics, work: Work) -> Prediction | None:
    """Hold measured acceptance against the cost table; None where a run has no second iteration.

    Args:
        table: costs.
        metrics: of the runs: acceptance and c.
        work: of the same runs.
    """
    if not work.forwards or not work.emitted:
        return None
    context = work.cached / work.forwards
    one = table.ms(TARGET, 1, context)
    many = table.ms(TARGET, work.rows / work.forwards, context)
    draft = None
    if work.draft_forwards and table.draft:
        draft = table.ms(DRAFT, work.draft_rows / work.draft_forwards, context)
    spent = work.forwards * many + work.draft_forwards * (draft or 0.0)
    return Prediction(
        equation=None if draft is None else _equation(metrics, work, t_draft=draft, t_target=one),
        forwards=work.emitted * one / spent,
        rows=many / one,
        draft=None if draft is None else draft / one,
    )


def _equation(metrics: Metrics, work: Work, *, t_draft: float, t_target: float) -> float | None:
    c = metrics.tokens_per_draft_forward
    if not metrics.drafting or not c:
        return None
    acceptance = Acceptance.of(metrics.hazard_by_position, metrics.acceptance_estimate or 0.0)
    gamma = min(LONGEST // 2, round(metrics.drafted / metrics.drafting))
    beta = min(LONGEST // 2, round(work.appended / work.forwards))
    return ouroboros_speedup(acceptance, gamma, beta, c=c, t_draft=t_draft, t_target=t_target)


def _appended(iteration: Iteration) -> int:
    tree = iteration.tree
    end = tree.trunk[-1] if tree.trunk else -1
    behind = (len(one.nodes) for one in tree.branches if one.nodes and tree.parents[one.nodes[0]] == end)
    return max(behind, default=0)
