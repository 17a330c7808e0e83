"""Exports, read back by what reads such files, with numbers worked out by hand on the story."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings

from phrasekit.trace import Trace, load_trace
from phrasekit.trace.export import acceptance, convert, format_of, perfetto, spec_bench
from phrasekit.trace.export.chain import chain as followed
from phrasekit.trace.export.chain import longest
from tests.strategies import traces
from tests.trace.conftest import drafting

EMPTY = Trace("vanilla", (7,))


def test_chain_is_the_sequence_the_walk_followed(partial, lengthened, misplaced, vanilla):
    assert followed(partial) == (0, 1, 2)  # the draft, its refused end included
    assert followed(lengthened) == (0, 1, 2, 4)  # through the suffix that won, not the one before it
    assert followed(misplaced) == (0, 1, 2)
    assert followed(vanilla) == ()
    assert [longest(one.tree) for one in (partial, lengthened, misplaced, vanilla)] == [3, 4, 3, 0]


def test_chain_of_guesses_without_a_draft(lengthened):
    guesses = replace(lengthened, tree=replace(lengthened.tree, trunk=()), path=())
    assert followed(guesses) == (0, 1, 2, 3)  # the first guess, from the root on


def test_window_rows_are_no_proposals(lengthened):
    kinds = ("draft", "draft", "suffix", "window", "window")
    assert longest(replace(lengthened.tree, kinds=kinds)) == 3


# --- Parquet ------------------------------------------------------------------------------------


def parquet_of(trace, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    convert(trace, tmp_path / "run.parquet")
    return parquet.ParquetFile(tmp_path / "run.parquet")


def test_parquet_has_the_columns_and_values_of_every_iteration(story, tmp_path):
    file = parquet_of(story, tmp_path)
    rows = file.read().to_pylist()
    names = ("step", "draft_tokens", "acceptances", "k", "acceptance_length", "emitted_token")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, [10, 11, 12], [True, True, False], 3, 2, 50),
        (1, [20, 21, 30, 32], [True] * 4, 4, 4, 60),
        (2, [40, 41, 42], [False] * 3, 3, 0, 70),
        (3, [], [], 0, 0, 5),
    ]
    assert rows[1]["draft_sources"] == ["draft", "draft", "suffix", "suffix"]
    assert rows[1]["draft_texts"] == ["#20", "#21", "    return", "#32"]
    assert rows[1]["draft_phrases"] == [-1, -1, 4, 5]
    assert rows[0]["emitted_text"] == "(x):\n"
    assert [row["matches"] for row in rows] == [2, 2, 2, 0]
    assert [row["iteration_ms"] for row in rows] == [10.0, 5.0, 3.0, 2.0]
    assert json.loads(rows[0]["knobs"]) == {"gamma": 3}


def test_parquet_has_the_probabilities_that_were_recorded(story, tmp_path):
    first = replace(story.iterations[0], logprobs=(-0.5, 0.0, -2.0))
    some = replace(story, iterations=(first, *story.iterations[1:]))
    rows = parquet_of(some, tmp_path).read().to_pylist()
    assert [row["emitted_logprobs"] for row in rows] == [[-0.5, 0.0, -2.0], None, None, None]
    for name in ("vllm.json", "spec-bench.jsonl"):
        for at, trace in enumerate((some, story)):
            convert(trace, tmp_path / f"{at}.{name}")
    assert (tmp_path / "0.vllm.json").read_bytes() == (tmp_path / "1.vllm.json").read_bytes()
    assert spec_bench(some)["choices"] == spec_bench(story)["choices"]


def test_parquet_rows_tell_the_text(story, tmp_path):
    rows = parquet_of(story, tmp_path).read().to_pylist()
    told = [
        token
        for row in rows
        for token in (*row["draft_tokens"][: row["acceptance_length"]], row["emitted_token"])
    ]
    assert tuple(told) == story.tokens


def test_parquet_is_zstd_and_says_what_it_is(story, tmp_path):
    file = parquet_of(story, tmp_path)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    about = file.schema_arrow.metadata
    assert about[b"phrasekit.method"] == b"ouroboros"
    assert json.loads(about[b"phrasekit.prompt"]) == [7, 8]


def test_parquet_of_a_run_without_iterations_has_the_same_columns(story, tmp_path):
    full = parquet_of(story, tmp_path).schema_arrow
    assert parquet_of(EMPTY, tmp_path).schema_arrow.equals(full)
    assert parquet_of(EMPTY, tmp_path).metadata.num_rows == 0


def test_parquet_spells_out_what_utf8_cannot_hold(story, tmp_path):
    odd = replace(story, texts={**story.texts, 10: "\ud800"})
    assert parquet_of(odd, tmp_path).read().to_pylist()[0]["draft_texts"][0] == "\\ud800"


def test_parquet_cut_by_a_stop_has_no_token_of_the_target(story, tmp_path):
    first = replace(story.iterations[0], emitted=(10,), kinds=("draft",))
    (row,) = parquet_of(replace(story, iterations=(first,)), tmp_path).read().to_pylist()
    assert row["emitted_token"] is None
    assert row["emitted_tokens"] == [10]


def test_parquet_without_pyarrow_says_how_to_install_it(story, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "phrasekit\[export\]"'):
        convert(story, tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


# --- Perfetto -----------------------------------------------------------------------------------


def timed(story):
    """Two draft forwards of 1 and 2 ms, then the target's of 4, on one clock that starts at 100."""
    first = replace(
        story.iterations[0],
        draft=(
            drafting(1.0, forward=replace(drafting(1.0).forward, start_ms=100.5)),
            drafting(2.0, forward=replace(drafting(2.0).forward, start_ms=102.0)),
        ),
        forward=replace(story.iterations[0].forward, start_ms=104.0),
    )
    return replace(story, iterations=(first,))


