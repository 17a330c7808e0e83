"""A trace as text: one sentence per iteration, and a form that reads well in a terminal.

Who proposed a token is told by a letter before its brackets, and again by colour on request:
draft sky, phrase green, suffix orange, what is copied or retrieved purple, target blue. Nothing from
the trace reaches the terminal without passing `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from phrasekit.trace.metrics import measure
from phrasekit.trace.records import (
    DRAFT,
    GUIDE,
    LETTERS,
    LOOKUP,
    PHRASE,
    REJECTED,
    RETRIEVED,
    SERIAL,
    SUFFIX,
    TARGET,
    Iteration,
    Trace,
)
from phrasekit.trace.rounds import agreed
from phrasekit.trace.summary import counted, summary
from phrasekit.trace.visible import columns, token_text, visible

NARROWEST = 40
PROMPT_SHOWN = 40  # last tokens of the prompt

_MEANINGS = {
    DRAFT: "draft model",
    PHRASE: "pool phrase",
    SUFFIX: "pool phrase behind the draft",
    LOOKUP: "copied from the context",
    RETRIEVED: "retrieved while drafting",
    REJECTED: "retrieved from rejected drafts",
    GUIDE: "retrieved for the target",
    TARGET: "target's own",
}
_COLORS = {
    DRAFT: "38;5;74",
    PHRASE: "38;5;36",
    SUFFIX: "38;5;172",
    LOOKUP: "38;5;175",
    RETRIEVED: "38;5;175",
    REJECTED: "3;38;5;175",
    GUIDE: "4;38;5;175",
    TARGET: "1;38;5;32",
}
_ROUNDS = (
    "the target verifies a tail, and a guide where it retrieved one; the draft model writes on behind the "
    "tail, and what of that still follows the text is the next tail"
)
_RESERVED = "«»¦"

_Piece = tuple[str, str]  # who proposed a token, and its visible text


def sentence(iteration: Iteration, texts: Mapping[int, str] | None = None, *, model: str = TARGET) -> str:
    """Say in one sentence what an iteration did; iterations count from 1.

    Args:
        iteration: of the target decoder, or of a draft decoder.
        texts: with it, the emitted text follows the sentence.
        model: what to call the model that verified.

    Returns:
        For example "Iteration 5: drafted 6 in 2 draft forwards, accepted 4 of 6, +1 from the
        target; 1 target forward over 9 rows." Of a parallel round: "Iteration 5: verified a tail of 3 and a
        guide of 6, accepted 3 + 2 from guide 1, +1 from the target; 1 target forward over 10 rows; drafted 4
        beside it in 3 draft forwards, 1 of them the next tail."
    """
    clauses = (_read(iteration), _proposed(iteration), _accepted(iteration), _closing(iteration, model))
    story = ", ".join(clause for clause in clauses if clause)
    rows = counted(iteration.forward.rows, "row")
    said = f"Iteration {iteration.index + 1}: {story}; 1 {model} forward over {rows}{_beside(iteration)}."
    if iteration.note:
        said += f" Note: {visible(iteration.note, spaces=False, keep=200)}."
    return said if texts is None else f"{said} Text: {_quoted(iteration.emitted, texts)}"


def render(trace: Trace, *, color: bool = False, width: int = 100) -> str:
    """Draw a trace for a terminal.

    Args:
        trace: the run.
        color: add ANSI colours; letters and brackets tell the origins either way.
        width: columns to stay within, at least 40.

    Returns:
        Header, one block per iteration, the numbers.
    """
    width = max(width, NARROWEST)
    lines = [*_header(trace, width), ""]
    for iteration in trace.iterations:
        lines += _block(iteration, trace.texts, color, width)
    lines += [""] * bool(trace.iterations)
    lines += [line for fact in summary(measure(trace)) for line in _wrapped(fact, width)]
    return "\n".join(lines)


def _read(iteration: Iteration) -> str:
    """The first iteration of a decoder reads the prompt too, be it in the same forward or before."""
    return "" if iteration.index else f"read {counted(iteration.position, 'prompt token')}"


def _proposed(iteration: Iteration) -> str:
    """Say what was put before the target, and what it cost."""
    tree, drafted = iteration.tree, iteration.drafted
    if iteration.round.schedule:
        return _put(iteration)
    if drafted and iteration.draft:
        return f"drafted {drafted} in {counted(len(iteration.draft), 'draft forward')}"
    if drafted and all(tree.kinds[node] == LOOKUP for node in tree.trunk):
        return f"looked up {drafted} in the context"
    if drafted:
        return f"drafted {drafted} without a draft forward"
    return f"tried {counted(len(tree.branches), 'guess', 'guesses')}" if tree.branches else "no draft"


def _put(iteration: Iteration) -> str:
    """Say what of a parallel round was there to verify: the tail of the round before, and a guide."""
    guides = sum(len(branch.nodes) for branch in iteration.tree.branches if branch.kind == GUIDE)
    guide = f"a guide of {guides}"
    if iteration.drafted:
        return f"verified a tail of {iteration.drafted}{f' and {guide}' * bool(guides)}"
    return f"no tail, verified {guide}" if guides else "no tail to verify"


def _beside(iteration: Iteration) -> str:
    """Say what the draft model did while the target ran, or after it."""
    beside = iteration.round
    if not beside.drafted:
        return ""
    when = "after" if beside.schedule == SERIAL else "beside"
    forwards = counted(len(iteration.draft), "draft forward")
    return f"; drafted {len(beside.drafted)} {when} it in {forwards}, {_fate(iteration)}"


def _fate(iteration: Iteration) -> str:
    """Say what became of the tokens drafted beside the target's forward."""
    wrote, kept, right = len(iteration.round.drafted), iteration.round.kept, agreed(iteration)
    if kept:
        return f"{kept} of them the next tail"
    if right == wrote:
        return "in the text already" if wrote == 1 else "all in the text already"
    return "thrown away" if not right else f"{right} in the text already, {wrote - right} thrown away"


