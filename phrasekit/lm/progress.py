"""How far loading has come, for whoever watches: transformers' bars tell it and are not drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

from tqdm import tqdm
from transformers.utils.logging import set_tqdm_hook

TOKENIZER, WAIT, DOWNLOAD, WEIGHTS, PROBE = "tokenizer", "wait", "download", "weights", "probe"


@dataclass(frozen=True, slots=True)
class Loading:
    """A step of loading, as far as it has come.

    Attributes:
        name: of the model.
        step: "tokenizer", "wait" (for another model, that is loaded first), "download", "weights" or "probe".
        done: bytes of a download, tensors of the weights; a step that cannot be counted has 0 of 0.
        total: what `done` ends at.
    """

    name: str
    step: str
    done: int = 0
    total: int = 0


Told: TypeAlias = Callable[[Loading], None]
# Of the thread that loads: the hook of transformers is the whole process's.
_watcher: ContextVar[Told | None] = ContextVar("_watcher", default=None)
_bar: ContextVar[type[Any] | None] = ContextVar("_bar", default=None)


@contextmanager
def watched(told: Told) -> Iterator[None]:
    """Within, `load_pair` and `load_model` tell every step, mostly in the thread that calls them."""
    before = _watcher.set(told)
    try:
        yield
    finally:
        _watcher.reset(before)


def tell(name: str, step: str) -> None:
    """A step begins."""
    told = _watcher.get()
    if told is not None:
        told(Loading(name, step))


@contextmanager
def counted(name: str) -> Iterator[dict[str, Any]]:
    """Within, transformers counts the weights of a model for whoever watches.

    Yields:
        Arguments of `from_pretrained` by which the hub counts a download too.
    """
    told = _watcher.get()
    if told is None:
        yield {}
        return
    before, hook = _bar.set(_bar_of(name, WEIGHTS, told)), set_tqdm_hook(_hook)
    try:
        yield {"tqdm_class": _bar_of(name, DOWNLOAD, told)}
    finally:
        set_tqdm_hook(hook)
        _bar.reset(before)


def _hook(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What transformers makes bars by."""
    return (_bar.get() or factory)(*args, **kwargs)


def _bar_of(name: str, step: str, told: Told) -> type[Any]:
    """A class of bars that tell about one step of one model."""

    class Bar(tqdm):
        def __init__(self, iterable: Any = None, **given: Any) -> None:
            known = {key: given[key] for key in ("total", "initial") if key in given}
            super().__init__(iterable, disable=True, **known)
            # The hub also counts files, and bytes on the line, whose end it does not know and does not show.
            self._told = step != DOWNLOAD or (
                given.get("unit") == "B" and "total" in str(given.get("bar_format") or "total")
            )

        def __iter__(self) -> Iterator[Any]:
            for one in self.iterable:
                yield one
                self.update()

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self._told:
                told(Loading(name, step, int(self.n), int(self.total or 0)))

    return Bar
