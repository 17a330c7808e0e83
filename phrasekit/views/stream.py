"""The text a run wrote, token by token: who proposed each, what the target said, which iteration it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phrasekit.trace.export.chain import chain
from phrasekit.trace.records import DRAFT, KINDS, TARGET, Iteration, Trace
from phrasekit.trace.summary import counted
from phrasekit.trace.visible import visible
from phrasekit.views.html import Html, chips, lead
from phrasekit.views.link import opens, run_key
from phrasekit.views.table import Table
from phrasekit.views.theme import ROLES
from phrasekit.views.tokens import ORIGINS, Token, emitted_tokens, likelihood, node_token, quoted, strip
from phrasekit.views.view import View

MOST = 2000  # chips in one picture
PROMPT_SHOWN = 24  # last tokens of the prompt
ORIGIN, GAIN, PROBABILITY = "origin", "gain", "probability"
SHADES = {
    ORIGIN: "who proposed it",
    GAIN: "tokens per target forward",
    PROBABILITY: "probability",
}  # what colours the text
NOT_RECORDED = "This trace holds no probabilities; record it with probabilities=True (--probabilities)."


@dataclass(frozen=True, slots=True)
class Chunk:
    """One iteration's part of the text.

    Attributes:
        iteration: 0-based number.
        emitted: tokens that entered the text.
        refused: the rest of the proposed sequence, which did not.
    """

    iteration: int
    emitted: tuple[Token, ...]
    refused: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The text of a run in chunks.

    Attributes:
        method: name of the recipe.
        prompt: texts of the last prompt tokens.
        chunks: one per iteration shown.
        left_out: iterations not shown, before and after.
        origins: emitted tokens by who proposed them, over the whole run.
        refused: tokens of proposed sequences that did not enter the text, over the whole run.
        forwards: target forwards of the whole run.
        prompt_cut: whether the prompt is longer than shown.
        key: of the run, for links to its stepper; "" for none.
        likely: whether the trace tells how likely its tokens were.
    """

    method: str
    prompt: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    left_out: tuple[int, int]
    origins: Mapping[str, int]
    refused: int
    forwards: int
    prompt_cut: bool = False
    key: str = ""
    likely: bool = False

    @property
    def sentence(self) -> str:
        """What there is to see, in one sentence."""
        emitted = sum(self.origins.values())
        if not emitted:
            return f"{visible(self.method, spaces=False, keep=40)} wrote nothing yet."
        parts = [f"{self.origins[kind]} {_BY[kind]}" for kind in KINDS if self.origins.get(kind)]
        return (
            f"{visible(self.method, spaces=False, keep=40)} wrote {counted(emitted, 'token')} in "
            f"{counted(self.forwards, 'target forward')}: {', '.join(parts)}; "
            f"{counted(self.refused, 'proposed token')} did not enter the text."
        )

    def table(self) -> Table:
        """A row per token, those that did not enter the text among them."""
        rows = [
            (
                chunk.iteration + 1,
                token.position,
                token.text,
                token.id,
                token.kind,
                token.verdict,
                token.probability,
                None if token.phrase < 0 else token.phrase,
            )
            for chunk in self.chunks
            for token in (*chunk.emitted, *chunk.refused)
        ]
        names = ("iteration", "position", "token", "id", "origin", "verdict", "probability", "phrase")
        return Table(names, tuple(rows))

    def text(self) -> str:
        """A line per iteration, with the probabilities of its tokens where they were recorded."""
        told = [self.sentence, f"prompt {'…' * self.prompt_cut}{quoted(self.prompt)}"]
        if self.likely:
            told.append("p: what the target itself gave each token, before temperature")
        for chunk in self.chunks:
            refused = f"   not taken: {strip(chunk.refused)}" if chunk.refused else ""
            told.append(f"{chunk.iteration + 1:>4}  {strip(chunk.emitted)}{_odds(chunk)}{refused}")
        return "\n".join((*told, *_left_out(self)))


_BY = {
    "draft": "by the draft model",
    "phrase": "off pool phrases while drafting",
    "suffix": "off pool suffixes",
    "lookup": "copied from the context",
    "retrieved": "retrieved while drafting",
    "rejected": "retrieved from rejected drafts",
    "guide": "retrieved for the target",
    "window": "by the window",
    "target": "by the target itself",
}


def stream_info(trace: Trace, *, first: int = 1, refused: bool = True, most: int = MOST) -> StreamInfo:
    """Gather the text of a run.

    Args:
        trace: the run.
        first: iteration to begin with; they count from 1.
        refused: also what was proposed and did not enter the text.
        most: stop after this many tokens.

    Raises:
        ValueError: `first` is below 1, or `most` is negative.
    """
    if first < 1 or most < 0:
        raise ValueError(f"first must be 1 or more and most 0 or more, but got {first} and {most}")
    start = first - 1
    every = [_chunk(iteration, trace.texts) for iteration in trace.iterations]
    chunks = list(_within(every[start:], most, refused))
    return StreamInfo(
        method=trace.method,
        prompt=tuple(trace.texts.get(token, f"#{token}") for token in trace.prompt[-PROMPT_SHOWN:]),
        chunks=tuple(chunks),
        left_out=(min(start, len(every)), max(0, len(every) - start - len(chunks))),
        origins=dict(Counter(token.kind for chunk in every for token in chunk.emitted)),
        refused=sum(len(chunk.refused) for chunk in every),
        forwards=len(every),
        prompt_cut=len(trace.prompt) > PROMPT_SHOWN,
        key=run_key(trace),
        likely=any(iteration.logprobs for iteration in trace.iterations),
    )


