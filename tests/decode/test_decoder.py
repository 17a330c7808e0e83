"""The loop with proposers that are right, wrong, mad or broken: never another token, and the steps foreseen."""

from __future__ import annotations

import math
import random
from time import perf_counter

import pytest
import torch

from phrasekit.decode import ROOT, Decoder, GreedyPicker, Knobs, Limits, Proposer
from phrasekit.decode import decoder as loop
from phrasekit.errors import NonFiniteLogitsError
from phrasekit.trace import Trace, faults
from phrasekit.trace.records import DRAFT, LOOKUP, SUFFIX, PoolRecord, RetrievalRecord
from tests.models import ScriptedModel, ScriptedSession, follow, mixing

VOCABULARY = 16
SCRIPT = mixing(VOCABULARY, order=3, salt=5)
PROMPT = (3, 1, 4, 1, 5)
TRUTH = follow(SCRIPT, PROMPT, 400)


def ahead(draft, count: int) -> list[int]:
    """The next true tokens."""
    at = len(draft.context) - len(PROMPT)
    return list(TRUTH[at : at + count])


class Oracle(Proposer):
    """Always right, `count` tokens at a time."""

    def __init__(self, count: int) -> None:
        self.count = count

    def propose(self, draft):
        tokens = ahead(draft, self.count)
        draft.tree.extend_trunk(tokens, [DRAFT] * len(tokens), [-1] * len(tokens))


class RightThenWrong(Proposer):
    """Right for `right` tokens, then wrong, then right again."""

    def __init__(self, right: int, count: int = 6) -> None:
        self.right = right
        self.count = count

    def propose(self, draft):
        tokens = ahead(draft, self.count)
        tokens[self.right] = (tokens[self.right] + 1) % VOCABULARY
        draft.tree.extend_trunk(tokens, [DRAFT] * len(tokens), [-1] * len(tokens))


