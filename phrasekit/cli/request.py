"""What a command was asked to decode with, checked before a model loads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from phrasekit.bench.models import PAIR, Models
from phrasekit.cli.knobs import KNOBS, knob_options
from phrasekit.cli.prompts import Command, Decorator, Prompt
from phrasekit.cli.terminal import working
from phrasekit.trace.records import SERIAL

if TYPE_CHECKING:
    from phrasekit.api import Decoding
    from phrasekit.lm import Pair
    from phrasekit.pool import PhrasePool
    from phrasekit.propose import Store

_MODELS = (
    *PAIR,
    click.option("--smaller", help="A second draft model, for the method cascade."),
    click.option(
        "--attention",
        type=click.Choice(("sdpa", "eager")),
        default="sdpa",
        show_default=True,
        help="Attention implementation.",
    ),
    click.option("--trust-remote-code", is_flag=True, help="Run code that a model repository brings."),
)
RULES = ("match", "rejection")
SCHEDULES = ("serial", "threads", "streams")

# name → type, default, meaning
SETTINGS: Mapping[str, tuple[Any, Any, str]] = {
    "max_new_tokens": (int, 128, "Tokens to generate at most."),
    "min_new_tokens": (int, 0, "No end token before this many tokens."),
    "temperature": (float, 0.0, "0 is greedy."),
    "top_k": (int, 0, "Sample among the k likeliest; 0 keeps all."),
    "top_p": (float, 1.0, "Sample among the likeliest that hold this probability; 1 keeps all."),
    "min_p": (float, 0.0, "Drop tokens less likely than this share of the likeliest; 0 drops none."),
    "repetition_penalty": (float, 1.0, "Over 1 makes tokens already seen less likely; 1 is off."),
    "presence_penalty": (float, 0.0, "Taken off the score of tokens already generated; 0 is off."),
    "seed": (int, 0, "Same seed, same text, whatever the method."),
    "rule": (
        click.Choice(RULES),
        "match",
        "How sampling accepts proposals; rejection is the textbook's.",
    ),
    "schedule": (
        click.Choice(SCHEDULES),
        "serial",
        "When draft and target of a parallel method run; streams need CUDA.",
    ),
    "probabilities": (bool, False, "Record how likely every token was."),
}
_LIMITS = ("max_new_tokens", "stop")
_RUN = ("schedule", "probabilities")  # settings of the run, neither of sampling nor limits
_STORE = click.option(
    "--store", type=click.Path(dir_okay=False), help="Texts to retrieve from, of `phrasekit store build`."
)
_STOP = click.option("--stop", multiple=True, help="String that ends the text; may be repeated.")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Models, knobs and settings as the user gave them.

    Attributes:
        models: what to load.
        changes: the knobs given, by name.
        settings: arguments of `phrasekit.decoder`: limits, sampling, schedule.
        store_file: texts to retrieve from.
    """

    models: Models = field(default_factory=Models)
    changes: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any]
    store_file: str | None = None

    @cached_property
    def store(self) -> Store | None:
        """What the file holds; whether it is the pair's is seen when a run begins."""
        from phrasekit.propose import load_store

        return None if self.store_file is None else load_store(self.store_file, fingerprint=None)

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not what they are by themselves."""
        own = {name: default for name, (_, default, _) in SETTINGS.items()} | {"stop": ()}
        return {name: value for name, value in self.settings.items() if value != own[name]}

    def check(self, methods: Collection[str]) -> None:
        """Refuse what can be refused without a model.

        Raises:
            ValueError: an unknown method, a method without its draft or corpus, a value outside its bounds, a
                device that there is not.
            StoreFormatError: a store that cannot be read.
        """
        with working("Starting"):
            import torch

            from phrasekit.decode import Knobs, Limits, Sampling
            from phrasekit.lm.load import check_device
            from phrasekit.methods import check_methods, named
        check_methods(methods, drafting=self.models.drafting, store=self.store)
        check_device(self.models.device)
        Knobs().but(**self.changes)
        Limits(**{name: value for name, value in self.settings.items() if name in _LIMITS})
        sampling = Sampling(
            **{name: value for name, value in self.settings.items() if name not in (*_LIMITS, *_RUN)}
        )
        schedule, device = self.settings.get("schedule", SERIAL), torch.device(self.models.device)
        for name in methods:
            named(name).check_lanes(sampling, schedule, device)

    def refuse(self, command: str, *unused: str) -> None:
        """Refuse settings that a command has no use for, rather than drop them in silence.

        Raises:
            ValueError: one of them was given.
        """
        for name in unused:
            if name in self.given:
                flag = name.replace("_", "-")
                raise ValueError(f"{command} has no use for --{flag}, but it was given; leave it out")

    def load(self, methods: Collection[str]) -> Pair:
        """Check everything, then load the models."""
        self.check(methods)
        with working(f"Loading {'the models' if self.models.target else 'the embedded pair'}"):
            return self.models.load()

    def decoding(
        self, pair: Pair, method: str, prompt: Prompt, *, pool: PhrasePool | None = None
    ) -> Decoding:
        """A run that waits before its first iteration."""
        from phrasekit.api import decoder
        from phrasekit.methods import tuned

        knobs = tuned(method, pair, self.changes)
        return decoder(pair, prompt, method=method, knobs=knobs, pool=pool, store=self.store, **self.settings)


def request_options(command: Command) -> Command:
    """Options for models, knobs and settings; the command gets them as one `request`."""

    @wraps(command)
    def run(**given: Any) -> Any:
        return command(request=_request(given), **given)

    options: tuple[Decorator, ...] = (*_MODELS, *_setting_options(), _STOP, _STORE, knob_options)
    decorated: Command = run
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def method_option(command: Command) -> Command:
    """The option --method."""
    return click.option(
        "--method", default="ouroboros", show_default=True, help="A name that `phrasekit methods` lists."
    )(command)


def _request(given: dict[str, Any]) -> Request:
    """Take the options of a request out of all that were given."""
    changes = {name: given.pop(name) for name in KNOBS}
    return Request(
        models=Models.take(given),
        changes={name: value for name, value in changes.items() if value is not None},
        settings={name: given.pop(name) for name in (*SETTINGS, "stop")},
        store_file=given.pop("store"),
    )


def _setting_options() -> Iterator[Decorator]:
    for name, (kind, default, meaning) in SETTINGS.items():
        flag = "--" + name.replace("_", "-")
        if kind is bool:
            flag += f"/--no-{flag[2:]}"
        yield click.option(flag, name, type=kind, default=default, show_default=True, help=meaning)
