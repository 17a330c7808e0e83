"""What one visitor can do, and that no other sees it."""

from __future__ import annotations

import gc
import json
from threading import Event
from weakref import ref

import pytest

from dashboard.jobs.hub import PairSpec
from dashboard.jobs.job import Job
from dashboard.jobs.run import LiveRun
from dashboard.jobs.words import state_of
from dashboard.visitor.options import Options
from dashboard.visitor.session import PINS
from phrasekit import demo, generate
from phrasekit.trace import save_trace
from tests.apps.conftest import PROMPT, finish, until


def test_run_writes_the_targets_text(visitor, pair):
    session = visitor()
    assert session.source == "recorded"
    assert session.start()
    finish(session)
    assert session.source == "run"
    assert session.run.tokens == generate(pair, PROMPT, method="vanilla", max_new_tokens=32).tokens


def test_the_proof_is_made_on_request(visitor):
    session = visitor()
    assert not session.prove()
    session.start()
    finish(session)
    assert session.verdict is None
    assert session.prove()
    finish(session)
    assert session.verdict.same
    assert session.verdict.checked == 32
    assert session.baseline is not None
    session.settings.temperature = 0.9
    session.start()
    finish(session)
    assert session.verdict is None, "plain decoding of another text proves nothing"


def test_knobs_move_the_run_and_sampling_waits(visitor):
    session = visitor(pace="8 iterations a second")
    session.start()
    while not session.run.iterations:
        session.tick()
    session.settings.gamma = 9
    session.settings.temperature = 0.5
    session.settings.seed = 4
    assert session.waits == ("temperature", "seed")
    while not session.run.marks:
        session.tick()
    assert session.run.iterations[0].knobs["gamma"] != 9
    assert session.run.plan.temperature == 0.0
    session.cancel()
    finish(session)
    assert session.run.status == "cancelled"


def test_a_method_brings_its_own_knobs(visitor, pair):
    session = visitor()
    session.settings.gamma = 12
    session.settings.method = "hybrid"
    assert session.settings.gamma == pair.defaults["hybrid"]["gamma"]


def test_pins_have_an_end(visitor):
    session = visitor(tokens=2)
    for _ in range(PINS):
        assert session.pin()
        finish(session)
    assert not session.pin()
    assert session.notice == f"At most {PINS} settings can be pinned; remove one first."


def test_an_empty_or_endless_prompt_is_refused(visitor):
    session = visitor(prompt=" \n")
    assert not session.start()
    assert session.notice.startswith("a prompt must hold some words")
    session.settings.prompt = "x" * 8001
    assert not session.start()
    assert session.notice.startswith("a prompt may have at most 8000 characters here, but it has 8001")
    session.settings.prompt = PROMPT
    assert session.start()
    assert session.notice == ""


def test_a_model_that_is_not_offered_is_not_loaded(visitor):
    session = visitor()
    session.settings.target = "../secrets"
    assert session.load() is None
    assert "one that this server offers" in session.notice
    assert session.hub.find(PairSpec(target="../secrets")) is None


# --- traces from a file ------------------------------------------------------------------------


def recorded(name="ouroboros"):
    return (demo.TRACES / f"{name}.jsonl").read_bytes()


def test_a_trace_is_shown_and_left(visitor):
    session = visitor()
    assert session.upload(recorded("speculative"))
    assert session.source == "uploaded"
    assert session.trace == demo.load_recorded("speculative")
    session.leave_upload()
    assert session.source == "recorded"


HOSTILE = {
    "nothing": b"",
    "binary": bytes(range(256)) * 40,
    "html": b"<script>alert(1)</script>",
    "deep": b"[" * 100_000,
    "other JSON": json.dumps({"row": "header", "schema": "other"}).encode(),
    "cut": recorded()[:-400],
    "pickle": b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00cposix\nsystem\n.",
}


@pytest.mark.parametrize("content", list(HOSTILE.values()), ids=list(HOSTILE))
def test_a_hostile_file_gives_one_clear_message(visitor, content):
    session = visitor()
    assert not session.upload(content)
    assert session.source == "recorded"
    assert session.notice.startswith("This file is no trace that can be shown. ")
    assert len(session.notice) < 700
    assert "\n" not in session.notice
    assert "upload.jsonl" not in session.notice
    assert "Traceback" not in session.notice


def test_a_file_too_large_is_not_read(visitor):
    session = visitor()
    session.options = Options(trace_bytes=1 << 20)
    assert not session.upload(b"x" * (3 << 20))
    assert session.notice == "A trace may have at most 1 MB here, but this one has 3.0 MB."


# --- visitors ----------------------------------------------------------------------------------