def draw_stream(info: StreamInfo, theme: str = "auto", *, shade: str = "") -> Html:  # noqa: ARG001  (its style follows)
    """Chips with a bracket and a number per iteration; boxes switch origins off.

    Args:
        info: to draw.
        theme: what a view's painter is given.
        shade: what colours the text, one of `SHADES`; "" lets the reader choose.

    Raises:
        ValueError: an unknown shade.
    """
    if shade and shade not in SHADES:
        raise ValueError(f"shade must be one of {', '.join(SHADES)}, but got {shade!r}")
    most = max((len(chunk.emitted) for chunk in info.chunks), default=1)
    body = "".join(_drawn(chunk, info.key, most) for chunk in info.chunks)
    prompt = f"{'…' * info.prompt_cut}{''.join(info.prompt)}"
    notes = "".join(f'<p class="pk-note">{line}</p>' for line in _left_out(info))
    return Html(
        f"{lead(info.sentence)}{_legend(info)}{_choice(info, shade)}"
        f'<p class="pk-note">after the prompt {visible(prompt, keep=120).translate(_SAFE)}</p>'
        f'<div class="pk-text">{body}</div>{notes}'
    )


def stream_view(trace: Trace, *, first: int = 1, refused: bool = True) -> View:
    """The text a run wrote, by origin and verdict; see `stream_info`."""
    return View(stream_info(trace, first=first, refused=refused), draw_stream)


_SAFE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def _chunk(iteration: Iteration, texts: Mapping[int, str]) -> Chunk:
    lost = chain(iteration)[len(iteration.path) :]
    return Chunk(
        iteration.index,
        emitted_tokens(iteration, texts),
        tuple(node_token(iteration, node, texts) for node in lost),
    )


def _within(chunks: list[Chunk], most: int, refused: bool) -> Iterator[Chunk]:
    room = most
    for chunk in chunks:
        kept = chunk if refused else Chunk(chunk.iteration, chunk.emitted, ())
        room -= len(kept.emitted) + len(kept.refused)
        if room < 0:
            return
        yield kept


def _left_out(info: StreamInfo) -> Iterator[str]:
    before, after = info.left_out
    if before:
        yield f"{counted(before, 'iteration')} before these not shown"
    if after:
        yield f"{counted(after, 'iteration')} more not shown: pass first={before + len(info.chunks) + 1}"


def _odds(chunk: Chunk) -> str:
    known = [token.probability for token in chunk.emitted if token.probability is not None]
    return f"   p {' '.join(map(likelihood, known))}" if known else ""


def _drawn(chunk: Chunk, key: str, most: int) -> str:
    number = f'<span class="pk-no">{opens(key, chunk.iteration, str(chunk.iteration + 1))}</span>'
    lost = f'<span class="pk-refused">{chips(chunk.refused)}</span>' if chunk.refused else ""
    gain = f' style="--gain:{100 * len(chunk.emitted) // max(1, most)}%"'
    return f'<span class="pk-it"{gain}>{number}{chips(chunk.emitted, breaks=True)}{lost}</span><wbr>'


def _legend(info: StreamInfo) -> str:
    """Real chips as swatches; a box switches an origin off, without a script."""
    entries = []
    for kind, count in sorted(info.origins.items(), key=lambda entry: KINDS.index(entry[0])):
        role = ROLES[kind]
        verdict = "own" if kind == TARGET else "kept" if kind == DRAFT else "kept pk-first"
        entries.append(
            f'<label><input type="checkbox" checked class="pk-f-{role}">'
            f'<span class="pk-t {role} {verdict}">a</span>{ORIGINS[kind]} <b>{count}</b></label>'
        )
    if any(chunk.refused for chunk in info.chunks):
        for verdict, words in (
            ("mistake", "first mistake"),
            ("late", "right, but after it"),
            ("off", "wrong after it"),
        ):
            entries.append(f'<span><span class="pk-t draft {verdict}">a</span> {words}</span>')
    return f'<div class="pk-legend">{"".join(entries)}</div>'


def _choice(info: StreamInfo, shade: str) -> str:
    """What colours the text, chosen without a script, and the scale of probabilities."""
    options = "".join(
        f'<option class="pk-f-{name}"{" selected" * (name == (shade or ORIGIN))}>{words}</option>'
        for name, words in SHADES.items()
    )
    hidden = ' style="display:none"' * bool(shade)  # still there for the style sheet to see
    scale = scale_of_probability() if info.likely else NOT_RECORDED
    return (
        f'<div class="pk-legend"><label{hidden}>colour by <select>{options}</select></label>'
        f'<span class="pk-scale">{scale}</span></div>'
    )


def scale_of_probability() -> str:
    """Swatches from certain to impossible."""
    steps = "".join(
        f'<span class="pk-t" style="--p:{step}%">{step / 100:g}</span>' for step in (100, 75, 50, 25, 0)
    )
    return f"p, by the target itself {steps}"