class Among(Proposer):
    """The right branch behind wrong ones, some of which share its beginning, some twice."""

    def __init__(self, count: int) -> None:
        self.count = count

    def propose(self, draft):
        right = ahead(draft, self.count)
        for cut in (0, 1, self.count // 2, 0):
            wrong = right[:cut] + [(t + 1) % VOCABULARY for t in right[cut:]]
            draft.tree.add_branch(ROOT, wrong, LOOKUP)
        draft.tree.add_branch(ROOT, right, LOOKUP)
        draft.tree.add_branch(ROOT, right, SUFFIX)


class Mad(Proposer):
    """Anything a list of integers can hold, anywhere."""

    def __init__(self) -> None:
        self.rng = random.Random(4)

    def propose(self, draft):
        tree, rng = draft.tree, self.rng
        for _ in range(rng.randint(0, 12)):
            wild = [
                rng.choice([-1, -(2**70), VOCABULARY, 2**70, rng.randint(0, 15)])
                for _ in range(rng.randint(0, 9))
            ]
            parent = rng.randint(-1, len(tree) - 1)
            tree.add_branch(parent, wild, rng.choice([DRAFT, LOOKUP, SUFFIX]), rng.randint(-1, 99))
        tree.add_branch(ROOT, ahead(draft, rng.randint(0, 9)), LOOKUP)
        tree.add_branch(ROOT, [0] * 500, LOOKUP)


class Crowd(Proposer):
    """Many children at every place."""

    def propose(self, draft):
        for token in range(VOCABULARY):
            for other in range(VOCABULARY):
                draft.tree.add_branch(ROOT, [token, other], LOOKUP)


class Broken(Proposer):
    """Raises until it is repaired, half of its work done."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.repaired = False

    def propose(self, draft):
        draft.tree.add_branch(ROOT, ahead(draft, 3), LOOKUP)
        if self.where == "propose" and not self.repaired:
            raise RuntimeError("out of order")

    def learn(self, verdict):
        if self.where == "learn" and not self.repaired:
            raise RuntimeError("out of order")


def decoder(*proposers, count: int = 60, script=SCRIPT, prompt=PROMPT, context=None, **options) -> Decoder:
    model = ScriptedModel(script, vocabulary=VOCABULARY, context=context)
    limits = Limits(max_new_tokens=count, eos=frozenset(options.pop("eos", ())))
    return Decoder(model, prompt, proposers=proposers, limits=limits, **options)


def run(made: Decoder) -> list:
    """All iterations, each checked."""
    found = []
    while not made.finish_reason:
        before = len(made.context)
        found.append(made.step())
        assert found[-1].emitted == tuple(made.context[before:])
        assert (found[-1].index, found[-1].position) == (made._count - 1, before)
        assert found[-1].root == made.context[before - 1]
        assert made._session.kept == made.context[:-1]
    if found[0].position == len(PROMPT):
        assert list(faults(Trace("", PROMPT, tuple(found), made.finish_reason))) == []
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("tokens", [1, 2, 7, 8, 9, 60])
def test_an_oracle_needs_exactly_the_steps_foreseen(count, tokens):
    """A test of speed, and of falling back to plain decoding without a word."""
    made = decoder(Oracle(count), count=tokens)
    found = run(made)
    assert made.emitted == TRUTH[:tokens]
    assert len(found) == math.ceil(tokens / (count + 1))
    assert made.finish_reason == "length"


def test_without_proposers_every_step_is_one_token():
    made = decoder()
    found = run(made)
    assert made.emitted == TRUTH[:60]
    assert [iteration.emitted for iteration in found] == [(token,) for token in TRUTH[:60]]
    assert made.model.forwards == [5] + [1] * 59


@pytest.mark.parametrize("right", range(6))
def test_right_then_wrong_at_each_place(right):
    """Ouroboros D7, LookaheadDecoding#32: the bonus belongs to every acceptance, a whole one included."""
    made = decoder(RightThenWrong(right))
    found = run(made)
    assert made.emitted == TRUTH[:60]
    assert {len(iteration.emitted) for iteration in found[:-1]} == {right + 1}
    assert len(found) == math.ceil(60 / (right + 1))
    for iteration in found[:-1]:
        assert iteration.accepted == right
        assert iteration.kinds == (*["draft"] * right, "target")
        # the tail is right again, token for token, but its verdicts follow a wrong token
        assert iteration.matches >= right


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_right_branch_among_wrong_ones_is_found_whole(count):
    made = decoder(Among(count))
    found = run(made)
    assert made.emitted == TRUTH[:60]
    assert len(found) == math.ceil(60 / (count + 1))
    for iteration in found[:-1]:
        assert iteration.path != tuple(range(count)), "not the leading chain: rows had to move"
        prefixes = {iteration.tree.tokens[: i + 1] for i in range(count)}
        assert len(prefixes) == count
        assert max(iteration.suffix_accepted) == count


@pytest.mark.parametrize("proposer", [Mad, Crowd, Proposer], ids=["mad", "crowd", "empty"])
def test_whatever_is_proposed_the_tokens_are_those_of_plain_decoding(proposer):
    made = decoder(proposer(), count=120, eos=[TRUTH[90]])
    run(made)
    end = TRUTH.index(TRUTH[90]) + 1
    assert made.emitted == TRUTH[:end]
    assert made.finish_reason == "eos"


def test_refused_tokens_are_counted_in_the_trace():
    class Foreign(Proposer):
        def propose(self, draft):
            draft.tree.add_branch(ROOT, [TRUTH[0], VOCABULARY, 1, 2], LOOKUP)

    iteration = decoder(Foreign()).step()
    assert iteration.tree.dropped == 3
    assert iteration.emitted == TRUTH[:2]


def test_proposers_add_to_one_tree_in_turn():
    made = decoder(Mad(), Oracle(3), Among(5))
    found = run(made)
    assert made.emitted == TRUTH[:60]
    assert len(found) <= math.ceil(60 / 6)


@pytest.mark.parametrize("where", ["propose", "learn"])
def test_a_proposer_that_raises_does_so_and_the_decoder_goes_on(where):
    broken = Broken(where)
    made = decoder(Oracle(2), broken, count=30)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="out of order"):
            made.step()
        assert made.emitted == ()
        assert made.finish_reason == ""
    broken.repaired = True
    found = run(made)
    assert made.emitted == TRUTH[:30]
    assert [iteration.index for iteration in found] == list(range(len(found)))
    assert Trace("", PROMPT, tuple(found)).tokens == TRUTH[:30]


