"""Every method by name: the one loop with other proposers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from phrasekit.decode import Decoder, Knobs, Limits, Picker, Proposer, Sampling
from phrasekit.decode.decoder import Watcher
from phrasekit.lm import LanguageModel, Pair
from phrasekit.parallel import Drafter, ParallelDecoder, Tail, check_schedule, schedule_of
from phrasekit.pool import PhrasePool, PoolJournal
from phrasekit.propose import (
    Corpus,
    Datastore,
    Guide,
    Harvest,
    Hybrid,
    Lengthen,
    LookaheadWindow,
    ModelProposer,
    PoolGuesses,
    PromptLookup,
    Rest,
    Retrieve,
    Retriever,
    Store,
)
from phrasekit.trace.records import SERIAL

REJECTED_TOKENS = 8192  # of drafts thrown away in one run that can still be retrieved


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a recipe is made from: models, prompt, and what all levels share.

    Attributes:
        pair: the models.
        prompt: token ids.
        pickers: the target's, its draft's and so on; the last one goes on below.
        limits: where the text ends.
        knobs: of the first iteration.
        pool: phrases.
        store: texts to retrieve from; read, never changed.
        schedule: when the lanes of a parallel method run.
        rejected: drafts that were thrown away in this run.
        started: origin of the trace's times.
        probabilities: records of the target say how likely every emitted token was.
    """

    pair: Pair
    prompt: Sequence[int]
    pickers: Sequence[Picker]
    limits: Limits
    knobs: Knobs
    pool: PhrasePool
    store: Store | None = None
    schedule: str = SERIAL
    rejected: Datastore = field(default_factory=lambda: Datastore(capacity=REJECTED_TOKENS))
    started: float = field(default_factory=perf_counter)
    probabilities: bool = False

    def decoder(
        self,
        model: LanguageModel,
        *proposers: Proposer,
        level: int = 1,
        journal: PoolJournal | None = None,
        text: Watcher | None = None,
    ) -> Decoder:
        """A decoder of `model` with these proposers; level 0 is the target, 1 drafts for it, and so on."""
        picker = self.pickers[min(level, len(self.pickers) - 1)]
        # a picker that is a proposer too wants to see which of its picks were emitted
        watching = (picker,) if isinstance(picker, Proposer) else ()
        return Decoder(
            model,
            self.prompt,
            proposers=(*proposers, *watching),
            picker=picker,
            limits=self.limits,
            knobs=self.knobs,
            journal=journal,
            text=text,
            started=self.started,
            probabilities=self.probabilities and level == 0,
        )

    def drafter(self, *proposers: Proposer) -> Drafter:
        """A draft's lane of its own, with these proposers for its draft model."""
        return Drafter(self.decoder(_draft(self), *proposers), started=self.started)

    def retriever(self) -> Retriever:
        """A query for one side; both sides share the store and what was thrown away."""
        return Retriever(self.store, self.rejected)

    def window(self, journal: PoolJournal) -> LookaheadWindow:
        """A lookahead window that leaves special tokens out."""
        special = frozenset(getattr(self.pair.tokenizer, "all_special_ids", ())) | self.pair.eos
        return LookaheadWindow(journal, special=special)