def events(trace, phase):
    return [event for event in perfetto(trace)["traceEvents"] if event["ph"] == phase]


def lanes(trace):
    return {e["tid"]: e["args"]["name"] for e in events(trace, "M") if e["name"] == "thread_name"}


def test_perfetto_bars_are_forwards_and_phases_in_microseconds(story):
    trace = timed(story)
    bars = {(lanes(trace)[e["tid"]], e["name"], e["ts"], e["dur"]) for e in events(trace, "X")}
    assert bars == {
        ("host", "iteration 1", 0.0, 10_000.0),
        ("host", "propose", 0.0, 4_000.0),
        ("host", "walk", 8_000.0, 500.0),
        ("host", "commit", 8_500.0, 500.0),
        ("host", "learn", 9_000.0, 1_000.0),
        ("draft", "draft 1", 500.0, 1_000.0),
        ("draft", "draft 1", 2_000.0, 2_000.0),
        ("target", "verify 1", 4_000.0, 4_000.0),
    }


def test_perfetto_arrow_leads_from_the_draft_forwards_to_the_verifying_one(story):
    trace = timed(story)
    steps = [(e["ph"], lanes(trace)[e["tid"]], e["ts"]) for phase in "stf" for e in events(trace, phase)]
    assert steps == [("s", "draft", 500.0), ("t", "draft", 2_000.0), ("f", "target", 4_000.0)]
    assert {e["id"] for phase in "stf" for e in events(trace, phase)} == {1}
    assert events(trace, "f")[0]["bp"] == "e"


def test_perfetto_counters(story):
    found = [(e["name"], e["args"][e["name"]]) for e in events(timed(story), "C")]
    assert found == [("accepted", 2), ("gamma", 3), ("KV length", 0)]


def test_perfetto_gives_every_level_of_a_cascade_its_lane(story):
    assert set(lanes(story).values()) == {"host", "target", "draft", "draft 2"}


def test_perfetto_of_a_run_without_drafts_or_iterations(story):
    vanilla = replace(story, iterations=story.iterations[3:])
    assert set(lanes(vanilla).values()) == {"host", "target"}
    assert [events(vanilla, phase) for phase in "stf"] == [[], [], []]
    assert [e["ph"] for e in perfetto(EMPTY)["traceEvents"]] == ["M"]


@settings(max_examples=25)
@given(traces())
def test_perfetto_is_json_and_nests_on_the_host(trace):
    text = json.dumps(perfetto(trace), allow_nan=False)
    assert json.loads(text)["displayTimeUnit"] == "ms"
    end = 0.0
    for bar in (bar for bar in events(trace, "X") if bar["cat"] == "host"):
        if bar["name"].startswith("iteration "):
            end = bar["ts"] + bar["dur"]
        assert 0 <= bar["ts"] <= bar["ts"] + bar["dur"] <= end + 0.0005  # half of the last digit


# --- vLLM ---------------------------------------------------------------------------------------


def test_vllm_metrics_have_its_names_and_definitions(story):
    found = acceptance(story)
    assert found["metrics"]["speculative_decoding"] == {
        "mean_acceptance_length": 1 + 6 / 3,
        "draft_acceptance_rate": 6 / 10,
        "acceptance_histogram": [1, 0, 1, 0, 1],
        "acceptance_histogram_by_draft_length": {"3": [1, 0, 1, 0], "4": [0, 0, 0, 0, 1]},
        "num_spec_steps": 3,
        "num_accepted_draft_tokens": 6,
        "num_draft_tokens": 10,
        "num_spec_tokens": 4,
        "per_step_accepted": [2, 4, 0],
        "per_step_drafted": [3, 4, 3],
    }
    assert found["usage"] == {"prompt_tokens": 2, "completion_tokens": 10, "total_tokens": 12}
    assert found["choices"][0]["finish_reason"] == "stop"