@pytest.mark.parametrize("tokens", range(1, 12))
def test_never_more_tokens_than_asked_for(tokens):
    """transformers PR#46993: the cap was computed from the old length and the bonus not counted."""
    for proposer in (Oracle(7), Among(6), RightThenWrong(3), Mad()):
        made = decoder(proposer, count=tokens)
        found = run(made)
        assert made.emitted == TRUTH[:tokens]
        assert made.finish_reason == "length"
        assert all(len(i.tree.tokens) == 0 or i.tree.depth(len(i.tree.tokens) - 1) < tokens for i in found)


@pytest.mark.parametrize("place", range(8))
def test_an_end_token_inside_an_accepted_run_ends_it_there(place):
    """transformers PR#31301, LookaheadDecoding PR#69, Ouroboros D9: tokens after the end were kept."""
    end = 15
    text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    text[place] = end

    def script(prefix):
        return text[len(prefix) - len(PROMPT)]

    class Knows(Proposer):
        def propose(self, draft):
            draft.tree.add_branch(ROOT, text[len(draft.context) - len(PROMPT) :], LOOKUP)

    made = decoder(Knows(), script=script, eos=[end])
    found = run(made)
    assert made.emitted == tuple(text[: place + 1])
    assert made.finish_reason == "eos"
    assert len(found) == 1
    assert end not in [found[0].tree.tokens[parent] for parent in found[0].tree.parents if parent >= 0]


@pytest.mark.parametrize(
    "eos", [{TRUTH[5]}, {TRUTH[5], TRUTH[2]}, {TRUTH[2], TRUTH[0]}, set(range(VOCABULARY))]
)
def test_the_first_of_several_end_tokens(eos):
    made = decoder(Oracle(9), eos=eos)
    run(made)
    place = next(i for i, token in enumerate(TRUTH) if token in eos)
    assert made.emitted == TRUTH[: place + 1]


def test_end_tokens_in_the_prompt_end_nothing():
    made = decoder(Crowd(), eos=[1], prompt=(1, 1), script=lambda prefix: 2, count=9)
    run(made)
    assert made.emitted == (2,) * 9


@pytest.mark.parametrize("space", range(1, 12))
@pytest.mark.parametrize("proposer", [Oracle(4), Among(6), Mad()], ids=["oracle", "among", "mad"])
def test_the_context_ends_a_run_and_no_row_ever_leaves_it(space, proposer):
    """vllm tests/v1/spec_decode/test_max_len.py; the scripted session refuses rows beyond the context."""
    made = decoder(proposer, context=len(PROMPT) + space)
    run(made)
    assert made.emitted == TRUTH[:space]
    assert made.finish_reason == "context"
    assert made.room == 0


def test_of_limit_and_context_at_once_the_limit_is_the_reason():
    made = decoder(Oracle(3), count=7, context=len(PROMPT) + 7)
    run(made)
    assert made.finish_reason == "length"


@pytest.mark.parametrize("rooms", [[1], [2, 1, 5], [3, 99]])
def test_a_step_may_be_given_less_room(rooms):
    made = decoder(Oracle(4), count=30)
    for room in rooms:
        before = len(made.emitted)
        iteration = made.step(room=room)
        assert len(iteration.emitted) == min(room, 5)
        assert made.emitted == TRUTH[: before + len(iteration.emitted)]
    run(made)
    assert made.emitted == TRUTH[:30]


