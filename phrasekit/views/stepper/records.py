"""What the stepper shows, as plain frozen records: `stepper.js` draws them and computes nothing more.

Tokens are numbers into `StepperInfo.texts`, phrases numbers into `StepperInfo.phrases`, iterations and
nodes count from 0. Who proposed a token, and what became of it, is one letter a token, so that a tree
of sixty nodes stays a short string.
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from typing import Any

RECORDED = "recorded run"
SCHEMA = 2  # of these records; the page refuses another one

# What became of a node: kept; right, but the text ended before it; the first mistake; equal to the target's
# token there, but behind a mistake; wrong behind a mistake, or never reached; a window row.
KEPT, CUT, MISTAKE, LATE, OFF, ASIDE = "k", "e", "x", "l", "n", "w"

# A sentence or reason in pieces: a string is words, a number is a token to show as a chip.
Piece = str | int
Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RowInfo:
    """One row of the comb: a whole proposal, drawn where its nodes are not yet drawn by a row above.

    Attributes:
        label: "Draft", "Suffix 1", …
        kind: letter of who proposed it.
        phrase: number of the pool phrase, or −1.
        nodes: all its nodes, first to last.
        own: those drawn in this row.
        kept: how many of its nodes behind the draft (or of the draft) were kept.
        outcome: "won", "kept", "lost", "unreached", "shared" or "aside".
        why: the reason, for everything but a draft kept whole.
    """

    label: str
    kind: str
    phrase: int
    nodes: tuple[int, ...]
    own: tuple[int, ...]
    kept: int
    outcome: str
    why: Pieces


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """What was put before the target and what it said.

    Attributes:
        tokens: of every node.
        parents: of every node, −1 for the root.
        kinds: letter of who proposed every node.
        states: letter of what became of every node.
        phrases: pool phrase of every node, or −1.
        picks: the target's own token after the root and after every node, −1 where none was asked for.
        rows: proposals, top to bottom.
        says: the target's words along its own path, then its verdicts on the rest of the draft.
        said: how many of `says` were emitted.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    kinds: str
    states: str
    phrases: tuple[int, ...]
    picks: tuple[int, ...]
    rows: tuple[RowInfo, ...]
    says: tuple[int, ...]
    said: int

    @property
    def order(self) -> tuple[int, ...]:
        """Nodes as comb and mask list them, the root (−1) first."""
        return (-1, *(node for row in self.rows for node in row.own))

    def mask(self) -> tuple[tuple[bool, ...], ...]:
        """Who may look at whom, rows and columns as in `order`; the first column is the cached prefix."""
        order = self.order
        return tuple((True, *(other in seen for other in order)) for seen in map(self._seen, order))

    def _seen(self, node: int) -> set[int]:
        seen = {-1}
        while node >= 0:
            seen.add(node)
            node = self.parents[node]
        return seen


@dataclass(frozen=True, slots=True)
class GuessInfo:
    """A proposal put before the draft model.

    Attributes:
        tokens: first to last.
        kind: letter of who proposed it.
        phrase: number of the pool phrase, or −1.
        fits: how many of its tokens the draft model says too, from the first on.
        taken: whether the draft went that way.
    """

    tokens: tuple[int, ...]
    kind: str
    phrase: int
    fits: int
    taken: bool


@dataclass(frozen=True, slots=True)
class ForwardInfo:
    """One forward of the draft model.

    Attributes:
        key: the token it stands on.
        rows: rows read.
        start: milliseconds since the iteration began.
        ms: milliseconds.
        first: how many tokens were drafted before.
        wrote: tokens drafted.
        kinds: letter of who proposed each of them.
        guesses: what was tried, a limited number.
        guessed: how many were tried.
        window: the lookahead window it read, one tuple a level.
        found: phrases its window gave the pool, a limited number.
        founds: how many.
        said: what this forward did, in words.
    """

    key: int
    rows: int
    start: float
    ms: float
    first: int
    wrote: tuple[int, ...]
    kinds: str
    guesses: tuple[GuessInfo, ...]
    guessed: int
    window: tuple[tuple[int, ...], ...]
    found: tuple[int, ...]
    founds: int
    said: str


@dataclass(frozen=True, slots=True)
class RoundInfo:
    """What the draft model did while the target verified; it goes on behind the tokens then verified.

    Attributes:
        told: when the draft's lane ran, in words.
        drafted: tokens written.
        kept: how many of them, from the end, the next iteration verifies.
        right: how many of them, from the front, the target wrote too.
        start: milliseconds since the iteration began, of the draft's lane.
        ms: milliseconds of it.
        target_start: of the target's lane.
        target_ms: of it.
        overlap: milliseconds in which both lanes worked.
        fate: what became of the tokens, in words.
        said: the same as a sentence.
    """

    told: str
    drafted: int
    kept: int
    right: int
    start: float
    ms: float
    target_start: float
    target_ms: float
    overlap: float
    fate: str
    said: str


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """New phrases of one source.

    Attributes:
        source: "discarded", "suffix", "committed", "window" or a name of the recorder's own.
        title: the same in words.
        note: what they are.
        phrases: a limited number of them.
        total: how many.
        used: how many were kept from later.
    """

    source: str
    title: str
    note: str
    phrases: tuple[int, ...]
    total: int
    used: int


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """What the pool did in one iteration, on both sides.

    Attributes:
        before: phrases held before.
        after: phrases held afterwards.
        lookups: keys asked for when lengthening the draft or guessing for the target.
        hits: those that gave a phrase.
        draft_lookups: keys asked for while drafting.
        draft_hits: those that gave a phrase.
        groups: new phrases by source.
        evicted: phrases that had to go, as far as they are known, a limited number.
        evictions: how many had to go.
    """

    before: int
    after: int
    lookups: int
    hits: int
    draft_lookups: int
    draft_hits: int
    groups: tuple[GroupInfo, ...]
    evicted: tuple[int, ...]
    evictions: int


