"""What a prompt brings into the pool before anything is decoded."""

import pytest

from phrasekit.decode import Knobs
from phrasekit.pool import PhrasePool, PoolJournal
from phrasekit.propose import Harvest
from phrasekit.propose.harvest import PROMPT_PHRASES


@pytest.mark.parametrize("size", [0, 3, 4, 100, PROMPT_PHRASES, PROMPT_PHRASES + 3, 4 * PROMPT_PHRASES])
def test_the_last_ngrams_of_a_prompt_are_phrases(size: int) -> None:
    pool, prompt = PhrasePool(), list(range(size))
    Harvest(PoolJournal(pool)).start(prompt, Knobs(level=4))
    due = [tuple(prompt[end - 4 : end]) for end in range(4, size + 1)][-PROMPT_PHRASES:]
    assert [phrase.tokens for phrase in pool] == due


def test_without_the_knob_a_prompt_brings_nothing() -> None:
    pool = PhrasePool()
    Harvest(PoolJournal(pool)).start(range(50), Knobs(harvest_committed=False))
    assert len(pool) == 0
