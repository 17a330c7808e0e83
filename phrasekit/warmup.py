"""Filling a datastore with what the target says, round after round (the warm-up of DOUBLE)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from phrasekit.api import Prompt, decoder
from phrasekit.decode.bounds import check_whole
from phrasekit.lm import Pair
from phrasekit.methods import method_of
from phrasekit.propose import Datastore, prompt_mark

ROUNDS = (0, 15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Warmed:
    """A prompt whose text is in the store.

    Attributes:
        round: k, from 1.
        prompt: its place among all prompts, from 0.
        tokens: ids that the target added to it; 0 where the store had seen the prompt before.
        iterations: target forwards that this took.
        held: tokens in the store now.
    """

    round: int
    prompt: int
    tokens: int
    iterations: int
    held: int


def warm_up(
    pair: Pair,
    store: Datastore,
    prompts: Sequence[Prompt],
    *,
    rounds: int = 10,
    method: str = "hybrid",
    cancelled: Callable[[], bool] | None = None,
    **options: Any,
) -> Iterator[Warmed]:
    """Run the target over prompts and add every prompt, with its continuation, to a store.

    The prompts are dealt into `rounds` groups that share none, one group a round. A method that
    retrieves finds in one round what the rounds before left; the text is the target's own in any case.
    The store marks the prompts (`Datastore.saw`), so that nobody measures on them by accident.

    Args:
        pair: models.
        store: filled as the iterator is followed; it may hold something already.
        prompts: texts, token ids or chat messages; one that the store has seen is left out.
        rounds: K; 0 leaves the store as it is.
        method: any that the pair can run.
        cancelled: asked before every iteration; True keeps what was made and ends the warm-up.
        **options: of `phrasekit.decoder`: knobs, max_new_tokens, sampling and so on.

    Yields:
        One record a prompt; leaving the loop ends the warm-up there.

    Raises:
        ValueError: fewer prompts than rounds, or an argument outside its bounds; nothing has run yet.
        TypeError: an argument of the wrong type.
        TokenizerMismatchError: the store holds ids of another tokenizer.
    """
    check_whole("rounds", rounds, *ROUNDS)
    if not isinstance(store, Datastore):
        raise TypeError(f"a warm-up needs a Datastore, which can grow, but got {store!r:.80}")
    if rounds > len(prompts):
        raise ValueError(
            f"every round needs a prompt of its own, but got {len(prompts)} for {rounds} rounds; "
            "give more prompts or take fewer rounds"
        )
    method_of(method, pair)
    if rounds:  # what else is wrong with the arguments shows here, before anything runs
        decoder(pair, prompts[0], method=method, store=store, **options)
    asked = cancelled or (lambda: False)
    return _run(pair, store, prompts, rounds, asked, {"method": method, **options})


def _run(
    pair: Pair,
    store: Datastore,
    prompts: Sequence[Prompt],
    rounds: int,
    cancelled: Callable[[], bool],
    options: dict[str, Any],
) -> Iterator[Warmed]:
    for number in range(rounds):
        for place in range(number, len(prompts), rounds):
            if cancelled():
                return
            decoding = decoder(pair, prompts[place], store=store, **options)
            prompt = decoding.trace.prompt
            if not store.saw(prompt):
                for _ in decoding.follow(cancelled):
                    pass
                store.add([*prompt, *decoding.tokens], source=prompt_mark(prompt))
            yield Warmed(
                round=number + 1,
                prompt=place,
                tokens=len(decoding.tokens),
                iterations=len(decoding.iterations),
                held=len(store),
            )