@dataclass(frozen=True, slots=True)
class StepInfo:
    """One iteration.

    Attributes:
        index: counts from 0.
        position: tokens before it; the root is token `position − 1`.
        written: tokens written before it, the prompt left out.
        root: last token committed before it.
        said: the sentence: what came before the point, the point, what comes after it.
        verify: what the target's forward did, in words.
        commit: what joined the text, in words.
        accepted: A.
        drafted: g.
        matches: #Match.
        beyond: tokens kept from a suffix, guess or copy beside the draft.
        tree: what was proposed and said.
        emitted: tokens that joined the text.
        kinds: letter of who proposed each.
        probabilities: what the target itself gave each; empty where it was not recorded.
        nodes: tree node of each; the number of nodes stands for the target's own token.
        forwards: of the draft model.
        window: the target's own lookahead window, one tuple a level.
        pool: what the pool did.
        rows: rows the target read.
        start: milliseconds since the run began.
        target_start: milliseconds since the iteration began.
        target_ms: milliseconds of the target's forward.
        ms: milliseconds of the iteration.
        knobs: number into `StepperInfo.knobs`.
        note: anything unusual.
        beside: what the draft model did while the target ran; then `forwards` are of that, and what they
            wrote is not in this tree. None where the draft came first.
    """

    index: int
    position: int
    written: int
    root: int
    said: tuple[str, str, str]
    verify: str
    commit: str
    accepted: int
    drafted: int
    matches: int
    beyond: int
    tree: TreeInfo
    emitted: tuple[int, ...]
    kinds: str
    nodes: tuple[int, ...]
    forwards: tuple[ForwardInfo, ...]
    window: tuple[tuple[int, ...], ...]
    pool: PoolInfo
    rows: int
    start: float
    target_start: float
    target_ms: float
    ms: float
    knobs: int
    note: str
    beside: RoundInfo | None = None
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PhraseInfo:
    """One pool phrase over the whole run.

    Attributes:
        tokens: the key first.
        source: number into `StepperInfo.sources`.
        born: iteration that made it, −1 where the trace does not tell.
        uses: iterations that proposed it, with the tokens kept from it there.
        fate: the same in words, "" where it was never proposed.
    """

    tokens: tuple[int, ...]
    source: int
    born: int
    uses: tuple[tuple[int, int], ...]
    fate: str


@dataclass(frozen=True, slots=True)
class PlainInfo:
    """The plain-decoding run beside this one.

    Attributes:
        ms: milliseconds of every token.
        checked: tokens compared.
        differs: first token that differs, −1 where none does.
    """

    ms: tuple[float, ...]
    checked: int
    differs: int


@dataclass(frozen=True, slots=True)
class StepperInfo:
    """Everything the stepper shows.

    Attributes:
        method: name of the recipe.
        facts: models, device and so on, in words.
        texts: what the tokens look like; everything invisible but spaces and line breaks is spelled out.
        ids: vocabulary ids of those tokens, in the same order.
        prompt: last tokens of the prompt.
        prompt_length: tokens of the prompt.
        steps: iterations.
        total: iterations of the run; more than `steps` where some were left out.
        phrases: pool phrases that occur.
        sources: where phrases come from, in words.
        knobs: sets of knobs in force, name and value.
        finish: why the run ended, in words.
        plain: the plain run, if there is one.
        summary: the numbers of the run, in words.
        notice: what is wrong with the trace, in words; "" where nothing is.
        key: of the run, for links from other views.
        origin: whose run it is, in words.
        schema: version of these records.
    """

    method: str = ""
    facts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    prompt: tuple[int, ...] = ()
    prompt_length: int = 0
    steps: tuple[StepInfo, ...] = ()
    total: int = 0
    phrases: tuple[PhraseInfo, ...] = ()
    sources: tuple[str, ...] = ()
    knobs: tuple[tuple[tuple[str, str], ...], ...] = ()
    finish: str = ""
    plain: PlainInfo | None = None
    summary: tuple[str, ...] = ()
    notice: str = ""
    key: str = ""
    origin: str = RECORDED
    schema: int = SCHEMA

    def plain_data(self) -> dict[str, Any]:
        """The same as dictionaries and tuples, ready for JSON; phrases, which are many, as tuples."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, PhraseInfo):
        return astuple(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
