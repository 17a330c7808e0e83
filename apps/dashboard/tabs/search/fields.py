"""What to search: fields tied to the settings, so that a link carries all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.jobs import studies
from dashboard.jobs.run import PLAIN, SYMBOLS, runnable
from dashboard.jobs.search import GRID, SearchRun, Wish
from dashboard.jobs.words import KNOBS
from dashboard.parts.look import CHIPS
from dashboard.parts.runbar import both_ways
from dashboard.visitor.session import Session
from dashboard.visitor.state import GRIDS, MOST_PASTED, MOST_SEARCHED, NO_STUDY, Settings
from phrasekit.methods import METHODS
from phrasekit.tune import bundled
from phrasekit.tune.axes import check_axes, uses
from phrasekit.tune.tuning import Options

PASTED = "pasted"
PROMPTS = {"all that are built in": "all", "8 that are built in": "some", "pasted below": PASTED}
SOME = 8
STUDIES = {"a new study": "", "no study: nothing is kept": NO_STUDY}
STRATEGIES = {"Algorithm 1: γ, then W, then β": "algorithm1", "Grid: every combination": GRID}
RULE = "---"  # between pasted prompts
MARGIN = (14, 12, 0, 0)  # room for the label, which stands on the field's upper line


class SearchFields(pn.viewable.Viewer):
    """Methods, strategy, prompts, how to measure, and where the trials are kept.

    Attributes:
        missing: the study that a link names and that is not here; "" where there is none such.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.missing = ""
        settings = session.settings
        self.methods = _several("Methods", max_items=MOST_SEARCHED)
        self.strategy = _choice("Strategy", STRATEGIES, settings.strategy, 260)
        self.prompts = _choice("Prompts", PROMPTS, settings.search_prompts, 210)
        self.tokens = _number(settings, "search_tokens", "Tokens each", 120)
        self.repeats = _number(settings, "repeats", "Repeats", 110)
        self.budget = _number(settings, "budget", "Seconds at most, 0: no end", 190)
        self.study = _choice("Study", STUDIES, "", 300)
        self.knobs = _several(
            "Knobs of the grid",
            options={_knob(name): name for name in GRIDS},
            value=_split(settings.grid),
        )
        self.values = {
            name: _line(f"{_knob(name)}: values", getattr(settings, _axis(name))) for name in GRIDS
        }
        self.grid = pn.Column(
            self.knobs,
            pn.FlexBox(*self.values.values(), margin=0, sizing_mode="stretch_width"),
            margin=0,
            sizing_mode="stretch_width",
        )
        self.pasted = pmui.TextAreaInput(
            label=f"Prompts, two or more, with a line {RULE} between them",
            value=settings.pasted,
            rows=5,
            max_length=MOST_PASTED * session.options.prompt_characters,
            size="small",
            sizing_mode="stretch_width",
            margin=(14, 0, 0, 0),
            sx={"& textarea": {"fontFamily": "var(--mono)", "fontSize": "12px", "lineHeight": "18px"}},
        )
        self.layout = pn.Column(
            self.methods,
            pn.FlexBox(
                self.strategy,
                self.prompts,
                self.tokens,
                self.repeats,
                self.budget,
                self.study,
                margin=0,
                sizing_mode="stretch_width",
                align_items="center",
            ),
            self.grid,
            self.pasted,
            margin=0,
            sizing_mode="stretch_width",
        )
        self._connect()
        self.offer()
        self.list_studies()
        self._settle()

    def wish(self, last: SearchRun | None = None) -> Wish:
        """What the fields ask for; a new study gets its name and is the one that is chosen from here on.

        Args:
            last: the search before; what cannot be compared with it gets a study of its own.

        Raises:
            ValueError: something that cannot be searched, in words for the visitor.
        """
        settings, caps = self.session.settings, self.session.options
        methods = tuple(self.methods.value)
        if not methods:
            raise ValueError("A search needs a method; choose one.")
        axes = self._axes() if settings.strategy == GRID else {}
        for method in methods:
            own = {name: values for name, values in axes.items() if uses(method, name)}
            check_axes(method, own, usual=settings.strategy != GRID)
        wish = Wish(
            methods=methods,
            strategy=settings.strategy,
            axes=axes,
            prompts=tuple(self._texts()),
            prompt_tokens=caps.prompt_tokens,
            options=Options(
                max_new_tokens=min(settings.search_tokens, caps.new_tokens),
                repeats=settings.repeats,
                final_repeats=max(Options().final_repeats, settings.repeats),
                budget=float(settings.budget) if settings.budget else None,
                schedule=settings.schedule,
            ),
        )
        return replace(wish, study=self._file(wish, last))

    def offer(self) -> None:
        """Offer the methods of the pair that have something to search."""
        place = self.session.place
        pair = place.pair if place is not None else None
        names = [name for name in runnable(pair) if name != PLAIN and _searchable(name)]
        options = {_described(name): name for name in names}
        if self.methods.options != options:
            chosen = self.methods.value or _split(self.session.settings.searched)
            self.methods.param.update(options=options, value=[name for name in chosen if name in names])

    def list_studies(self) -> None:
        """Offer the studies that are here; a chosen one that is not gives way to a new one."""
        settings = self.session.settings
        known = {**STUDIES, **{name: name for name in studies.names()}}
        if settings.study not in known.values():
            self.missing, settings.study = settings.study, ""
        self.study.param.update(options=known, value=settings.study)

    def _axes(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for name in self.knobs.value:
            text = getattr(self.session.settings, _axis(name))
            try:
                found[name] = tuple(int(part) for part in text.replace(",", " ").split())
            except ValueError:
                raise ValueError(
                    f"the values of {SYMBOLS[name]} must be whole numbers with commas between, but got "
                    f"{text!r}"
                ) from None
        if not found:
            raise ValueError("A grid needs knobs with values; choose one or more.")
        return found

    def _texts(self) -> Iterator[str]:
        settings, most = self.session.settings, self.session.options.prompt_characters
        if settings.search_prompts != PASTED:
            yield from bundled() if settings.search_prompts == "all" else bundled()[:SOME]
            return
        lines = settings.pasted.splitlines()
        parts = "\n".join("\0" if line.strip() == RULE else line for line in lines).split("\0")
        texts = [part.strip("\n") for part in parts if part.strip()]
        if not 2 <= len(texts) <= MOST_PASTED:
            raise ValueError(
                f"a search needs 2 to {MOST_PASTED} prompts with a line {RULE} between them, but got "
                f"{len(texts)}"
            )
        if any(len(text) > most for text in texts):
            raise ValueError(
                f"a prompt may have at most {most} characters here, but one has more; shorten it"
            )
        yield from texts

    def _file(self, wish: Wish, last: SearchRun | None) -> Path | None:
        settings = self.session.settings
        if settings.study == NO_STUDY:
            return None
        if not settings.study or self._is_of_another(settings.study, wish, last):
            name = studies.fresh("-".join(wish.methods))
            self.study.options = {**self.study.options, name: name}
            settings.study = name
        return studies.path_of(settings.study)

    def _is_of_another(self, study: str, wish: Wish, last: SearchRun | None) -> bool:
        """Whether the study that the last search went into holds nothing for this one."""
        if last is None or last.wish.study is None or last.wish.study.stem != study:
            return False
        elsewhere = last.place is not None and last.place.spec != self.session.settings.spec
        return elsewhere or not last.wish.compares(wish)

    def _settle(self, *_: Any) -> None:
        """Show the fields that count."""
        settings = self.session.settings
        self.grid.visible = settings.strategy == GRID
        for name, field in self.values.items():
            field.visible = name in self.knobs.value
        self.pasted.visible = settings.search_prompts == PASTED

    def _connect(self) -> None:
        settings = self.session.settings
        for name, widget in (
            ("strategy", self.strategy),
            ("search_prompts", self.prompts),
            ("study", self.study),
            ("pasted", self.pasted),
            *((_axis(name), field) for name, field in self.values.items()),
        ):
            both_ways(settings, name, widget)
        for name, chips in (("searched", self.methods), ("grid", self.knobs)):
            chips.param.watch(lambda event, name=name: setattr(settings, name, ",".join(event.new)), "value")
        settings.param.watch(self._settle, ["strategy", "search_prompts", "grid"])

    def __panel__(self) -> Any:
        return self.layout


def _several(label: str, **params: Any) -> Any:
    return pmui.MultiChoice(label=label, margin=(14, 0, 0, 0), **CHIPS, **params)


def _choice(label: str, options: dict[str, str], value: str, width: int) -> Any:
    return pmui.Select(label=label, options=options, value=value, size="small", width=width, margin=MARGIN)


def _line(label: str, value: str) -> Any:
    return pmui.TextInput(label=label, value=value, max_length=80, size="small", width=170, margin=MARGIN)


def _number(settings: Settings, name: str, label: str, width: int) -> Any:
    """A field for a whole number, kept within its bounds; the buttons of an IntInput have no names."""
    start, end = settings.param[name].bounds
    field = pmui.LiteralInput(
        label=label, value=getattr(settings, name), type=int, size="small", width=width, margin=MARGIN
    )

    def keep_within(event: Any) -> None:
        given = event.new if isinstance(event.new, int) else getattr(settings, name)
        field.value = min(max(given, start), end)

    field.param.watch(keep_within, "value")
    both_ways(settings, name, field)
    return field


def _axis(knob: str) -> str:
    """The setting that holds a knob's values."""
    return f"grid_{knob}"


def _split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def _knob(name: str) -> str:
    return f"{SYMBOLS[name]} {KNOBS[name][0]}"


def _described(method: str) -> str:
    """A method and what it is; an ablation is named after its whole already."""
    whole = f"{method.split('-')[0]}: "
    return f"{method}: {METHODS[method].summary.removeprefix(whole)}"


def _searchable(method: str) -> bool:
    """Whether Algorithm 1 has knobs to try for it."""
    try:
        check_axes(method, None, usual=True)
    except ValueError:
        return False
    return True