def _accepted(iteration: Iteration) -> str:
    """Say how far the target agreed, and with which branch."""
    drafted, accepted = iteration.drafted, iteration.accepted
    beyond, name = _branch_taken(iteration)
    if not drafted:
        return f"accepted {beyond} from {name}" if beyond else "accepted none" * bool(iteration.tree.branches)
    if beyond:
        return f"accepted {accepted} + {beyond} from {name}"
    misplaced = iteration.matches - accepted
    later = f" ({misplaced} more right after the first mistake)" if misplaced else ""
    return f"accepted {accepted} of {drafted}{later}"


def _branch_taken(iteration: Iteration) -> tuple[int, str]:
    """How many accepted nodes lie outside the draft, and the branch they belong to."""
    tree = iteration.tree
    beyond = [node for node in iteration.path if node not in tree.trunk]
    for number, branch in enumerate(tree.branches, start=1):
        if beyond and beyond[-1] in branch.nodes:
            behind = tree.trunk and tree.parents[branch.nodes[0]] == tree.trunk[-1]
            name = "guide" if branch.kind == GUIDE else "suffix" if behind else "guess"
            return len(beyond), f"{name} {number}"
    return len(beyond), "the tree"


def _closing(iteration: Iteration, model: str) -> str:
    if len(iteration.emitted) > len(iteration.path):
        return f"+1 from the {model}"
    return f"cut to {counted(len(iteration.emitted), 'token')} by a stop or a limit"


def _quoted(tokens: Sequence[int], texts: Mapping[int, str]) -> str:
    return f"«{''.join(visible(token_text(token, texts), keep=40, reserved=_RESERVED) for token in tokens)}»"


def _header(trace: Trace, width: int) -> Iterator[str]:
    settings = ", ".join(f"{name}={value}" for name, value in trace.settings.items())
    emitted = sum(len(iteration.emitted) for iteration in trace.iterations)
    yield from _wrapped(
        f"{visible(trace.method, spaces=False, keep=40)}: {counted(len(trace.prompt), 'prompt token')}, "
        f"{counted(emitted, 'token')} out, {visible(trace.finish_reason, keep=40) or 'still running'}",
        width,
    )
    if settings:
        yield from _wrapped(f"settings: {visible(settings, spaces=False, keep=400)}", width)
    if trace.prompt:
        shown = _quoted(trace.prompt[-PROMPT_SHOWN:], trace.texts)
        yield from _wrapped(f"prompt: {'…' * (len(trace.prompt) > PROMPT_SHOWN)}{shown}", width)
    seen = {kind for iteration in trace.iterations for kind in (*iteration.kinds, *iteration.tree.kinds)}
    legend = ", ".join(f"{LETTERS[kind]} {meaning}" for kind, meaning in _MEANINGS.items() if kind in seen)
    if legend:
        yield from _wrapped(f"origins: {legend}", width)
    if any(iteration.round.schedule for iteration in trace.iterations):
        yield from _wrapped(f"rounds: {_ROUNDS}", width)


def _block(iteration: Iteration, texts: Mapping[int, str], color: bool, width: int) -> Iterator[str]:
    """One iteration: the sentence, the tokens emitted, the part of the draft refused."""
    tree = iteration.tree
    refused = tree.trunk[iteration.accepted :]
    yield from _wrapped(sentence(iteration), width)
    yield from _strip("  ", zip(iteration.kinds, iteration.emitted, strict=True), texts, color, width)
    lost = ((tree.kinds[node], tree.tokens[node]) for node in refused)
    yield from _strip("  refused ", lost, texts, color, width)


def _strip(
    label: str, tokens: Iterable[tuple[str, int]], texts: Mapping[int, str], color: bool, width: int
) -> Iterator[str]:
    """Lay tokens out in lines, neighbours of one origin in one pair of brackets."""
    keep = width // 2 - len(label)
    pieces = [
        (kind, visible(token_text(token, texts), keep=keep, reserved=_RESERVED)) for kind, token in tokens
    ]
    for line in _lines(pieces, width - len(label)):
        yield label + " ".join(_drawn(run, color) for run in line)
        label = " " * len(label)


def _lines(pieces: Sequence[_Piece], room: int) -> Iterator[list[list[_Piece]]]:
    line: list[list[_Piece]] = []
    left = room
    for kind, text in pieces:
        joins = bool(line) and line[-1][0][0] == kind
        cost = columns(text) + (1 if joins else 3 + bool(line))
        if line and cost > left:
            yield line
            line, left, joins, cost = [], room, False, columns(text) + 3
        if joins:
            line[-1].append((kind, text))
        else:
            line.append([(kind, text)])
        left -= cost
    if line:
        yield line


def _drawn(run: list[_Piece], color: bool) -> str:
    kind = run[0][0]
    drawn = f"{LETTERS.get(kind, '?')}«{'¦'.join(text for _, text in run)}»"
    return f"\x1b[{_COLORS[kind]}m{drawn}\x1b[0m" if color and kind in _COLORS else drawn


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Fold printable text at spaces, and words too long for a line anywhere."""
    line, used = "", 0
    for word in text.split(" "):
        if line and used + 1 + columns(word) > width >= columns(word):
            yield line
            line, used = "", 0
        for character in f" {word}" if line else word:
            if used + columns(character) > width:
                yield line
                line, used = "", 0
            line, used = line + character, used + columns(character)
    if line:
        yield line