@pytest.mark.parametrize("room", [0, -1, -3])
def test_a_step_without_room_is_refused(room):
    """Counting back from the end of the run would emit what nobody asked for."""
    made = decoder(Oracle(4))
    with pytest.raises(ValueError, match="room"):
        made.step(room=room)
    assert made.emitted == ()


def test_a_long_run_of_pending_tokens_goes_in_before_the_tree():
    """A prompt of more than 512 tokens, and a context that grew by as much."""
    prompt = tuple(i % VOCABULARY for i in range(1200))
    made = decoder(Oracle(0), prompt=prompt, count=900)
    made.step()
    assert made.model.forwards == [1]
    assert made._session.kept == list(prompt)
    longer = [*made.context, *(i % 7 for i in range(600))]
    made.rebase(longer)
    made.step(room=1)
    assert made._session.kept == longer


@pytest.mark.parametrize(
    "change",
    [
        lambda text: [*text, 1, 2],
        lambda text: text[:-1],
        lambda text: text[:3],
        lambda text: text[:1],
        lambda text: [*text[:4], 9, 9, 9, 9],
        lambda text: [9, *text[1:]],
        lambda text: list(text),
        lambda text: [9],
    ],
)
@pytest.mark.parametrize("stepped", [0, 1, 3])
def test_rebase_goes_on_from_any_other_context(change, stepped):
    made = decoder(Oracle(2), count=200)
    for _ in range(stepped):
        made.step()
    before = made.context.copy()
    other = change(before)
    made.rebase(other)
    same = next(
        (i for i, (a, b) in enumerate(zip(before, other, strict=False)) if a != b),
        min(len(before), len(other)),
    )
    assert made._session.length == min(len(before) - 1 if stepped else 0, same, len(other) - 1)
    assert made._session.kept == other[: made._session.length]
    made.proposers = ()
    made.step()
    assert made.context == [*other, SCRIPT(tuple(other))]
    assert made._session.kept == other


def test_rebase_takes_up_a_run_that_had_ended():
    made = decoder(Oracle(2), eos=[TRUTH[1]])
    made.step()
    assert made.finish_reason == "eos"
    made.rebase([*PROMPT, 2])
    assert made.finish_reason == ""
    assert made.step().emitted


def test_knobs_are_those_of_the_iteration():
    made = decoder(Oracle(2), knobs=Knobs(gamma=3))
    first = made.step()
    made.knobs = Knobs(gamma=9)
    second = made.step()
    assert (first.knobs["gamma"], second.knobs["gamma"]) == (3, 9)


def test_a_journal_is_drained_once_an_iteration():
    class Journal:
        drained = 0

        def drain(self):
            self.drained += 1
            return PoolRecord(lookups=self.drained, hits=0)

    journal = Journal()
    found = run(decoder(Oracle(4), count=20, journal=journal))
    assert [iteration.pool.lookups for iteration in found] == [1, 2, 3, 4]


def test_phases_add_up_and_the_forward_is_one_of_them():
    for iteration in run(decoder(Oracle(4), count=20)):
        assert list(iteration.phases) == ["propose", "forward", "walk", "learn", "record", "commit"]
        assert all(ms >= 0 for ms in iteration.phases.values())
        assert iteration.forward.ms == iteration.phases["forward"]
        assert iteration.ms == pytest.approx(sum(iteration.phases.values()))
        assert iteration.forward.picked == iteration.forward.rows - (4 if iteration.index == 0 else 0)


def test_laps_are_milliseconds_from_mark_to_mark(monkeypatch):
    clock = iter([10.0, 10.5, 12.0])
    monkeypatch.setattr(loop, "perf_counter", lambda: next(clock))
    laps = loop.Laps(9.0)
    laps.mark("first")
    laps.mark("second")
    assert list(laps.phases.items()) == [("first", 500), ("second", 1500)]
    assert (laps.start_ms("first"), laps.start_ms("second")) == (1000, 1500)
    assert (laps.span_ms("first", "second"), laps.span_ms("second", "second")) == (2000, 1500)