def test_vllm_metrics_of_a_run_that_proposed_nothing_are_null(story):
    vanilla = replace(story, iterations=story.iterations[3:])
    assert acceptance(vanilla)["metrics"] == {"speculative_decoding": None}


@settings(max_examples=25)
@given(traces())
def test_vllm_metrics_agree_with_each_other(trace):
    found = acceptance(trace)["metrics"]["speculative_decoding"]
    if found is None:
        return
    histogram = found["acceptance_histogram"]
    assert sum(histogram) == found["num_spec_steps"] == len(found["per_step_accepted"])
    assert sum(n * count for n, count in enumerate(histogram)) == found["num_accepted_draft_tokens"]
    assert len(histogram) == found["num_spec_tokens"] + 1
    by_length = found["acceptance_histogram_by_draft_length"]
    assert all(len(counts) == int(length) + 1 for length, counts in by_length.items())
    assert sum(map(sum, by_length.values())) == found["num_spec_steps"]


# --- Spec-Bench ---------------------------------------------------------------------------------


def test_spec_bench_answer(story):
    answer = spec_bench(story, question_id=81, category="coding")
    assert {name: answer[name] for name in ("question_id", "category", "model_id")} == {
        "question_id": 81,
        "category": "coding",
        "model_id": "ouroboros",
    }
    assert answer["choices"] == [
        {
            "index": 0,
            "turns": ["(x):\n#20#21    return#32#60#70<end>"],
            "decoding_steps": [4],
            "new_tokens": [10],
            "wall_time": [0.02],
            "accept_lengths": [3, 5, 1, 1],
        }
    ]


def test_spec_bench_answer_id_tells_runs_apart(story, partial):
    same, other = spec_bench(story), spec_bench(replace(story, iterations=(partial,)))
    assert same["answer_id"] == spec_bench(story)["answer_id"] != other["answer_id"]


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("run.parquet", "parquet"),
        ("run.perfetto.json", "perfetto"),
        ("RUN.TRACE.JSON", "perfetto"),
        ("run.vllm.json", "vllm"),
        ("run.spec-bench.jsonl", "spec-bench"),
        ("run.jsonl", "jsonl"),
    ],
)
def test_suffix_chooses_the_format(name, kind):
    assert format_of(name) == kind


@pytest.mark.parametrize("name", ["run.json", "run", "parquet"])
def test_suffix_that_names_no_format_is_refused(name):
    with pytest.raises(ValueError, match=r"a file name must end in one of .parquet, .perfetto.json"):
        format_of(name)


def test_convert_writes_each_format(story, tmp_path):
    assert convert(story, tmp_path / "a.json", "vllm") == "vllm"
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(json.dumps(acceptance(story)))
    assert convert(story, tmp_path / "b.spec-bench.jsonl") == "spec-bench"
    (line,) = (tmp_path / "b.spec-bench.jsonl").read_text().splitlines()
    assert json.loads(line) == spec_bench(story)
    assert convert(story, tmp_path / "c.trace.json") == "perfetto"
    assert json.loads((tmp_path / "c.trace.json").read_text())["otherData"]["emitted_tokens"] == 10
    assert convert(story, tmp_path / "d.jsonl") == "jsonl"
    assert load_trace(tmp_path / "d.jsonl") == story
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.json",
        "b.spec-bench.jsonl",
        "c.trace.json",
        "d.jsonl",
    ]


def test_convert_refuses_an_unknown_format(story, tmp_path):
    with pytest.raises(ValueError, match=r"the format must be among jsonl, parquet, .* but got 'csv'"):
        convert(story, tmp_path / "run.parquet", "csv")
    assert list(tmp_path.iterdir()) == []


def test_convert_leaves_the_old_file_where_it_fails(story, tmp_path):
    path = tmp_path / "run.vllm.json"
    path.write_text("old")
    broken = replace(story, iterations=(replace(story.iterations[0], emitted=None),))
    with pytest.raises(TypeError):
        convert(broken, path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["run.vllm.json"]


def test_hostile_texts_pass_through_json(story, tmp_path):
    odd = replace(story, method="</script>", texts={10: "\ud800\u2028</script>"})
    for name in ("a.vllm.json", "a.spec-bench.jsonl", "a.trace.json"):
        convert(odd, tmp_path / name)
        assert (tmp_path / name).read_bytes().isascii()
        json.loads((tmp_path / name).read_text())
    assert json.loads((tmp_path / "a.vllm.json").read_text())["choices"][0]["text"].startswith(
        "\ud800\u2028</script>"
    )