Recipe = Callable[[Parts, PoolJournal], tuple[Proposer, ...]]
Beside = Callable[[Parts], Drafter]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A named recipe.

    Attributes:
        name: what users type.
        summary: one line for tables.
        recipe: makes the target's proposers.
        reads: knobs that change what it does, those it fixes left out.
        knobs: defaults where a pair has none of its own.
        forced: knobs this method fixes whatever is asked.
        drafts: whether it needs a draft model.
        history: whether a pool given by the caller is used.
        beside: makes the draft's lane of a parallel method, whose recipe makes what else the target
            proposes; None for a method that drafts and verifies in turn.
        retrieves: whether a lane of a parallel method looks for text, also among drafts thrown away.
        corpus: whether it needs a store, a `Corpus`.
    """

    name: str
    summary: str
    recipe: Recipe
    reads: tuple[str, ...] = ()
    knobs: Knobs = field(default_factory=Knobs)
    forced: Mapping[str, Any] = field(default_factory=dict)
    drafts: bool = False
    history: bool = True
    beside: Beside | None = None
    retrieves: bool = False
    corpus: bool = False

    def build(self, parts: Parts, *, text: Watcher | None = None) -> Decoder | ParallelDecoder:
        """The target's decoder with this method's proposers, or the lanes of a parallel method."""
        journal = PoolJournal(parts.pool)
        target, proposers = parts.pair.target, self.recipe(parts, journal)
        if self.beside is None:
            return parts.decoder(target, *proposers, level=0, journal=journal, text=text)
        tail = Tail()
        return ParallelDecoder(
            parts.decoder(target, tail, *proposers, level=0, journal=journal, text=text),
            self.beside(parts),
            tail,
            schedule=schedule_of(parts.schedule, target=target.device, draft=_draft(parts).device),
            rejected=parts.rejected if self.retrieves else None,
        )

    def check_lanes(self, sampling: Sampling, schedule: str, *devices: torch.device) -> None:
        """Refuse what the lanes of a parallel method cannot do; other methods have none.

        Raises:
            ValueError: an unknown schedule, or a schedule or rule that this method cannot run by.
        """
        check_schedule(schedule, *(devices if self.beside else ()))
        if self.beside and not sampling.greedy and sampling.rule != "match":
            raise ValueError(
                f"method {self.name!r} judges by the rule 'match', but rule={sampling.rule!r} was given; "
                "take method 'speculative' for the rejection rule"
            )

    def settle(self, knobs: Knobs) -> Knobs:
        """The knobs with this method's fixed ones in place."""
        return knobs.but(**self.forced)


def _vanilla(_: Parts, __: PoolJournal) -> tuple[Proposer, ...]:
    return ()


def _speculative(parts: Parts, _: PoolJournal) -> tuple[Proposer, ...]:
    return (ModelProposer(parts.decoder(_draft(parts))),)


def _prompt_lookup(_: Parts, __: PoolJournal) -> tuple[Proposer, ...]:
    return (PromptLookup(),)


def _lookahead(parts: Parts, journal: PoolJournal) -> tuple[Proposer, ...]:
    return (PoolGuesses(journal), parts.window(journal), Harvest(journal))


def _cascade(parts: Parts, _: PoolJournal) -> tuple[Proposer, ...]:
    smaller = parts.pair.smaller
    inner = ModelProposer(parts.decoder(smaller, level=2)) if smaller else PromptLookup()
    return (ModelProposer(parts.decoder(_draft(parts), inner)),)


def _ouroboros(parts: Parts, journal: PoolJournal) -> tuple[Proposer, ...]:
    return (_phrase_drafting(parts), Lengthen(journal), Harvest(journal))


def _hybrid(parts: Parts, journal: PoolJournal) -> tuple[Proposer, ...]:
    model = _phrase_drafting(parts) if parts.pair.draft else None
    hybrid = Hybrid(model, PromptLookup(), Lengthen(journal), parts.pool.ledger)
    return (hybrid, Harvest(journal))


def _rest(parts: Parts, _: PoolJournal) -> tuple[Proposer, ...]:
    return (Rest(corpus_for("rest", parts.store)),)


def corpus_for(method: str, store: Store | None) -> Corpus:
    """The corpus that a method needs.

    Raises:
        ValueError: there is no store, or it is no corpus.
    """
    if isinstance(store, Corpus):
        return store
    given = "no store" if store is None else "a Datastore, of which Corpus.freeze makes one"
    raise ValueError(
        f"method {method!r} needs a corpus to retrieve from, but got {given}; build one with "
        "`phrasekit store build --kind corpus` and give it as the store"
    )


def _double(parts: Parts, _: PoolJournal) -> tuple[Proposer, ...]:
    return (Guide(parts.retriever()),)


def _double_ouroboros(parts: Parts, journal: PoolJournal) -> tuple[Proposer, ...]:
    return (Guide(parts.retriever()), Harvest(journal))


def _retrieving(parts: Parts) -> Drafter:
    return parts.drafter(Retrieve(parts.retriever()))