def test_decoders_that_work_together_share_the_origin_of_their_times():
    assert decoder().step().forward.start_ms < 1000 * 60
    assert decoder(started=perf_counter() - 3600).step().forward.start_ms >= 1000 * 3600


# --- logits that are none ---------------------------------------------------------------------------


def nan_at(*places: int):
    """NaN rows behind prefixes of these lengths, right and wrong ones alike."""
    return lambda prefix: None if len(prefix) - len(PROMPT) in places else SCRIPT(prefix)


@pytest.mark.parametrize("place", [0, 1, 7])
@pytest.mark.parametrize("proposers", [(), (Oracle(3),), (Among(4),)], ids=["plain", "oracle", "among"])
def test_a_token_that_would_come_from_nan_is_an_error_that_says_where(place, proposers):
    """JustVugg/colibri#369: argmax of NaN is token 0, for ever."""
    made = decoder(*proposers, script=nan_at(place))
    with pytest.raises(NonFiniteLogitsError, match=rf"position {len(PROMPT) + place}\b.*bfloat16"):
        run(made)
    assert made.emitted == TRUTH[: len(made.emitted)], "what was made stays"
    assert len(made.emitted) <= place
    made.model.script = SCRIPT
    run(made)
    assert made.emitted == TRUTH[:60]


def test_nan_in_a_row_that_decides_nothing_is_nothing():
    wrong = (TRUTH[0] + 1) % VOCABULARY

    class Wrong(Proposer):
        def propose(self, draft):
            draft.tree.add_branch(ROOT, [wrong, 1, 2], LOOKUP)

    def script(prefix):
        return None if wrong in prefix[len(PROMPT) :][:1] else SCRIPT(prefix)

    made = decoder(Wrong(), script=script, count=1)
    assert made.step().emitted == TRUTH[:1]


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ((), "at least one token"),
        ((1, VOCABULARY), rf"0 to {VOCABULARY - 1} .*{VOCABULARY}"),
        ((1, -1), "-1"),
        ((1,) * 20, r"20 tokens.*20"),
        ((1,) * 25, r"20 tokens.*25"),
    ],
)
def test_a_bad_prompt_is_one_error_before_the_model_runs(prompt, says):
    model = ScriptedModel(SCRIPT, vocabulary=VOCABULARY, context=20)
    with pytest.raises(ValueError, match=says):
        Decoder(model, prompt)
    assert model.forwards == []
    assert model.sessions == []


def test_a_finished_decoder_says_so():
    made = decoder(count=1)
    run(made)
    with pytest.raises(RuntimeError, match="finished.*length"):
        made.step()
    assert list(made) == []


# --- out of memory ----------------------------------------------------------------------------------


class Noisy(Oracle):
    """Right, and says so in the trace."""

    def propose(self, draft):
        super().propose(draft)
        draft.note = "copied"


def short_of_memory(patch: pytest.MonkeyPatch, error: Exception, most: int) -> list[int]:
    """A session whose trees may have `most` nodes; sizes of those it refused."""
    honest, refused = ScriptedSession.forward, []

    def forward(self, pending, tokens, parents, *, rows=None):
        if len(tokens) > most:
            refused.append(len(tokens))
            raise error
        return honest(self, pending, tokens, parents, rows=rows)

    patch.setattr(ScriptedSession, "forward", forward)
    return refused