def test_visitors_share_the_pair_and_nothing_else(visitor):
    one, other = visitor(pool="kept"), visitor(pool="kept", prompt="import os\n")
    one.start()
    other.start()
    finish(one)
    finish(other)
    assert one.place is other.place
    assert one.owner != other.owner
    assert one.run.pool is not other.run.pool
    assert len(one.run.pool) > 0
    assert other.run.prompt != one.run.prompt


class Blocked(Job):
    """Keeps the thread until everybody has come."""

    def __init__(self):
        super().__init__("nobody")
        self.gate = Event()

    def work(self, pair):
        yield self.gate.wait(30)


def test_three_visitors_at_once_write_in_turns(visitor, pair, monkeypatch):
    order, add = [], LiveRun._add

    def noted(run, iteration):
        add(run, iteration)
        order.append(run.number)

    monkeypatch.setattr(LiveRun, "_add", noted)
    prompts = (PROMPT, "import os\n", "class Stack:\n")
    three = [visitor(prompt=prompt, method="vanilla", tokens=24) for prompt in prompts]
    place = three[0].place
    place._clock = lambda: float(len(order))  # every iteration takes a second, however busy this machine is
    place.submit(first := Blocked())
    for one in three:
        assert one.start()
    seen = [state_of(one.run) for one in three]
    assert [word for word, _ in seen] == ["Waiting"] * 3
    assert [more for _, more in seen] == [f"position {at} in the queue" for at in (2, 3, 4)]
    first.gate.set()
    for one in three:
        finish(one)
    assert order == [one.run.number for _ in range(24) for one in three]
    for one, prompt in zip(three, prompts, strict=True):
        assert one.run.tokens == generate(pair, prompt, method="vanilla", max_new_tokens=24).tokens


def test_a_visitor_reads_how_many_others_there_are(visitor):
    one, other = visitor(pace="2 iterations a second"), visitor(pace="2 iterations a second")

    def read():
        one.tick()
        assert one._seen[0][0][-1] == one.run.others, "a change of it is worth a look"
        return state_of(one.run)

    one.start()
    until(lambda: one.run.iterations)
    assert read() == ("Running", "")
    other.start()
    assert read() == ("Running", "taking turns with 1 other")
    other.cancel()
    finish(other)
    assert read() == ("Running", "")
    one.cancel()
    finish(one)


def test_a_pool_is_fresh_kept_or_shared_as_chosen(visitor):
    one = visitor()
    pools = []
    for choice in ("fresh", "fresh", "kept", "kept"):
        one.settings.pool = choice
        one.start()
        finish(one)
        pools.append(one.run.pool)
    assert pools[0] is not pools[1]
    assert pools[2] is pools[3]
    other = visitor()
    one.settings.pool = other.settings.pool = "shared"
    one.start()
    finish(one)
    other.start()
    finish(other)
    assert one.run.pool is other.run.pool is one.place.pool


def test_who_leaves_stops_their_work(visitor):
    session = visitor(pace="2 iterations a second")
    session.start()
    session.close()
    finish(session)
    assert session.run.status == "cancelled"


def test_the_page_rests_when_nothing_goes_on(visitor):
    session = visitor()
    session.tick()
    pulse = session.pulse
    session.tick()
    assert session.pulse == pulse
    assert not session.following
    session.start()
    assert session.following
    finish(session)
    assert not session.following
    assert session.pulse > pulse


def test_memory_stays_flat_over_200_runs(visitor):
    session = visitor(tokens=2, method="vanilla")

    def several(count):
        for _ in range(count):
            session.start()
            finish(session)
        gc.collect()
        return len(gc.get_objects())

    several(10)
    old = ref(session.run)
    before = several(10)
    grown = several(190) - before
    assert old() is None
    assert grown < 500, f"{grown} objects more after 190 runs"


def test_what_is_downloaded_can_be_opened(visitor, tmp_path):
    session = visitor()
    session.start()
    finish(session)
    save_trace(session.trace, tmp_path / "run.jsonl")
    assert session.upload((tmp_path / "run.jsonl").read_bytes())
    assert session.trace == session.run.trace


def test_the_end_of_a_run_is_never_missed(visitor):
    """A job that ends while the session looks at it is seen by the next look."""
    session = visitor()
    session.start()
    look, run = type(session).busy.fget, session.run

    class Late(type(session)):
        @property
        def busy(self):
            going = look(self)
            while run.active:  # it ends right now
                pass
            return going

    session.__class__ = Late
    session.tick()
    assert session.following
    pulse = session.pulse
    session.tick()
    session.tick()
    assert session.pulse >= pulse
    assert not session.following
    assert session._seen[0][0][1] == run.version