def _phrase_drafting(parts: Parts) -> ModelProposer:
    return ModelProposer(_phrase_decoder(parts))


def _phrase_decoder(parts: Parts) -> Decoder:
    """The draft model, itself sped up by pool phrases and a lookahead window."""
    inner = PoolJournal(parts.pool)
    return parts.decoder(_draft(parts), PoolGuesses(inner), parts.window(inner), journal=inner)


def _draft(parts: Parts) -> LanguageModel:
    draft = parts.pair.draft
    if draft is None:  # `method_of` has checked; this is for direct users of a recipe
        raise ValueError("this method needs a draft model, but the pair has none; load_pair(target, draft)")
    return draft


_WITHOUT: Mapping[str, tuple[str, Mapping[str, Any], bool]] = {
    "phrase-drafting": ("drafts token by token", {"window": 0, "guesses": 0}, True),
    "lengthening": ("no pool phrases behind the draft", {"suffixes": 0}, True),
    "discarded": ("no harvest from the discarded tail", {"harvest_discarded": False}, True),
    "repair": ("no harvest from unused suffixes", {"repair": "off"}, True),
    "committed": ("no harvest from the committed text", {"harvest_committed": False}, True),
    "history": ("an empty pool for every prompt", {}, False),
}

_DOUBLE_WITHOUT: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "retrieval": ("the draft model drafts token by token", {"retrieve": False}),
    "guide": ("the target retrieves nothing", {"guide": False}),
    "rejected": ("drafts thrown away are forgotten", {"reuse_rejected": False}),
}

# What the parts of a recipe look at.
_DRAFTING = ("gamma", "cut_to_gamma")
_COPYING = ("lookup", "lookup_ngram")
_GUESSING = ("window", "level", "guesses")
_HARVESTING = ("harvest_discarded", "repair", "harvest_committed")
_OUROBOROS = (*_DRAFTING, *_GUESSING, "beta", "suffixes", *_HARVESTING)
_GUIDED = ("gamma", "lookup_ngram", "depth", "guide", "reuse_rejected")
_DOUBLE = (*_GUIDED, "retrieve")


def _but(reads: tuple[str, ...], forced: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in reads if name not in forced)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(name="vanilla", summary="plain decoding, one token a forward", recipe=_vanilla),
        Method(
            name="speculative",
            summary="the draft model proposes γ tokens",
            recipe=_speculative,
            reads=_DRAFTING,
            drafts=True,
        ),
        Method(
            name="prompt_lookup",
            summary="copies what followed the same words before",
            recipe=_prompt_lookup,
            reads=_COPYING,
        ),
        Method(
            name="lookahead",
            summary="window and pool phrases on the target itself",
            recipe=_lookahead,
            reads=(*_GUESSING, *_HARVESTING),
            knobs=Knobs(window=8, level=5, guesses=8),
        ),
        Method(
            name="cascade",
            summary="a smaller draft, or a lookup, drafts for the draft model",
            recipe=_cascade,
            reads=(*_DRAFTING, *_COPYING),
            knobs=Knobs(lookup=4),
            drafts=True,
        ),
        Method(
            name="ouroboros",
            summary="phrases speed up the draft, lengthen it, and are harvested from verdicts",
            recipe=_ouroboros,
            reads=_OUROBOROS,
            drafts=True,
        ),
        Method(
            name="hybrid",
            summary="draft, pool phrases and copies in one tree, each only where it pays",
            recipe=_hybrid,
            reads=(*_OUROBOROS, *_COPYING),
            knobs=Knobs(lookup_ngram=5),
        ),
        Method(
            name="rest",
            summary="what followed the same words in a corpus, as a tree",
            recipe=_rest,
            reads=("depth",),
            corpus=True,
        ),
        Method(
            name="pearl",
            summary="draft and target at the same time, token by token",
            recipe=_vanilla,
            reads=("gamma",),
            beside=Parts.drafter,
            drafts=True,
        ),
        Method(
            name="double",
            summary="draft and target at the same time, both retrieving",
            recipe=_double,
            reads=_DOUBLE,
            beside=_retrieving,
            retrieves=True,
            drafts=True,
        ),
        Method(
            name="double-ouroboros",
            summary="double with a draft sped up by pool phrases instead of retrieval",
            recipe=_double_ouroboros,
            reads=(*_GUIDED, *_GUESSING, *_HARVESTING),
            beside=lambda parts: Drafter(_phrase_decoder(parts), started=parts.started),
            retrieves=True,
            drafts=True,
        ),
        *(
            Method(
                name=f"double-no-{what}",
                summary=f"double: {summary}",
                recipe=_double,
                reads=_but(_DOUBLE, forced),
                beside=_retrieving,
                retrieves=True,
                forced=forced,
                drafts=True,
            )
            for what, (summary, forced) in _DOUBLE_WITHOUT.items()
        ),
        *(
            Method(
                name=f"ouroboros-no-{what}",
                summary=f"ouroboros: {summary}",
                recipe=_ouroboros,
                reads=_but(_OUROBOROS, forced),
                forced=forced,
                drafts=True,
                history=history,
            )
            for what, (summary, forced, history) in _WITHOUT.items()
        ),
    )
}


