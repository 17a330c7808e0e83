"""What the stepper shows, checked on runs made by hand."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from phrasekit.trace import Branch, Iteration, Trace, TreeRecord, faults
from phrasekit.views.stepper import StepperInfo, stepper_info
from phrasekit.views.stepper.records import GroupInfo, GuessInfo, PhraseInfo, PlainInfo, PoolInfo
from tests.views.stepper_traces import HOSTILE, drafting, hostile, large, plain_of, story


@pytest.fixture
def info() -> StepperInfo:
    return stepper_info(story(), baseline=plain_of(story()))


def words(info: StepperInfo, tokens: tuple[int, ...]) -> list[str]:
    return [info.texts[token] for token in tokens]


def spell(info: StepperInfo, pieces: tuple[str | int, ...]) -> str:
    return "".join(piece if isinstance(piece, str) else f"[{info.texts[piece]}]" for piece in pieces)


def test_the_runs_made_by_hand_are_sound():
    assert [
        *faults(story()),
        *faults(large(iterations=4)),
        *faults(hostile()),
        *faults(plain_of(story())),
    ] == []


def test_the_head_names_method_facts_and_the_knobs_that_matter(info):
    assert info.method == "ouroboros"
    assert info.facts == ("cpu",)  # a target called "target" is no news
    assert info.knobs == (
        (("γ", "4"), ("G", "2"), ("K", "3"), ("β", "2"), ("L", "10")),
        (("γ", "4"),),
    )
    assert [step.knobs for step in info.steps] == [0, 1]
    assert (info.prompt_length, words(info, info.prompt)) == (2, ["def", " f"])
    assert info.total == 2
    assert info.finish == "The run ended with an end-of-text token."


def test_a_token_is_kept_once_with_its_id(info):
    assert len(set(info.ids)) == len(info.ids) == len(info.texts)
    assert dict(zip(info.ids, info.texts, strict=True))[50] == "):\n    "
    assert dict(zip(info.ids, info.texts, strict=True))[23] == "#23"  # the trace has no text for it


def test_counts_are_those_of_the_trace(info):
    first, second = info.steps
    assert (first.accepted, first.drafted, first.matches, first.beyond) == (2, 4, 3, 0)
    assert (second.accepted, second.drafted, second.matches, second.beyond) == (1, 1, 1, 2)
    assert (first.position, first.written, second.position, second.written) == (2, 0, 5, 3)


def test_every_node_has_who_proposed_it_and_what_became_of_it(info):
    first, second = (step.tree for step in info.steps)
    assert (first.kinds, first.states) == ("dppds", "kkxln")
    assert (second.kinds, second.states) == ("dsssc", "kkxkx")
    assert [info.ids[t] if t >= 0 else t for t in first.picks] == [20, 21, 50, 23, 31, 51]


def test_rows_draw_every_node_once_and_say_why(info):
    first, second = (step.tree for step in info.steps)
    assert [(row.label, row.own, row.kept, row.outcome) for row in first.rows] == [
        ("Draft", (0, 1, 2, 3), 2, "lost"),
        ("Suffix 1", (4,), 0, "unreached"),
    ]
    assert [spell(info, row.why) for row in first.rows] == [
        "broke at 4: it says [ y], the target says [):\n    ]",
        "not reached: the draft broke at 4",
    ]
    assert [(row.label, row.own, row.kept, row.outcome) for row in second.rows] == [
        ("Draft", (0,), 1, "kept"),
        ("Suffix 1", (1, 2), 1, "lost"),
        ("Suffix 2", (3,), 2, "won"),
        ("Suffix 3", (), 1, "shared"),
        ("Copy 4", (4,), 0, "lost"),
    ]
    assert [spell(info, row.why) for row in second.rows[1:]] == [
        "lost after 1: the target says [#32]",
        "won, all 2 kept; then the target says [<end>]",
        "starts like suffix 1, shares its rows",
        "lost at once: the target says [return]",
    ]
    assert second.order == (-1, 0, 1, 2, 3, 4)


def test_the_mask_has_the_order_of_the_rows_and_one_column_for_the_cache(info):
    mask = info.steps[1].tree.mask()
    assert ["".join("#" if on else "." for on in row) for row in mask] == [
        "##.....",  # cache, root
        "###....",
        "####...",
        "#####..",
        "####.#.",  # suffix 2 does not see the second token of suffix 1
        "##....#",  # a copy hangs on the root
    ]


def test_the_target_says_what_was_emitted_then_its_verdicts_on_the_rest(info):
    first, second = (step.tree for step in info.steps)
    assert (words(info, first.says), first.said) == (["(", "x", "):\n    ", "#23"], 3)
    assert (words(info, second.says), second.said) == (["return", " x", "#32", "<end>"], 4)


def test_the_text_names_the_node_behind_every_token(info):
    first, second = info.steps
    assert (words(info, first.emitted), first.kinds, first.nodes) == (
        ["(", "x", "):\n    "],
        "dpt",
        (0, 1, 5),
    )
    assert (second.kinds, second.nodes) == ("dsst", (0, 1, 3, 5))


def test_sentences(info):
    first, second = info.steps
    assert "".join(first.said) == (
        "reads the prompt of 2 tokens; the draft model wrote 4 tokens in 2 forwards, 2 of them read off pool "
        "phrases; the target kept the first 2 and corrected the next; 1 of the rejected tokens was right but "
        "after the first mistake, and became 1 phrase."
    )
    before, point, after = second.said
    assert before == (
        "the draft model wrote 1 token in 1 forward; the target kept it, kept 2 more from a pool suffix and "
        "added 1 of its own: "
    )
    assert (point, after) == ("4 tokens for one target forward.", "")
    assert first.verify == (
        "The target reads 6 rows in one forward and says its own next token at each: it agrees with 2 of the "
        "4 drafted tokens from the front."
    )
    assert (
        second.commit
        == "4 tokens join the text: 3 kept and 1 of the target's own. The rest of the tree is dropped."
    )


def test_the_film_shows_what_each_draft_forward_tried_and_wrote(info):
    one, two = info.steps[0].forwards
    assert one.said == (
        "Draft forward 1 of 2: nothing to try after this token, so the draft model writes 1 token from one forward."
    )
    assert two.said == (
        "Draft forward 2 of 2: 2 phrases to try after this token, one fits 2 tokens and is taken; "
        "3 tokens from one forward."
    )
    assert (one.first, two.first, words(info, two.wrote), two.kinds) == (0, 1, ["x", " y", "#23"], "ppd")
    numbers = {token: number for number, token in enumerate(info.ids)}
    assert [(guess.fits, guess.taken) for guess in two.guesses] == [(2, True), (1, False)]
    assert two.guesses[1].tokens == (numbers[21], numbers[29])
    assert isinstance(two.guesses[0], GuessInfo)
    assert [words(info, level) for level in two.window] == [["#7"], ["#8", "#9"]]
    assert words(info, (two.key,)) == ["("]


def test_forwards_lie_inside_their_iteration(info):
    first = info.steps[0]
    assert [(forward.start, forward.ms) for forward in first.forwards] == [(1.0, 1.5), (2.5, 2.0)]
    assert (first.start, first.target_start, first.target_ms, first.ms) == (0.0, 5.0, 4.0, 10.0)
    assert info.steps[1].start == 10.0


def test_clocks_that_disagree_are_brought_together():
    first = story().iterations[0]
    late = tuple(
        replace(inner, forward=replace(inner.forward, start_ms=inner.forward.start_ms + 90))
        for inner in first.draft
    )
    shifted = stepper_info(replace(story(), iterations=(replace(first, draft=late),)))
    assert [forward.start for forward in shifted.steps[0].forwards] == [1.5, 3.0]  # ends with the proposing


def test_the_pool_of_an_iteration(info):
    pool = info.steps[0].pool
    assert pool == PoolInfo(
        before=0,
        after=6,
        lookups=1,
        hits=1,
        draft_lookups=2,
        draft_hits=1,
        groups=pool.groups,
        evicted=(1,),
        evictions=2,
    )
    assert [(group.source, group.total, group.used) for group in pool.groups] == [
        ("discarded", 1, 0),
        ("committed", 1, 1),
    ]
    assert isinstance(pool.groups[0], GroupInfo)
    assert info.steps[1].pool.before == 6


def test_a_phrase_knows_its_source_its_birth_and_its_fate(info):
    by_words = {" ".join(words(info, phrase.tokens)): phrase for phrase in info.phrases}
    assert by_words["):\n     return"] == PhraseInfo(
        tokens=by_words["):\n     return"].tokens, source=0, born=0, uses=((1, 1),), fate="used in 2, 1 kept"
    )
    assert info.sources[0] == "the committed text"
    assert by_words["( x #29"].fate == "tried in 1, 0 kept, gone in 1"
    assert by_words["( x  y"].uses == ((0, 1),)
    assert by_words["x ):\n    "].fate == ""


def test_the_plain_run_gives_times_and_a_proof(info):
    assert info.plain == PlainInfo(ms=(2.0,) * 7, checked=7, differs=-1)


def test_a_text_that_differs_is_told():
    plain = plain_of(story())
    other = replace(plain.iterations[4], picks=(99,), emitted=(99,))
    end = tuple(
        replace(iteration, root=99) if number == 5 else iteration
        for number, iteration in enumerate((*plain.iterations[:4], other, *plain.iterations[5:]))
    )
    assert stepper_info(story(), baseline=replace(plain, iterations=end)).plain.differs == 4


def test_a_baseline_of_another_prompt_is_refused():
    with pytest.raises(ValueError, match="same prompt"):
        stepper_info(story(), baseline=Trace("vanilla", (1,)))


def test_a_walk_cut_by_a_limit():
    first = replace(story().iterations[1], emitted=(60, 30), kinds=("draft", "suffix"), index=0)
    step = stepper_info(Trace("ouroboros", (10, 11, 20, 21, 50), (first,), "length")).steps[0]
    assert step.tree.states == "kkxex"
    assert "".join(step.said) == (
        "reads the prompt of 5 tokens; the draft model wrote 1 token in 1 forward; the target agreed with "
        "3 tokens, and the text ends after 2 of them, by a stop or a limit."
    )
    assert step.commit == "2 tokens join the text; a stop or a limit ends it there."
    assert step.tree.rows[2].why == ("right to its end, but the text ends before its last 1",)


def test_plain_decoding_has_a_sentence_too():
    step = stepper_info(plain_of(story())).steps[1]
    assert "".join(step.said) == (
        "nothing was proposed; the target wrote 1 token of its own: 1 token for one target forward."
    )
    assert (step.tree.rows, step.forwards) == ((), ())


def test_guesses_without_a_draft():
    tree = TreeRecord(
        tokens=(5, 6, 7, 8, 9),
        parents=(-1, 0, -1, -1, 2),
        kinds=("phrase", "phrase", "phrase", "window", "window"),
        phrases=(1, 1, 2, -1, -1),
        branches=(Branch("phrase", 1, (0, 1)), Branch("phrase", 2, (2,))),
    )
    tried = drafting(0, 1, 4, tree=tree, picks=(5, 6, 30, 31, -1, 32), path=(0, 1), emitted=(5, 6, 30))
    tried = replace(tried, kinds=("phrase", "phrase", "target"), window=((8,), (9,)))
    info = stepper_info(Trace("lookahead", (4,), (tried,)))
    step = info.steps[0]
    assert [(row.label, row.outcome, row.own) for row in step.tree.rows] == [
        ("Guess 1", "won", (0, 1)),
        ("Guess 2", "lost", (2,)),
        ("Window 1", "aside", (3, 4)),
    ]
    assert step.tree.states == "kkxww"
    assert "".join(step.said) == (
        "reads the prompt of 1 token; 2 pool phrases were tried, without a draft; the target kept 2 tokens of "
        "one and added 1 of its own: 3 tokens for one target forward."
    )


def test_a_copy_that_wins_over_the_draft():
    tree = TreeRecord(
        tokens=(5, 6, 7),
        parents=(-1, -1, 1),
        kinds=("draft", "lookup", "lookup"),
        phrases=(-1,) * 3,
        trunk=(0,),
        branches=(Branch("lookup", -1, (1, 2)),),
    )
    both = drafting(1, 1, 4, tree=tree, picks=(6, 0, 7, 30), path=(1, 2), emitted=(6, 7, 30))
    both = replace(
        both,
        index=0,
        kinds=("lookup", "lookup", "target"),
        draft=(drafting(0, 1, 4, picks=(5,), emitted=(5,)),),
    )
    step = stepper_info(Trace("hybrid", (4,), (both,))).steps[0]
    assert "".join(step.said[:2]) == (
        "reads the prompt of 1 token; the draft model wrote 1 token in 1 forward; the target left it at once, "
        "kept 2 of a copy and added 1 of its own: 3 tokens for one target forward."
    )
    assert [row.outcome for row in step.tree.rows] == ["lost", "won"]


@pytest.mark.parametrize("name", list(HOSTILE))
def test_invisible_and_misleading_characters_are_spelled_out(name):
    trace = replace(story(), texts={20: HOSTILE[name]})
    info = stepper_info(trace)
    shown = info.texts[info.ids.index(20)]
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert len(shown) <= 400
    shown.encode("utf-8")


def test_a_long_run_is_shown_in_part_and_says_so():
    info = stepper_info(large(iterations=6), limit=4)
    assert (len(info.steps), info.total) == (4, 6)


def test_lists_are_limited():
    first = story().iterations[0]
    pool = replace(
        first.pool, inserted=tuple(replace(first.pool.inserted[0], id=100 + n) for n in range(200))
    )
    group = stepper_info(replace(story(), iterations=(replace(first, pool=pool),))).steps[0].pool.groups[0]
    assert (len(group.phrases), group.total) == (24, 200)


def test_nothing_to_show_is_a_notice_or_an_empty_run_and_never_an_error():
    assert stepper_info(Trace("vanilla", (1, 2))).steps == ()
    assert "got dict" in stepper_info({"schema": 1}).notice
    broken = replace(story().iterations[0], picks=(1,))
    assert stepper_info(Trace("x", (10, 11), (broken,))).notice.startswith(
        "This trace is damaged: iterations[0]"
    )


def test_an_unfinished_run_says_so():
    assert "still going on" in stepper_info(replace(story(), finish_reason="")).finish


def test_every_iteration_of_every_kind_of_run_has_a_reason_for_every_row():
    for trace in (story(), large(iterations=10), plain_of(story()), hostile()):
        for step in stepper_info(trace).steps:
            assert all(row.why for row in step.tree.rows)
            assert sorted(node for row in step.tree.rows for node in row.own) == list(
                range(len(step.tree.tokens))
            )


def test_the_record_is_plain_data():
    import json

    data = stepper_info(story(), baseline=plain_of(story())).plain_data()
    assert json.loads(json.dumps(data))["steps"][1]["tree"]["states"] == "kkxkx"


def test_neither_torch_nor_transformers_is_needed():
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None); "
        "from phrasekit.views.stepper import stepper_html; from phrasekit.trace import Trace; "
        "print(len(stepper_html(Trace('vanilla', (1,)))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_large_traces_stay_within_bounds():
    trace = large(iterations=50)
    assert len(trace.iterations[0].tree.tokens) == 60
    info = stepper_info(trace)
    assert isinstance(trace.iterations[0], Iteration)
    assert sum(len(step.emitted) for step in info.steps) == len(trace.tokens)
