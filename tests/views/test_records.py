"""What the views show, as data: numbers worked out by hand on runs made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from phrasekit.theory import Acceptance
from phrasekit.trace import Branch, ForwardRecord, PhraseRecord, PoolRecord, Trace, measure
from phrasekit.views import (
    comparison_info,
    harvest_info,
    matches_info,
    pool_info,
    speedup_info,
    stream_info,
    timeline_info,
    tree_info,
    window_info,
)
from phrasekit.views.phrases import Use, lives
from phrasekit.views.tokens import likelihood
from tests.strategies import traces
from tests.trace.conftest import drafting
from tests.views.stepper_traces import likely

EMPTY = Trace("vanilla", (7,))


# --- token stream -------------------------------------------------------------------------------


def shown(tokens):
    return [(token.id, token.kind, token.verdict, token.position) for token in tokens]


def test_stream_tells_who_proposed_each_token_and_what_the_target_said(story):
    first, second, third, _ = stream_info(story).chunks
    assert shown(first.emitted) == [
        (10, "draft", "kept", 2),
        (11, "phrase", "kept", 3),
        (50, "target", "own", 4),
    ]
    assert shown(first.refused) == [(12, "draft", "mistake", 4)]
    assert [token.phrase for token in second.emitted] == [-1, -1, 4, 5, -1]
    assert second.refused == ()
    assert [token.verdict for token in third.refused] == ["mistake", "late", "late"]


def test_stream_counts_the_whole_run_and_shows_a_part(story):
    info = stream_info(story, first=2, most=6, refused=False)
    assert [chunk.iteration for chunk in info.chunks] == [1, 2]
    assert info.left_out == (1, 1)
    assert info.origins == {"draft": 3, "phrase": 1, "suffix": 2, "target": 4}
    assert info.refused == 4
    assert all(chunk.refused == () for chunk in info.chunks)
    assert info.sentence == (
        "ouroboros wrote 10 tokens in 4 target forwards: 3 by the draft model, 1 off pool phrases while "
        "drafting, 2 off pool suffixes, 4 by the target itself; 4 proposed tokens did not enter the text."
    )


def test_stream_stops_before_it_shows_too_much(story):
    info = stream_info(story, most=3)
    assert info.chunks == ()
    assert info.left_out == (0, 4)
    assert "pass first=1" in info.text()


@settings(max_examples=25)
@given(traces())
def test_stream_shows_every_emitted_token_once(trace):
    info = stream_info(trace)
    assert tuple(token.id for chunk in info.chunks for token in chunk.emitted) == trace.tokens
    positions = [token.position for chunk in info.chunks for token in chunk.emitted]
    assert positions == list(range(len(trace.prompt), len(trace.prompt) + len(trace.tokens)))


# --- tree and mask ------------------------------------------------------------------------------


def test_tree_rows_stand_depth_first_with_blocks_and_verdicts(story):
    info = tree_info(story, 2)
    rows = [
        (row.token.id, row.depth, row.parent, row.block, row.token.verdict, row.token.position)
        for row in info.rows[1:]
    ]
    assert rows == [
        (20, 1, 0, "draft", "kept", 5),
        (21, 2, 1, "draft", "kept", 6),
        (30, 3, 2, "suffix 1", "kept", 7),
        (31, 4, 3, "suffix 1", "mistake", 8),
        (32, 4, 3, "suffix 2", "kept", 8),
    ]
    assert info.rows[0].token is None
    assert info.cached == 4


def test_mask_lets_a_row_see_its_ancestors_and_itself(story):
    assert tree_info(story, 2).mask == ("x.....", "ox....", "oox...", "ooox..", "oooox.", "oooo.x")


def test_tree_says_the_targets_word_and_where_it_adds_its_own(story):
    rows = tree_info(story, 2).rows
    assert [row.says for row in rows] == [None, "#20", "#21", "    return", "#32", "#32"]
    assert [row.adds.id if row.adds else None for row in rows] == [None] * 5 + [60]
    alone = tree_info(story, 4).rows
    assert [row.adds.id for row in alone] == [5]


def test_tree_cut_by_a_stop_adds_nothing(story):
    cut = replace(story.iterations[0], emitted=(10, 11), kinds=("draft", "phrase"))
    rows = tree_info(replace(story, iterations=(cut,)), 1).rows
    assert [row.adds for row in rows] == [None] * 4


def test_tree_shows_the_iteration_that_emitted_most_unless_told(story):
    assert tree_info(story).iteration == 1
    with pytest.raises(ValueError, match="iteration must be from 1 to 4, but got 5"):
        tree_info(story, 5)
    with pytest.raises(ValueError, match="must have an iteration to show, but got none"):
        tree_info(EMPTY)


def test_tree_leaves_out_rows_beyond_its_limit(story):
    info = tree_info(story, 2, most=3)
    assert len(info.rows) == len(info.mask) == 3
    assert info.left_out == 3
    assert info.sentence.endswith("3 nodes not shown.")


def test_tree_names_copies_and_guesses(story):
    branches = (Branch("lookup", -1, (0,)), Branch("suffix", 4, (1,)))
    tree = replace(
        story.iterations[3].tree,
        tokens=(5, 6),
        parents=(-1, -1),
        kinds=("lookup", "suffix"),
        phrases=(-1, 4),
        branches=branches,
    )
    one = replace(
        story.iterations[3], tree=tree, picks=(5, 1, 1), path=(0,), emitted=(5, 1), kinds=("lookup", "target")
    )
    assert [row.block for row in tree_info(replace(story, iterations=(one,)), 1).rows] == [
        "",
        "copy 1",
        "guess 2",
    ]


def test_window_rows_are_judged_by_nobody(ahead):
    rows = tree_info(ahead, 1).rows[1:]
    assert [(row.block, row.token.verdict, row.says) for row in rows] == [("window", "aside", None)] * 3


@settings(max_examples=25)
@given(traces())
def test_mask_of_any_tree_is_ancestry(trace):
    for number in range(1, len(trace.iterations) + 1):
        info = tree_info(trace, number)
        assert all(row.parent < place for place, row in enumerate(info.rows))
        for place, row in enumerate(info.rows):
            assert info.mask[place].count("o") == row.depth
            assert info.mask[place][place] == "x"


# --- probabilities ------------------------------------------------------------------------------


def test_stream_tells_how_likely_every_token_was():
    info = stream_info(likely())
    assert info.likely
    assert [round(p, 3) for p in info.table().column("probability") if p is not None] == [
        1,
        0.5,
        0.1,
        1,
        0.5,
        0.1,
        0.01,
    ]
    by_verdict = zip(info.table().column("verdict"), info.table().column("probability"), strict=True)
    assert {verdict for verdict, p in by_verdict if p is None} == {"mistake", "late"}
    lines = info.text().splitlines()
    assert "p: what the target itself gave each token, before temperature" in lines
    assert "   p 1.00 0.50 0.10   not taken: " in lines[-2]
    assert lines[-1].endswith("   p 1.00 0.50 0.10 0.01")


def test_stream_without_probabilities_says_nothing_of_them_in_text(story):
    info = stream_info(story)
    assert not info.likely
    assert set(info.table().column("probability")) == {None}
    assert " p " not in info.text()


@pytest.mark.parametrize(
    ("p", "told"), [(1.0, "1.00"), (0.834, "0.83"), (0.01, "0.01"), (0.0099, "<0.01"), (0.0, "<0.01")]
)
def test_a_probability_has_two_digits(p, told):
    assert likelihood(p) == told


# --- #Match against A ---------------------------------------------------------------------------


def test_matches_of_every_draft(story):
    drafts = matches_info(story).drafts
    assert [(d.iteration, d.states) for d in drafts] == [
        (0, ("kept", "kept", "mistake")),
        (1, ("kept", "kept")),
        (2, ("mistake", "late", "late")),
    ]
    assert [(d.drafted, d.accepted, d.matches, d.suffix) for d in drafts] == [
        (3, 2, 2, 0),
        (2, 2, 2, 2),
        (3, 0, 2, 0),
    ]


def test_survival_is_estimated_from_hazards_beside_the_geometric_curve(story):
    points = matches_info(story).survival
    assert [point.share for point in points] == pytest.approx([2 / 3, 2 / 3, 0.0])
    assert [point.geometric for point in points] == pytest.approx([2 / 3, 4 / 9, 8 / 27])
    assert [point.tested for point in points] == [3, 2, 1]


def test_matches_sentence_and_table(story):
    info = matches_info(story)
    assert info.sentence == (
        "In 3 drafts the target kept 4 of 8 tokens (A); 2 more were right, but after the first mistake "
        "(#Match − A)."
    )
    assert info.table().rows == ((1, 3, 2, 2, 0, 0, 0), (2, 2, 2, 2, 0, 2, 0), (3, 3, 0, 2, 2, 0, 0))
    assert "   3  ✗==  A 0, #Match 2, 2 late" in info.text()


def test_a_run_without_drafts_says_so(plain):
    info = matches_info(plain)
    assert info.sentence == "Nothing was drafted in 10 iterations."
    assert info.survival == ()


def test_shifted_matches_are_runs_at_another_position(story, misplaced):
    """The draft inserts 40 before 41 42; the target goes on with 41 42 at once."""
    picks = (41, 50, 51, 52)
    first = replace(misplaced, index=0, position=2, root=8, picks=picks, emitted=(41,), draft=())
    later = [
        replace(story.iterations[3], index=1, position=3, root=41, picks=(42,), emitted=(42,)),
        replace(story.iterations[3], index=2, position=4, root=42),
    ]
    (draft,) = matches_info(replace(story, iterations=(first, *later))).drafts
    assert (draft.states, draft.shifted) == (("mistake",) * 3, 2)


@settings(max_examples=25)
@given(traces())
def test_matches_agree_with_the_metrics(trace):
    info, found = matches_info(trace), measure(trace)
    assert sum(draft.drafted for draft in info.drafts) == found.drafted
    assert sum(draft.accepted for draft in info.drafts) == found.accepted
    assert sum(draft.matches for draft in info.drafts) == found.matches


# --- phrases and the pool -----------------------------------------------------------------------


def test_life_of_a_phrase_from_the_rejected_tail(harvested):
    life = next(life for life in lives(harvested) if life.id == 8)
    assert (life.source, life.born, life.tries, life.evicted) == ("discarded", 0, (1,), -1)
    assert life.uses == (Use(iteration=1, position=3, nodes=(0, 1), kept=2, kind="suffix"),)
    assert life.kept == 2


def test_only_the_branch_that_won_is_credited(story):
    by_id = {life.id: life for life in lives(story)}
    assert {number: life.kept for number, life in by_id.items()} == {1: 0, 4: 0, 5: 2, 6: 0, 7: 0}
    assert by_id[1].evicted == 1
    assert (by_id[4].born, by_id[6].born) == (-1, 1)


def test_phrases_in_the_draft_count_as_used(story):
    first = story.iterations[0]
    tree = replace(first.tree, kinds=("phrase", "phrase", "phrase"), phrases=(4, 4, 9))
    found = {life.id: life for life in lives(replace(story, iterations=(replace(first, tree=tree),)))}
    assert found[4].uses == (Use(0, 2, (0, 1), 2, "phrase"),)
    assert found[9].uses == (Use(0, 4, (2,), 0, "phrase"),)
    assert (found[4].uses[0].proposed, found[9].uses[0].proposed) == (2, 1)


@settings(max_examples=25)
@given(traces())
def test_tokens_saved_never_exceed_tokens_off_phrases(trace):
    phrases = sum(
        trace.iterations[at].tree.phrases[node] >= 0
        for at in range(len(trace.iterations))
        for node in trace.iterations[at].path[: len(trace.iterations[at].emitted)]
    )
    assert 0 <= sum(life.kept for life in lives(replace_branches(trace))) <= phrases


def replace_branches(trace):
    """Without branches beside the draft, so that no node can belong to both."""
    bare = [replace(one, tree=replace(one.tree, branches=())) for one in trace.iterations]
    return replace(trace, iterations=tuple(bare))


def test_growth_by_source_with_what_is_older_than_the_run(story):
    growth = pool_info(story).growth
    assert [dict(step.sizes) for step in growth] == [
        {"": 3},
        {"": 2, "suffix": 2},
        {"": 2, "suffix": 2},
        {"": 2, "suffix": 2},
    ]
    assert [(step.inserted, step.evicted) for step in growth] == [(0, 0), (2, 1), (0, 0), (0, 0)]


def test_a_pool_that_shrinks_within_an_iteration_holds_nothing_of_unknown_origin(story):
    born = [PhraseRecord(number, (1, number), "window") for number in range(4)]
    drafting = replace(story.iterations[1].draft[0], pool=PoolRecord(inserted=tuple(born), size=4))
    first = replace(story.iterations[0], draft=(drafting,), pool=PoolRecord(evicted=(0, 1), size=2))
    silent = replace(story.iterations[1], draft=(), pool=PoolRecord())
    growth = pool_info(replace(story, iterations=(first, silent))).growth
    assert [dict(step.sizes) for step in growth] == [{"": 0, "window": 2}] * 2


def test_a_phrase_whose_entry_the_trace_lacks_is_not_said_to_be_older(story):
    """A pool that was empty when the run began has nothing from before it."""
    looked_up = PoolRecord(lookups=1, hits=1, retrieved=(PhraseRecord(7, (1, 2), "committed"),), size=1)
    first = replace(story.iterations[0], draft=(), pool=PoolRecord())
    second = replace(story.iterations[1], draft=(), pool=looked_up)
    shown = pool_info(replace(story, iterations=(first, second)))
    assert shown.growth[0].size == 0
    assert shown.sources == {"": (3, 1)}  # the one looked up, and two that the tree names
    assert "from before, or not recorded: 3 phrases" in shown.text()
    assert "before this run" not in shown.text()


def test_lookups_by_outcome(story):
    found = pool_info(story).lookups
    assert [(one.iteration, one.side, one.outcome, one.recent) for one in found] == [
        (0, "draft", "unfit", 1.0),
        (1, "target", "used", 1.0),
    ]


def test_best_phrases_come_first_with_where_they_were_used(harvested):
    info = pool_info(harvested)
    assert info.table().dicts() == [
        {
            "phrase": 8,
            "after": "a",
            "then": "«bc»",
            "source": "rejected tail",
            "born": 1,
            "tried": 1,
            "used": 1,
            "tokens kept": 2,
            "where": "iteration 2 at 3",
            "evicted": None,
        }
    ]
    assert info.sources == {"discarded": (1, 1), "committed": (1, 0)}
    assert (info.saved, info.emitted, info.winners) == (2, 4, 1)
    assert info.sentence == (
        "In 2 iterations the pool took in 2 phrases and lost 0; 1 phrase put 2 of the 4 tokens into the text."
    )


def test_pool_of_a_run_without_one(plain):
    assert pool_info(plain).sentence == "This run used no phrase pool."


# --- harvest ------------------------------------------------------------------------------------


def test_harvest_from_rejection_to_use(harvested):
    (harvest,) = harvest_info(harvested).harvests
    assert [(token.id, token.verdict) for token in harvest.draft] == [
        (40, "mistake"),
        (41, "late"),
        (42, "late"),
    ]
    assert harvest.says == ("a", "b", "c")
    (grown,) = harvest.phrases
    assert (grown.texts, grown.fate) == (("a", "b", "c"), "used in 2, 2 of 2 kept")
    assert harvest.others == {"committed": 1}


def test_repaired_suffix_stands_beside_what_it_was(story):
    """Suffix 1 said 30 31, the target 30 32: the phrase up to the first correction."""
    second = story.iterations[1]
    repaired = PhraseRecord(6, (21, 30, 32), "suffix")
    changed = replace(second, pool=replace(second.pool, inserted=(repaired,)))
    (harvest,) = harvest_info(replace(story, iterations=(story.iterations[0], changed))).harvests
    (grown,) = harvest.phrases
    assert [(token.id, token.verdict) for token in grown.was] == [(30, "kept"), (31, "mistake")]
    assert grown.texts == ("#21", "    return", "#32")


def test_harvest_sentence(harvested, story):
    assert harvest_info(harvested).sentence == (
        "2 drafted tokens were right, but after the first mistake; rejected tails and repaired suffixes "
        "became 1 phrase, 1 of them used later for 2 tokens."
    )
    assert harvest_info(story).sentence.endswith("became 2 phrases, none of them used later.")
    info = harvest_info(harvested, most=0)
    assert (info.harvests, info.left_out) == ((), 1)


# --- timeline -----------------------------------------------------------------------------------


@pytest.fixture
def timed(story):
    """Two iterations: drafts of 1 and 2 ms, then a target forward of 4 ms, with host time between."""

    def at(one, start):
        drafts = (
            drafting(1.0, forward=ForwardRecord(1, 1, 1, start + 1, 1.0)),
            drafting(2.0, forward=ForwardRecord(1, 1, 1, start + 2, 2.0)),
        )
        return replace(
            one,
            draft=drafts,
            forward=replace(one.forward, start_ms=start + 5, ms=4.0),
            phases={"propose": 5.0, "forward": 4.0, "learn": 1.0},
        )

    return replace(story, iterations=(at(story.iterations[0], 100.0), at(story.iterations[1], 112.0)))


def test_timeline_puts_every_forward_in_its_lane(timed):
    clock = timeline_info(timed, first=1, plain=3.0).measured
    bars = [(span.lane, span.start, span.ms) for span in clock.spans if span.lane in ("draft", "target")]
    assert bars == [
        ("draft", 1.0, 1.0),
        ("draft", 2.0, 2.0),
        ("target", 5.0, 4.0),
        ("draft", 13.0, 1.0),
        ("draft", 14.0, 2.0),
        ("target", 17.0, 4.0),
    ]
    assert [(band.start, band.end, band.emitted) for band in clock.bands] == [(0.0, 12.0, 3), (12.0, 22.0, 5)]


def test_timeline_gives_the_host_what_no_forward_fills(timed):
    clock = timeline_info(timed, first=1).measured
    host = [(span.start, span.ms) for span in clock.spans if span.lane == "host"]
    assert host == [(0.0, 1.0), (4.0, 1.0), (9.0, 3.0), (12.0, 1.0), (16.0, 1.0), (21.0, 1.0)]
    assert clock.busy("host") + clock.busy("draft") + clock.busy("target") == 22.0


def test_plain_decoding_runs_a_forward_a_token(timed):
    info = timeline_info(timed, first=1, plain=3.0)
    spans = [span for span in info.measured.spans if span.lane == "plain"]
    assert [span.start for span in spans] == [3.0 * place for place in range(8)]
    assert info.speedup == 24 / 22
    assert info.sentence == (
        "Iterations 1 to 2 took 22 ms for 8 tokens, 2.8 ms a token (draft 27 %, target 36 %, host 36 %); "
        "plain decoding takes 3.0 ms a token (measured): 1.09× as fast."
    )


def test_slower_is_said_as_plainly(timed):
    assert timeline_info(timed, first=1, plain=2.0).sentence.endswith("(measured): 1.38× slower.")


def test_plain_time_is_measured_or_owned_up_to(timed, plain, story):
    assert (timeline_info(timed, plain=plain).plain, timeline_info(timed, plain=plain).whence) == (
        3.0,
        "given",
    )
    assert (timeline_info(story).plain, timeline_info(story).whence) == (1.0, "one row")
    assert timeline_info(timed).whence == "fastest"
    assert "so not measured" in timeline_info(timed).sentence


def test_idealised_clock_counts_target_forwards(timed):
    info = timeline_info(timed, first=1)
    assert info.ratio == 1.5 / 4.0
    clock = info.ideal
    assert clock.busy("target") == 2.0
    assert clock.busy("draft") == 4 * 1.5 / 4.0
    assert clock.busy("host") == 0.0
    assert clock.busy("plain") == 8.0
    assert [band.end for band in clock.bands] == [1.75, 3.5]


def test_timeline_leaves_the_prompt_out_and_says_so(timed):
    info = timeline_info(timed)
    assert [band.iteration for band in info.measured.bands] == [1]
    assert info.prompt_ms == 10.0
    assert timeline_info(timed, first=1, most=1).left_out == 1


def test_timeline_of_an_empty_run():
    assert timeline_info(EMPTY).sentence == "This run has no times to show."


@settings(max_examples=25)
@given(traces())
def test_host_time_never_overlaps_a_forward(trace):
    clock = timeline_info(trace, first=1).measured
    busy = [span for span in clock.spans if span.lane not in ("host", "plain")]
    for span in clock.spans:
        if span.lane == "host":
            own = [one for one in busy if one.iteration == span.iteration]
            assert all(one.end <= span.start + 1e-6 or one.start >= span.end - 1e-6 for one in own if one.ms)


# --- lookahead window ---------------------------------------------------------------------------


def test_window_guesses_and_how_they_change(ahead):
    info = window_info(ahead, 2)
    rows = [(row.label, [(cell.position, cell.text, cell.state) for cell in row.cells]) for row in info.rows]
    assert rows == [
        ("1", [(2, "#21", "first"), (3, "#22", "first")]),
        ("2", [(3, "#31", "changed"), (4, "#32", "first")]),
    ]
    assert info.text_at == {2: "#5", 3: "#9", 4: "#21"}


def test_window_cell_converges_when_it_is_right_and_stays_so(ahead):
    """The first row guesses 9 for position 3; the second forward keeps the guess."""
    first = replace(ahead.iterations[0], window=((11,), (21, 9)))
    second = replace(ahead.iterations[1], window=((22,), (9, 32)))
    info = window_info(replace(ahead, iterations=(first, second, ahead.iterations[2])), 2)
    states = [[cell.state for cell in row.cells] for row in info.rows]
    assert states == [["first", "converged"], ["converged", "first"]]
    again = replace(second, window=((22,), (8, 32)))
    info = window_info(replace(ahead, iterations=(first, again, ahead.iterations[2])), 2)
    assert [cell.state for cell in info.rows[0].cells] == ["first", "first"]  # right, but lost again
    assert [cell.right for cell in info.rows[0].cells] == [False, True]


def test_ngrams_run_down_the_columns(ahead):
    frame = window_info(ahead, 1).frame
    assert [[(cell.position, cell.text) for cell in level] for level in frame.levels] == [
        [(2, "#11")],
        [(2, "#21"), (3, "#22")],
        [(3, "#31"), (4, "#32")],
    ]
    assert [(ngram.texts, ngram.new, ngram.kept) for ngram in frame.ngrams] == [
        (("#9", "#21", "#31"), True, 2),
        (("#11", "#22", "#32"), False, 0),
    ]
    assert [ngram.cells for ngram in frame.ngrams] == [((-1, 1), (1, 2), (2, 3)), ((0, 2), (1, 3), (2, 4))]


def test_window_sentence_counts_what_came_of_it(ahead):
    assert window_info(ahead).sentence == (
        "The window guessed ahead in 2 forwards; 1 new n-gram entered the pool and put 2 tokens into the "
        "text; window tokens themselves are never emitted."
    )


def test_window_that_still_fills_has_no_ngrams(ahead):
    filling = replace(ahead.iterations[0], knobs={"level": 4})
    assert window_info(replace(ahead, iterations=(filling,)), 1).frame.ngrams == ()


def test_window_of_the_draft_model_is_labelled_by_forward(ahead, story):
    outer = replace(story.iterations[0], draft=(ahead.iterations[0], ahead.iterations[1]))
    info = window_info(replace(story, iterations=(outer,)), 1)
    assert [row.label for row in info.rows] == ["1.1", "1.2"]


def test_run_without_a_window(plain):
    assert window_info(plain).sentence == "This run had no lookahead window."


@settings(max_examples=25)
@given(traces())
def test_window_of_any_run(trace):
    info = window_info(trace)
    assert all(cell.position >= 0 for row in info.rows for cell in row.cells)
    assert info.text().startswith(info.sentence)


# --- speed-up -----------------------------------------------------------------------------------


def test_equation_6_is_fed_with_what_the_run_measured(story):
    info = speedup_info(story, plain=2.0)
    assert info.acceptance.hazards == pytest.approx((1 / 3, 0.0, 1.0))
    assert info.acceptance.beyond == pytest.approx(2 / 3)
    assert (info.c, info.t_draft, info.t_target, info.gamma, info.beta) == (2.0, 0.75, 1.0, 3, 1)
    assert info.here == pytest.approx((4 / 3 + 1) * 1.0 / (3 * 0.75 / 2 + 1.0))
    assert info.measured == 2.0 * 7 / 10


def test_grid_holds_the_formula_everywhere(story):
    info = speedup_info(story, gammas=4, betas=3)
    assert (info.gammas, info.betas) == ((0, 1, 2, 3, 4), (0, 1, 2, 3))
    assert info.grid[info.beta][info.gamma] == info.here
    assert info.grid[0][0] == 1.0
    assert info.measured is None
    assert info.at(info.best, info.beta) == max(info.grid[info.beta])


def test_speedup_says_the_equation_with_its_numbers(story):
    info = speedup_info(story)
    assert info.equation == "(A(γ+β) + 1)·t_T / (γ·t_S/c + t_T) = (1.33 + 1)·1.0 / (3·0.8/2.00 + 1.0) = 1.10×"
    assert info.sentence.startswith("At γ = 3 and β = 1 Eq. 6 gives 1.10× of plain decoding; for this β")


def test_speedup_by_the_clock_takes_the_plain_run(story, plain):
    assert speedup_info(story, plain=plain).plain == 3.0
    assert speedup_info(story, plain=plain).sentence.endswith("the clock says 2.10×.")


def test_speedup_needs_a_draft_model(plain, story):
    with pytest.raises(ValueError, match=r"Eq. 6 needs a run with a draft model, .* with 0 draft forwards"):
        speedup_info(plain)
    with pytest.raises(ValueError, match="plain must be above 0 milliseconds a token, but got 0"):
        speedup_info(story, plain=0)


def test_acceptance_of_the_view_is_the_survival_of_the_matches(story):
    acceptance: Acceptance = speedup_info(story).acceptance
    assert [acceptance.survival(point.k) for point in matches_info(story).survival] == pytest.approx(
        [point.share for point in matches_info(story).survival]
    )


# --- two runs -----------------------------------------------------------------------------------


def test_comparison_of_the_same_text(plain, story):
    info = comparison_info(plain, story)
    assert (info.same, info.identical) == (10, True)
    assert (info.left.ends, info.right.ends) == (tuple(range(1, 11)), (3, 8, 9, 10))
    assert (info.left.ms, info.right.ms) == (9.0 + 27.0, 20.0)
    assert (info.cuts(info.left), info.cuts(info.right)) == ((1, 2, 4, 5, 6, 7), ())
    assert info.sentence == (
        "✓ same text: 10 tokens. vanilla wrote 1.00 tokens a target forward, ouroboros 2.50; a token took "
        "3.6 ms against 2.0 ms, so ouroboros is 1.80× as fast."
    )


def test_comparison_finds_the_first_difference(plain, story):
    other = replace(story.iterations[0], picks=(10, 11, 51, 51), emitted=(10, 11, 51))
    info = comparison_info(plain, replace(story, iterations=(other, *story.iterations[1:])))
    assert (info.same, info.identical) == (2, False)
    assert info.verdict == "Output differs at token 3: «):⏎» against «#51»"


def test_comparison_where_one_run_stopped_earlier(plain, story):
    info = comparison_info(replace(plain, iterations=plain.iterations[:4]), story, names=("short", "long"))
    assert info.verdict == "✓ same text: the first 4 tokens; long goes on"
    assert info.identical


def test_comparison_of_different_prompts_claims_nothing(plain, story):
    info = comparison_info(plain, replace(story, prompt=(1, 8)))
    assert info.verdict == "The two runs had different prompts"
    assert not info.identical
    assert "as fast" not in info.sentence


def test_comparison_of_two_runs_of_one_method_names_them_apart(story):
    info = comparison_info(story, story)
    assert (info.left.name, info.right.name) == ("ouroboros 1", "ouroboros 2")
    assert info.cuts(info.left) == ()


def test_comparison_table(plain, story):
    rows = {row[0]: row[1:] for row in comparison_info(plain, story).table().rows}
    assert rows["target forwards"] == (10, 4)
    assert rows["tokens per target forward"] == (1.0, 2.5)
    assert rows["draft forwards"] == (0, 4)
    assert rows["tokens per draft forward (c)"] == (None, 2.0)
    assert rows["iterations that end where the other goes on"] == (6, 0)
