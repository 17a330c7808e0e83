"""Numbers of parallel runs, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phrasekit.trace import (
    Iteration,
    LaneRecord,
    RetrievalRecord,
    RoundRecord,
    Trace,
    measure_rounds,
    speed_by_forwards,
)
from phrasekit.trace.integrity import faults, iteration_faults
from phrasekit.trace.records import Branch, ForwardRecord, TreeRecord
from phrasekit.trace.rounds import agreed


def forward(start: float, ms: float) -> ForwardRecord:
    return ForwardRecord(rows=1, picked=1, cached=0, start_ms=start, ms=ms)


def draft_step(start: float, *, source: str = "", matched: int = 0, offered: int = 0) -> Iteration:
    """A draft forward that retrieved `offered` tokens, of which the draft model took `matched`."""
    tokens = tuple(range(10, 10 + offered))
    nodes = tuple(range(offered))
    return Iteration(
        index=0,
        position=3,
        root=1,
        tree=TreeRecord(
            tokens=tokens,
            parents=tuple(range(-1, offered - 1)),
            kinds=("retrieved",) * offered,
            phrases=(-1,) * offered,
            branches=(Branch("retrieved", -1, nodes),) if offered else (),
        ),
        picks=(*tokens[:matched], *[99] * (offered + 1 - matched)),
        path=nodes[:matched],
        emitted=(*tokens[:matched], 99),
        kinds=(*["retrieved"] * matched, "target"),
        forward=forward(start, 2.0),
        phases={"propose": 0.5, "forward": 2.0, "commit": 0.25},
        retrieval=RetrievalRecord(source, 1, 2 if source else 0, offered, 0.125),
    )


def parallel_round(index: int, kept: int, *, schedule: str, draft: tuple[Iteration, ...]) -> Iteration:
    wait = {"serial": "draft", "threads": "wait"}[schedule]
    drafted = tuple(token for step in draft for token in step.emitted)
    target = LaneRecord(20.0 * index, 10.0)
    beside = LaneRecord(20.0 * index + (10.0 if schedule == "serial" else 1.0), 6.0 if draft else 0.0)
    return Iteration(
        index=index,
        position=3 + index,
        root=7,
        tree=TreeRecord(),
        picks=(7,),
        path=(),
        emitted=(7,),
        kinds=("target",),
        forward=forward(20.0 * index + 1, 8.0),
        draft=draft,
        phases={"propose": 1.0, "forward": 8.0, "walk": 1.0, wait: 6.0, "commit": 0.5},
        round=RoundRecord(schedule, drafted, ("draft",) * len(drafted), kept, target, beside),
    )


def run_of(schedule: str) -> Trace:
    hit = draft_step(5.0, source="context", matched=2, offered=4)
    miss = draft_step(8.0)
    rounds = [
        parallel_round(0, 3, schedule=schedule, draft=(hit, miss)),
        parallel_round(1, 0, schedule=schedule, draft=(miss,)),
        parallel_round(2, 0, schedule=schedule, draft=()),
    ]
    return Trace(method="double", prompt=(1, 2, 7), iterations=tuple(rounds), finish_reason="length")


def test_counts_and_rates():
    found = measure_rounds(run_of("threads"))
    assert (found.rounds, found.emitted, found.drafted, found.kept) == (3, 3, 3 + 1 + 1, 3)
    assert found.breaks == 1  # the last round's end is no break
    assert found.mean_accepted == 1.5
    assert found.tokens_per_forward == 1.0
    draft = found.sides["draft"]
    assert (draft.queries, draft.offered, draft.matched) == (3, 4, 2)
    assert draft.hits == {"context": 1, "store": 0, "rejected": 0}
    assert draft.hit_rate == pytest.approx(1 / 3)
    assert draft.amt == pytest.approx(2 / 3)
    assert found.tokens_per_draft_forward == pytest.approx(5 / 3)
    assert found.sides["target"].queries == 0
    assert found.sides["target"].amt is None


def test_times_and_shares():
    found = measure_rounds(run_of("threads"))
    assert found.total_ms == 3 * 16.5
    assert found.target_ms == 24.0
    assert found.draft_ms == 6.0
    assert found.commit_ms == 3 * 0.5 + 3 * 0.25
    assert found.wait_ms == 18.0
    assert found.overlap_ms == 12.0  # two lanes of 6 ms inside ten
    assert found.shares["waiting"] == pytest.approx(18 / 49.5)
    assert found.retrieval_share == pytest.approx(0.375 / 49.5)


def test_perfect_overlap_is_modelled_from_the_same_rounds():
    serial = measure_rounds(run_of("serial"))
    assert serial.overlap_ms == 0.0
    # ten of the target hide six of the draft, half a millisecond lies outside both
    assert serial.modelled_ms == pytest.approx(3 * 10.5)
    assert serial.modelled_gain == pytest.approx(16.5 / 10.5)


def test_by_forwards_a_round_is_a_target_forward_or_its_draft_forwards():
    run = run_of("serial")  # 2, 1 and no draft forwards; one token each
    assert speed_by_forwards(run, ratio=4.0) == 1.0
    assert speed_by_forwards(run, ratio=1.0) == pytest.approx(3 / (2 + 1 + 1.5))
    assert speed_by_forwards(Trace("vanilla", (1,)), ratio=2.0) is None
    with pytest.raises(ValueError, match="ratio must be above 0, but got 0"):
        speed_by_forwards(run, ratio=0)


def test_a_draft_lane_longer_than_the_targets_sets_the_pace():
    slow = RoundRecord("serial", (), (), 0, LaneRecord(0.0, 2.0), LaneRecord(2.0, 9.0))
    step = draft_step(2.0)
    one = parallel_round(0, 0, schedule="serial", draft=(step,))
    one = Iteration(**{**{name: getattr(one, name) for name in one.__dataclass_fields__}, "round": slow})
    assert measure_rounds(Trace("pearl", (1, 2, 7), (one,))).modelled_ms == pytest.approx(
        9.0 + 16.5 - 2.0 - 6.0
    )


def test_a_guide_that_goes_on_from_a_mistake_is_no_break():
    def broken(emitted: tuple[int, ...], drafted: tuple[int, ...], kept: int = 0) -> int:
        one = parallel_round(0, 0, schedule="threads", draft=())
        beside = RoundRecord("threads", drafted, ("draft",) * len(drafted), kept)
        fields = {name: getattr(one, name) for name in one.__dataclass_fields__}
        changed = Iteration(**{**fields, "emitted": emitted, "round": beside})
        return measure_rounds(Trace("double", (1, 2, 7), (changed, changed))).breaks

    assert broken((7,), (8, 9)) == 1  # the target's own token mends it
    assert broken((7, 5, 6), (7, 8)) == 0  # the guide replaces the mistake and goes on
    assert broken((7,), (7, 8), kept=1) == 0
    assert broken((7,), (7,)) == 0  # all of a short draft was right
    assert broken((7,), ()) == 1  # nothing was drafted


def lossy(
    *, trunk: int, guide: int, offered: int, dropped: int, emitted: tuple[int, ...], drafted
) -> Iteration:
    """A round whose tree kept `trunk` nodes of the tail and `guide` of the guide, all of them accepted."""
    size = trunk + guide
    nodes = tuple(range(size))
    one = parallel_round(0, 0, schedule="threads", draft=())
    return replace(
        one,
        tree=TreeRecord(
            tokens=emitted[:size],
            parents=tuple(range(-1, size - 1)),
            kinds=("draft",) * trunk + ("guide",) * guide,
            phrases=(-1,) * size,
            trunk=nodes[:trunk],
            branches=(Branch("guide", -1, nodes[trunk:]),) if guide else (),
            dropped=dropped,
        ),
        picks=emitted,
        path=nodes,
        emitted=emitted,
        kinds=("draft",) * trunk + ("guide",) * guide + ("target",),
        retrieval=RetrievalRecord("context" if offered else "", 1, 2, offered),
        round=RoundRecord("threads", drafted, ("draft",) * len(drafted), 0),
    )


@pytest.mark.parametrize(
    ("one", "right", "breaks"),
    [
        # the tail's second token was refused: what was drafted stood behind it, not behind the 8
        (lossy(trunk=1, guide=0, offered=0, dropped=1, emitted=(5, 8), drafted=(8,)), 0, 1),
        (lossy(trunk=0, guide=0, offered=0, dropped=2, emitted=(8,), drafted=(8, 9)), 0, 1),
        # the same, and a guide goes on from the first
        (lossy(trunk=1, guide=1, offered=1, dropped=1, emitted=(5, 8, 9), drafted=(8, 9)), 0, 0),
        # the tail is whole and only a guide lost tokens, one or all of them
        (lossy(trunk=1, guide=0, offered=3, dropped=3, emitted=(5, 8), drafted=(8,)), 1, 0),
        (lossy(trunk=1, guide=1, offered=3, dropped=2, emitted=(5, 8, 9), drafted=(8,)), 1, 0),
        (lossy(trunk=1, guide=0, offered=3, dropped=3, emitted=(5, 8), drafted=(7,)), 0, 1),
        # both lost some
        (lossy(trunk=1, guide=0, offered=3, dropped=4, emitted=(5, 8), drafted=(8,)), 0, 1),
    ],
)
def test_a_tail_that_lost_tokens_says_nothing_about_what_was_drafted_behind_it(one, right, breaks):
    assert list(iteration_faults(one)) == []
    assert agreed(one) == right
    assert measure_rounds(Trace("double", (1, 2, 7), (one, one))).breaks == breaks


def test_other_methods_have_no_rounds():
    found = measure_rounds(Trace(method="vanilla", prompt=(1,)))
    assert (found.rounds, found.mean_accepted, found.modelled_gain, found.shares) == (0, None, None, {})
    assert found.as_dict()["mean_accepted"] is None


def test_a_round_that_cannot_be_is_named():
    good = parallel_round(0, 1, schedule="threads", draft=(draft_step(0.0),))
    assert list(iteration_faults(good)) == []
    fields = {name: getattr(good, name) for name in good.__dataclass_fields__}
    for bad, said in {
        RoundRecord("both", (), (), 0): "round.schedule must be among",
        RoundRecord("serial", (1,), (), 0): "round.kinds must have 1 entries",
        RoundRecord("serial", (1,), ("draft",), 2): "round.kept must be from 0 to 1, found 2",
        RoundRecord("serial", (1,), ("odd",), 0): "round.kinds must be among",
        RoundRecord("serial", (-1,), ("draft",), 0): "round.drafted must be 0 or more",
    }.items():
        assert any(
            fault.startswith(said) for fault in iteration_faults(Iteration(**{**fields, "round": bad}))
        )
    odd = Iteration(**{**fields, "retrieval": RetrievalRecord("elsewhere", 1, -1)})
    found = list(iteration_faults(odd))
    assert any("retrieval.source must be among" in fault for fault in found)
    assert any("retrieval.asked, matched, offered must be 0 or more" in fault for fault in found)
    assert list(faults(run_of("threads"))) == []


def test_the_summary_tells_rounds_apart():
    metrics = run_of("threads").metrics()
    assert (metrics.rounds, metrics.written, metrics.kept, metrics.overlap_ms) == (3, 5, 3, 12.0)
    assert metrics.tokens_per_draft_forward == pytest.approx(5 / 3)
    said = str(metrics)
    assert "rounds: 3 with the draft model beside the target, 3 of 5 tokens drafted there went on" in said
    assert "both lanes at work for 24 % of it" in said
