"""What an iteration did, in sentences; iterations count from 1.

Words are chosen once: kept, first mistake, right but after it, phrase, suffix, forward.
"""

from __future__ import annotations

from phrasekit.trace.records import (
    GUIDE,
    LOOKUP,
    PHRASE,
    REJECTED,
    RETRIEVED,
    SERIAL,
    STREAMS,
    SUFFIX,
    THREADS,
    Iteration,
)
from phrasekit.trace.rounds import agreed
from phrasekit.trace.summary import counted

Sentence = tuple[str, str, str]  # what comes before the point, the point, what comes after it


def sentence(iteration: Iteration) -> Sentence:
    """Say what was proposed, what the target kept of it and why the rest went."""
    start = f"reads the prompt of {counted(iteration.position, 'token')}; " * (iteration.index == 0)
    before, point, after = _verdict(iteration)
    beside = beside_sentence(iteration)
    return f"{start}{_proposed(iteration)}{before}", point, f"{after} {beside}" if beside else after


def beside_sentence(iteration: Iteration) -> str:
    """Say what the draft model did beside the target's forward; "" where it did nothing."""
    beside = iteration.round
    if not beside.drafted:
        return ""
    wrote = len(beside.drafted)
    meanwhile = "Then" if beside.schedule == SERIAL else "Meanwhile"
    behind = " behind those" * bool(iteration.drafted)
    return f"{meanwhile} the draft model wrote {counted(wrote, 'token')}{behind}: {fate_words(iteration)}."


def fate_words(iteration: Iteration) -> str:
    """Say what became of the tokens written beside the target's forward."""
    wrote, kept, fits = len(iteration.round.drafted), iteration.round.kept, agreed(iteration)
    left = wrote - fits
    too = f"the first {'one' if fits == 1 else fits} the target says too"
    if kept:
        # with nothing of them in the text it was cut before its end
        left_over = f"{too}, {kept} {'is' if kept == 1 else 'are'} left to verify"
        return left_over if fits else f"the text ends before {'it' if wrote == 1 else 'them'}"
    if not left:
        return "the target says it too" if wrote == 1 else f"the target says all {wrote} too"
    if fits:
        return f"{too}, but not the next, so the other {left} {'goes' if left == 1 else 'go'}"
    return "it does not follow, so it goes" if wrote == 1 else "they do not follow, so they go"


def schedule_words(schedule: str) -> str:
    """Say when the draft's lane of a round ran."""
    return {
        SERIAL: "after the target's forward, one lane after the other",
        THREADS: "beside the target's forward, on a thread of its own",
        STREAMS: "beside the target's forward, on a CUDA stream of its own",
    }.get(schedule, "")


def verify_sentence(iteration: Iteration) -> str:
    """Say what the target's forward did."""
    rows = counted(iteration.forward.rows, "row")
    said = f"The target reads {rows} in one forward and says its own next token at each"
    if not iteration.tree.tokens:
        return f"The target reads {rows} in one forward and says its next token. Nothing was proposed."
    kept, more = iteration.accepted, beyond(iteration)
    if not iteration.drafted:
        agreed = f"it follows {counted(more, 'token')} of a proposal" if more else "it follows no proposal"
    else:
        agreed = f"it agrees with {kept} of the {counted(iteration.drafted, 'drafted token')} from the front"
        agreed += f", then with {more} more" * bool(more)
    return f"{said}: {agreed}."


def commit_sentence(iteration: Iteration) -> str:
    """Say what joined the text."""
    out, kept = len(iteration.emitted), len(iteration.path)
    joins = f"{counted(out, 'token')} {'joins' if out == 1 else 'join'} the text"
    if out <= kept:
        return f"{joins}; a stop or a limit ends it there."
    source = f"{kept} kept and 1 of the target's own" if kept else "the target's own"
    rest = " The rest of the tree is dropped." if len(iteration.tree.tokens) > kept else ""
    return f"{joins}: {source}.{rest}"


def forward_sentence(inner: Iteration, number: int, total: int) -> str:
    """Say what one forward of the draft model did."""
    tree, fit = inner.tree, len(inner.path)
    guesses = len(tree.branches) + bool(tree.trunk)
    said = f"Draft forward {number} of {total}: "
    wrote = f"{counted(len(inner.emitted), 'token')} from one forward"
    if not guesses:
        return f"{said}nothing to try after this token, so the draft model writes {wrote}."
    phrases = not tree.trunk and all(branch.phrase >= 0 for branch in tree.branches)
    found = {branch.kind for branch in tree.branches} <= {RETRIEVED, REJECTED, GUIDE} and not tree.trunk
    several = (
        counted(guesses, "retrieved text")
        if found
        else counted(guesses, "phrase")
        if phrases
        else counted(guesses, "guess", "guesses")
    )
    tried = f"{several} to try after this token"
    if not fit:
        misfit = "it does not fit" if guesses == 1 else "none fits"
        return f"{said}{tried}, {misfit}; the draft model writes {wrote}."
    fits = "it fits" if guesses == 1 else "one fits"
    return f"{said}{tried}, {fits} {counted(fit, 'token')} and is taken; {wrote}."