def named(name: str) -> Method:
    """The method of this name.

    Raises:
        ValueError: an unknown name.
    """
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, but got {name!r}")
    return METHODS[name]


def method_of(name: str, pair: Pair) -> Method:
    """The method of this name, checked against the pair.

    Raises:
        ValueError: an unknown name, or a method that needs a draft model the pair lacks.
    """
    return _with_draft(named(name), drafting=pair.draft is not None)


def check_methods(names: Iterable[str], *, drafting: bool, store: Store | None = None) -> None:
    """Refuse, before a model loads, methods that could not run.

    Args:
        names: of methods.
        drafting: whether there will be a draft model.
        store: texts to retrieve from.

    Raises:
        ValueError: an unknown name, or a method without its draft model or its corpus.
    """
    for name in names:
        if _with_draft(named(name), drafting=drafting).corpus:
            corpus_for(name, store)


def _with_draft(method: Method, *, drafting: bool) -> Method:
    if method.drafts and not drafting:
        raise ValueError(
            f"method {method.name!r} needs a draft model, but only a target was given; name one with --draft "
            "or load_pair(target, draft), or take prompt_lookup or lookahead"
        )
    return method


def runnable(pair: Pair | None, store: Store | None = None) -> tuple[str, ...]:
    """Names of the methods that need nothing but pair and store; None is a pair with a draft model."""
    return _fitting(drafting=pair is None or pair.draft is not None, store=store)


def usual(*, drafting: bool, store: Store | None = None) -> tuple[str, ...]:
    """Names of the methods that can run, without the ablations.

    Args:
        drafting: whether there will be a draft model.
        store: texts to retrieve from.
    """
    return tuple(name for name in _fitting(drafting=drafting, store=store) if "-no-" not in name)


def _fitting(*, drafting: bool, store: Store | None) -> tuple[str, ...]:
    corpus = isinstance(store, Corpus)
    return tuple(
        name
        for name, method in METHODS.items()
        if (drafting or not method.drafts) and (corpus or not method.corpus)
    )


def tuned(name: str, pair: Pair, changes: Mapping[str, Any]) -> Knobs:
    """The knobs that a method has on this pair where nobody gives any, with some changed.

    Raises:
        ValueError: see `method_of`, an unknown knob, or a value outside its bounds.
    """
    method = method_of(name, pair)
    return method.settle(knobs_of(method, pair, None).but(**changes))


def knobs_of(method: Method, pair: Pair, knobs: Knobs | None) -> Knobs:
    """The knobs given, or else the pair's tuned ones, or else the method's own defaults."""
    if knobs is None:
        tuned = pair.defaults.get(method.name) or pair.defaults.get(method.name.split("-")[0]) or {}
        knobs = method.knobs.but(**tuned)
    elif not isinstance(knobs, Knobs):
        raise TypeError(f"knobs must be a Knobs record, but got {knobs!r}; write Knobs(gamma=5)")
    return method.settle(knobs)