@pytest.mark.parametrize(
    ("device", "error"),
    [
        ("cuda", torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")),
        ("cpu", RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to")),
    ],
)
def test_a_step_without_memory_for_its_tree_is_done_again_plainly(device, error, monkeypatch):
    freed = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: freed.append(1))
    refused = short_of_memory(monkeypatch, error, most=3)
    made = decoder(Noisy(5), count=12)
    made.model.device = torch.device(device)
    found = run(made)
    assert made.emitted == TRUTH[:12]
    assert len(refused) == sum(bool(it.note.startswith("out of memory")) for it in found) > 2
    assert len(freed) == (len(refused) if device == "cuda" else 0)
    assert found[0].note == "out of memory with 5 tree rows; verified without them"
    assert len(found[0].tree.tokens) == 0
    assert found[0].emitted == TRUTH[:1]
    assert found[-1].note == "copied", "the last drafts are short enough"


@pytest.mark.parametrize(
    ("error", "most"),
    [(torch.OutOfMemoryError("CUDA out of memory"), -1), (RuntimeError("no such shape"), 3)],
)
def test_without_memory_for_one_row_or_with_another_error_the_step_fails(error, most, monkeypatch):
    short_of_memory(monkeypatch, error, most)
    made = decoder(Oracle(5))
    with pytest.raises(type(error), match=str(error)):
        made.step()
    assert made.emitted == ()


# --- what the parts of the loop are told ------------------------------------------------------------


def test_every_proposer_learns_the_verdict():
    class Attentive(Oracle):
        def learn(self, verdict):
            learnt.append(verdict)

    learnt = []
    made = decoder(Attentive(3), Attentive(5), count=12)
    found = run(made)
    assert len(learnt) == 2 * len(found)
    for verdict, iteration in zip(learnt[::2], found, strict=True):
        assert tuple(verdict.emitted) == iteration.emitted
        assert tuple(verdict.picks) == iteration.picks
        assert tuple(verdict.path) == iteration.path
        assert verdict.tree.record() == iteration.tree
        assert verdict.context[: iteration.position + len(iteration.emitted)] == verdict.context
        assert verdict.context[-1] == iteration.emitted[-1]
    assert learnt[::2] == learnt[1::2]


def test_the_picker_is_told_where_every_row_stands():
    class Asked(GreedyPicker):
        def pick(self, logits, rows):
            asked.append(
                [(rows.positions[row], rows.prefix(row), rows.children(row)) for row in range(len(logits))]
            )
            return super().pick(logits, rows)

    asked = []
    made = decoder(Among(2), count=3, picker=Asked())
    iteration = made.step()
    tree, context = iteration.tree, list(PROMPT)
    assert len(asked[0]) == 1 + len(tree.tokens) > 4
    for node, (position, prefix, children) in enumerate(asked[0], start=-1):
        path = [tree.tokens[at] for at in _ancestry(node, tree.parents)]
        assert (position, prefix) == (len(PROMPT) + len(path), context + path)
        assert children == [t for t, parent in zip(tree.tokens, tree.parents, strict=True) if parent == node]


def _ancestry(node, parents):
    return [] if node < 0 else [*_ancestry(parents[node], parents), node]


class Spells:
    """Watches for a run of tokens, as a stop string of several tokens does."""

    def __init__(self, *word: int, seen: tuple[int, ...] = ()) -> None:
        self.word = word
        self.seen = seen

    def push(self, token):
        self.seen += (token,)
        return self.seen[-len(self.word) :] == self.word

    def fork(self):
        return Spells(*self.word, seen=self.seen)


@pytest.mark.parametrize("at", range(3, 9))
@pytest.mark.parametrize(
    "proposers", [(), (Oracle(3),), (RightThenWrong(1),)], ids=["plain", "oracle", "wrong"]
)
def test_a_stop_string_over_several_steps_is_seen(proposers, at):
    """The watcher goes on from one step to the next, and sees nothing that is not committed."""
    made = decoder(*proposers, text=Spells(*TRUTH[at - 2 : at + 1]))
    run(made)
    assert (made.emitted, made.finish_reason) == (TRUTH[: at + 1], "stop")


@pytest.mark.parametrize("context", [None, 40])
def test_a_draft_tells_its_proposers_what_they_need_and_the_trace_what_they_did(context):
    class Tells(Proposer):
        def propose(self, draft):
            seen.append((draft.reach, draft.knobs, draft.weights, draft.tree.limit))
            silent = draft.tree.add_window(ROOT, 2, silent=True)
            draft.tree.add_window(silent, 3, silent=False)
            draft.inner, draft.window, draft.note = (inside,), ((2,), (3,)), "told"
            draft.retrieval = query

    seen, query = [], RetrievalRecord(matched=3)
    inside = decoder(count=9).step()
    made = decoder(Tells(), count=9, context=context, knobs=Knobs(gamma=7))
    made.model.weights = 123
    iteration = made.step()
    assert seen == [(None if context is None else context - len(PROMPT), Knobs(gamma=7), 123, 8)]
    assert (iteration.draft, iteration.window, iteration.note) == ((inside,), ((2,), (3,)), "told")
    assert iteration.retrieval == query
    assert (iteration.forward.rows, iteration.forward.picked) == (len(PROMPT) + 2, 2)
    assert iteration.forward.cached == 0
    assert iteration.forward.start_ms >= iteration.phases["propose"]


class Loud(ScriptedModel):
    """Surer of some tokens than of others."""

    scale = 0.2 + torch.arange(VOCABULARY) / VOCABULARY
    law = torch.diag(9 * scale).log_softmax(-1).diag()

    def session(self, capacity):
        session = super().session(capacity)
        said = session.forward
        session.forward = lambda *rows, **wanted: said(*rows, **wanted) * self.scale
        return session


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_every_row_has_its_pick_and_when_asked_how_likely_that_was(asked, silent):
    class Looks(Proposer):
        def propose(self, draft):
            first = draft.tree.add_window(ROOT, 1, silent=silent)
            draft.tree.add_branch(ROOT, ahead(draft, 3), LOOKUP)
            draft.tree.add_window(first, 2, silent=silent)

        def learn(self, verdict):
            seen.append(verdict)

    seen = []
    model = Loud(SCRIPT, vocabulary=VOCABULARY)
    options = {"probabilities": True} if asked else {}
    made = Decoder(model, PROMPT, proposers=[Looks()], limits=Limits(max_new_tokens=22), **options)
    for iteration, verdict in zip(run(made), seen, strict=True):
        assert [verdict.picks[row] == -1 for row in (1, -1)] == [silent, silent], "nobody needs them"
        likely = [0.0 if pick < 0 else float(Loud.law[pick]) for pick in verdict.picks]
        assert verdict.logprobs == (pytest.approx(likely, abs=1e-6) if asked else ())
        due = Loud.law[list(iteration.emitted)].tolist()
        assert iteration.logprobs == (pytest.approx(due, abs=1e-6) if asked else ())
    assert made.emitted == TRUTH[:22]


def test_every_proposer_is_told_of_the_prompt_and_the_knobs():
    class Starts(Proposer):
        def start(self, prompt, knobs):
            seen.append((prompt, knobs))

    seen = []
    decoder(Starts(), Starts(), knobs=Knobs(gamma=2))
    assert seen == [(PROMPT, Knobs(gamma=2))] * 2


@pytest.mark.parametrize(("count", "reserved"), [(9, 9), (10**6, loop.RESERVED_ROWS)])
def test_the_cache_has_room_for_prompt_text_and_trees(count, reserved):
    class Asked(ScriptedModel):
        def session(self, capacity):
            asked.append(capacity)
            return super().session(capacity)

    asked = []
    Decoder(Asked(SCRIPT, vocabulary=VOCABULARY), PROMPT, limits=Limits(max_new_tokens=count))
    assert asked == [len(PROMPT) + reserved + loop.SPARE_ROWS]


def test_rows_of_a_commit_that_was_interrupted_are_dropped():
    def interrupted(pending, path):
        commit(pending, path)
        raise KeyboardInterrupt

    made = decoder(Oracle(3), count=20)
    made.step()
    commit, made._session.commit = made._session.commit, interrupted
    with pytest.raises(KeyboardInterrupt):
        made.step()
    made._session.commit = commit
    run(made)
    assert made.emitted == TRUTH[:20]
