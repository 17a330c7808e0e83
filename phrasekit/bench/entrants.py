"""Who takes part in a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from phrasekit.bench.contender import Contender, OwnMethod
from phrasekit.bench.models import Models
from phrasekit.bench.peers import build_peers, check_peers, installed_peers
from phrasekit.bench.prompts import Task
from phrasekit.bench.standings import PLAIN
from phrasekit.decode import Knobs
from phrasekit.lm import Pair
from phrasekit.lm.load import check_device
from phrasekit.methods import check_methods, named, usual
from phrasekit.parallel import check_schedule
from phrasekit.propose import Store
from phrasekit.trace.records import SERIAL


@dataclass(frozen=True, kw_only=True)
class Entrants:
    """Who takes part.

    Attributes:
        methods: methods of phrasekit; plain decoding always runs. Empty takes all but the ablations.
        peers: names for `build_peers`; None takes all that can run here.
        knobs: changes to the tuned knobs, by method; the key "" holds for all.
        fresh_pool: an empty phrase pool for every prompt.
        inference: run peers inside `torch.inference_mode`, as phrasekit runs its own forwards.
        schedule: when the lanes of a parallel method run.
    """

    methods: Sequence[str] = ()
    peers: Sequence[str] | None = None
    knobs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    fresh_pool: bool = False
    inference: bool = True
    schedule: str = SERIAL

    def check(self, models: Models, store: Store | None = None) -> None:
        """Refuse what can be refused before the models load.

        Raises:
            ValueError: an unknown method, peer or knob, a knob outside its bounds, a method or peer without
                its draft model or corpus, or a device that there is not or that the schedule cannot use.
            ImportError: a peer that is not installed.
        """
        check_methods(self.methods, drafting=models.drafting, store=store)
        check_peers(self.peers or (), drafting=models.drafting)
        for method, changes in self.knobs.items():
            Knobs().but(**changes)
            if method:
                named(method)
        check_device(models.device)
        check_schedule(self.schedule, torch.device(models.device))

    def contenders(self, pair: Pair, *, max_new_tokens: int, store: Store | None = None) -> list[Contender]:
        """Everybody, peers first.

        Args:
            pair: models.
            max_new_tokens: limit.
            store: texts to retrieve from, for the methods that do.

        Raises:
            ValueError: an unknown method, peer or knob, or one that the pair cannot run.
            ImportError: a peer that is not installed.
        """
        peers = installed_peers(pair) if self.peers is None else self.peers
        found = build_peers(pair, peers, max_new_tokens=max_new_tokens, inference=self.inference)
        usually = usual(drafting=pair.draft is not None, store=store)
        for name in dict.fromkeys((PLAIN, *(self.methods or usually))):
            found.append(
                OwnMethod(
                    pair,
                    name,
                    knobs={**self.knobs.get("", {}), **self.knobs.get(name, {})},
                    max_new_tokens=max_new_tokens,
                    fresh_pool=self.fresh_pool,
                    store=store,
                    schedule=self.schedule,
                )
            )
        return found


def check_seen(store: Store | None, tasks: Iterable[Task], *, file: str | None, allowed: bool) -> list[str]:
    """Tasks from whose prompts a store was built: what it holds may be their very answers.

    Args:
        store: texts to retrieve from; without one no task is looked at.
        tasks: what will be measured.
        file: where the store lies.
        allowed: whether to go on all the same.

    Raises:
        ValueError: there are such tasks, and nobody allowed them.
    """
    seen = [] if store is None else [task.id for task in tasks if store.saw(task.ids)]
    if seen and not allowed:
        raise ValueError(
            f"a benchmark must not retrieve its own answers, but {file} was built from {len(seen)} of its "
            f"prompts ({', '.join(seen[:3])}); build it from others, or say --allow-seen"
        )
    return seen