def beyond(iteration: Iteration) -> int:
    """Kept tokens that are not the draft's."""
    kept = set(iteration.path[: len(iteration.emitted)])
    return len(kept.difference(iteration.tree.trunk))


def _proposed(iteration: Iteration) -> str:
    """Who proposed what."""
    tree, drafted = iteration.tree, iteration.drafted
    kinds = [tree.kinds[node] for node in tree.trunk]
    if iteration.round.schedule:
        return _put(iteration)
    if drafted and iteration.draft:
        read = f", {kinds.count(PHRASE)} of them read off pool phrases" * (PHRASE in kinds)
        forwards = counted(len(iteration.draft), "forward")
        return f"the draft model wrote {counted(drafted, 'token')} in {forwards}{read}; "
    if drafted:
        how = (
            "copied from earlier text" if all(kind == LOOKUP for kind in kinds) else "drafted without a model"
        )
        return f"{counted(drafted, 'token')} {'was' if drafted == 1 else 'were'} {how}; "
    if tree.branches:
        was = "was" if len(tree.branches) == 1 else "were"
        return f"{_tried(iteration)} {was} tried, without a draft; "
    return "nothing was proposed; "


def _put(iteration: Iteration) -> str:
    """What a parallel round put before the target: the draft of the round before, and what it retrieved."""
    guides = sum(len(branch.nodes) for branch in iteration.tree.branches if branch.kind == GUIDE)
    if not iteration.drafted:
        found = f"{counted(guides, 'token')} {'was' if guides == 1 else 'were'} retrieved for the target; "
        if guides:
            return found
        return "nothing was drafted yet; " if iteration.index == 0 else "no draft was left to verify; "
    was = "was" if iteration.drafted == 1 else "were"
    behind = f", and {guides} retrieved behind them" * bool(guides)
    return f"{counted(iteration.drafted, 'token')} {was} drafted in the iteration before{behind}; "


def _tried(iteration: Iteration) -> str:
    kinds = {branch.kind for branch in iteration.tree.branches}
    count = len(iteration.tree.branches)
    if kinds == {LOOKUP}:
        return counted(count, "copy", "copies")
    if kinds <= {RETRIEVED, REJECTED, GUIDE}:
        return counted(count, "retrieved text")
    return counted(count, "pool phrase") if kinds <= {PHRASE, SUFFIX} else counted(count, "guess", "guesses")


def _verdict(iteration: Iteration) -> Sentence:
    """What the target made of it."""
    out, more = len(iteration.emitted), beyond(iteration)
    if out <= len(iteration.path):
        ends = f"the target agreed with {counted(len(iteration.path), 'token')}, and "
        return ends, f"the text ends after {out} of them", ", by a stop or a limit."
    point = f"{counted(out, 'token')} for one target forward."
    if not iteration.drafted:
        kept = f"kept {counted(more, 'token')} of one and added 1 of its own" if more else ""
        lost = "kept none and wrote 1 of its own" if iteration.tree.branches else "wrote 1 token of its own"
        return f"the target {kept or lost}: ", point, ""
    if iteration.accepted == iteration.drafted:
        then = f", kept {more} more from a {_taken(iteration)}" if more else ""
        whole = f"all {iteration.drafted}" if iteration.drafted > 1 else "it"
        return f"the target kept {whole}{then} and added 1 of its own: ", point, ""
    if more:
        left = f"left it after {iteration.accepted}" if iteration.accepted else "left it at once"
        return f"the target {left}, kept {more} of a {_taken(iteration)} and added 1 of its own: ", point, ""
    return _mistake(iteration)


def _mistake(iteration: Iteration) -> Sentence:
    """The draft broke, and nothing beside it helped."""
    kept = iteration.accepted
    count = "the first one" if kept == 1 else f"the first {kept}"
    first = "the very first one" if iteration.drafted > 1 else "it"
    said = f"the target kept {count} and corrected the next" if kept else f"the target corrected {first}"
    late = iteration.matches - kept
    if not late:
        rest = "; nothing after the mistake was right" if iteration.drafted > kept + 1 else ""
        return f"{said}{rest}: ", f"{counted(kept + 1, 'token')} for one target forward.", ""
    born = sum(phrase.source == "discarded" for phrase in iteration.pool.inserted)
    became = f", and became {counted(born, 'phrase')}" * bool(born)
    verb = "was" if late == 1 else "were"
    return (
        f"{said}; ",
        f"{late} of the rejected tokens {verb} right but after the first mistake",
        f"{became}.",
    )


def _taken(iteration: Iteration) -> str:
    """What the last kept token came from."""
    kind = iteration.tree.kinds[iteration.path[-1]]
    names = {
        LOOKUP: "copy",
        SUFFIX: "pool suffix",
        PHRASE: "pool phrase",
        GUIDE: "guide",
        RETRIEVED: "retrieved text",
        REJECTED: "retrieved text",
    }
    return names.get(kind, "branch")
