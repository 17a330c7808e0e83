"""How far the target followed each draft, and how much of it was right after the first mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phrasekit.theory import Acceptance
from phrasekit.trace.metrics import measure
from phrasekit.trace.records import Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.views.link import run_key
from phrasekit.views.table import Table
from phrasekit.views.tokens import KEPT, LATE, MISTAKE

# Of a draft position: accepted; right, but after the first mistake; wrong; nothing drafted there.
STATES = (KEPT, LATE, MISTAKE, "")
SIGNS = {KEPT: "✓", LATE: "=", MISTAKE: "✗", "": " "}
SHIFTS = (-3, -2, -1, 1, 2, 3)
RUN = 2  # tokens in a row that count as a shifted match


@dataclass(frozen=True, slots=True)
class Draft:
    """One iteration's draft against the target's verdicts.

    Attributes:
        iteration: 0-based number.
        states: per draft position one of `STATES`, without those where nothing was drafted.
        suffix: tokens kept behind the draft, from a suffix (Â).
        shifted: tokens after the mistake that the target wrote soon, but at another position.
    """

    iteration: int
    states: tuple[str, ...]
    suffix: int
    shifted: int

    @property
    def drafted(self) -> int:
        """Tokens drafted."""
        return len(self.states)

    @property
    def accepted(self) -> int:
        """A: tokens accepted."""
        return self.states.count(KEPT)

    @property
    def matches(self) -> int:
        """#Match (Eq. 10): positions that equal the verdict there."""
        return self.accepted + self.states.count(LATE)


@dataclass(frozen=True, slots=True)
class Survival:
    """P(A ≥ k) for drafts long enough.

    Attributes:
        k: position, from 1.
        share: estimated from the hazards up to k; drafts that ended before say nothing.
        geometric: what a constant chance per token gives.
        tested: drafts in which the token at k was tested.
    """

    k: int
    share: float
    geometric: float
    tested: int


@dataclass(frozen=True, slots=True)
class MatchesInfo:
    """#Match against A over a run.

    Attributes:
        drafts: one per iteration that drafted.
        survival: one entry per draft position that was ever tested.
        chance: constant chance p that a tested token is accepted; None where none was.
        iterations: of the whole run.
        key: of the run, for links to its stepper; "" for none.
    """

    drafts: tuple[Draft, ...]
    survival: tuple[Survival, ...]
    chance: float | None
    iterations: int
    key: str = ""

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        if not self.drafts:
            return f"Nothing was drafted in {counted(self.iterations, 'iteration')}."
        drafted = sum(draft.drafted for draft in self.drafts)
        accepted = sum(draft.accepted for draft in self.drafts)
        late = sum(draft.matches for draft in self.drafts) - accepted
        return (
            f"In {counted(len(self.drafts), 'draft')} the target kept {accepted} of {drafted} tokens (A); "
            f"{late} more were right, but after the first mistake (#Match − A)."
        )

    def table(self) -> Table:
        """A row per draft."""
        names = ("iteration", "drafted", "kept (A)", "#Match", "#Match − A", "suffix (Â)", "shifted")
        rows = tuple(
            (
                draft.iteration + 1,
                draft.drafted,
                draft.accepted,
                draft.matches,
                draft.matches - draft.accepted,
                draft.suffix,
                draft.shifted,
            )
            for draft in self.drafts
        )
        return Table(names, rows)

    def text(self) -> str:
        """A line per draft with a sign per position, then the survival curve."""
        lines = [self.sentence]
        if self.drafts:
            lines.append("✓ kept, ✗ wrong, = right but after the first mistake")
        lines += [f"{draft.iteration + 1:>4}  {_signs(draft)}" for draft in self.drafts]
        lines += [
            f"P(A ≥ {point.k}) = {point.share:.2f}, geometric {point.geometric:.2f}, tested {point.tested}×"
            for point in self.survival
        ]
        return "\n".join(lines)


def matches_info(trace: Trace) -> MatchesInfo:
    """Compare every draft with the target's verdicts, position by position."""
    text = trace.tokens
    drafts = [
        _draft(iteration, _following(trace, text, iteration))
        for iteration in trace.iterations
        if iteration.drafted
    ]
    measured = measure(trace)
    return MatchesInfo(
        drafts=tuple(drafts),
        survival=tuple(
            _survival(measured.hazard_by_position, measured.tested_by_position, measured.acceptance_estimate)
        ),
        chance=measured.acceptance_estimate,
        iterations=len(trace.iterations),
        key=run_key(trace),
    )


def _following(trace: Trace, text: Sequence[int], iteration: Iteration) -> Sequence[int]:
    """What the text went on with where the draft began, as far as a shifted match reaches."""
    start = iteration.position - len(trace.prompt)
    return text[start : start + iteration.drafted + max(SHIFTS)]


def _draft(iteration: Iteration, following: Sequence[int]) -> Draft:
    accepted = iteration.accepted
    states = [
        KEPT if place < accepted else LATE if hit else MISTAKE
        for place, hit in enumerate(iteration.trunk_hits)
    ]
    tokens = [iteration.tree.tokens[node] for node in iteration.tree.trunk]
    return Draft(
        iteration=iteration.index,
        states=tuple(states),
        suffix=max(0, len(iteration.path) - accepted),
        shifted=len(_shifted(tokens, iteration.trunk_hits, following, accepted + 1)),
    )


def _shifted(drafted: Sequence[int], hits: Sequence[bool], following: Sequence[int], start: int) -> set[int]:
    """Draft positions in runs that the text holds a few positions earlier or later."""
    found: set[int] = set()
    for shift in SHIFTS:
        run: list[int] = []
        for place in range(start, len(drafted) + 1):
            there = place + shift
            if (
                place < len(drafted)
                and not hits[place]
                and 0 <= there < len(following)
                and drafted[place] == following[there]
            ):
                run.append(place)
                continue
            if len(run) >= RUN:
                found.update(run)
            run = []
    return found


def _survival(
    hazards: Sequence[float | None], tested: Sequence[int], chance: float | None
) -> Iterator[Survival]:
    known = [hazard for hazard in hazards if hazard is not None]
    measured, constant = Acceptance(tuple(known)), Acceptance(beyond=chance or 0.0)
    for k in range(1, len(known) + 1):
        yield Survival(k, measured.survival(k), constant.survival(k), tested[k - 1])


def _signs(draft: Draft) -> str:
    late = draft.matches - draft.accepted
    parts = [f"A {draft.accepted}", f"#Match {draft.matches}"]
    parts += [f"Â {draft.suffix}"] * bool(draft.suffix) + [f"{late} late"] * bool(late)
    return f"{''.join(SIGNS[state] for state in draft.states)}  {', '.join(parts)}"
