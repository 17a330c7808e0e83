"""Export: the setting as Python, YAML, a command line, and as options of transformers and vLLM."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from dashboard.parts.clipboard import CLIPBOARD
from dashboard.parts.dialog import dialog
from dashboard.parts.look import SHEET
from dashboard.visitor.session import Session
from phrasekit.tune.export import Export, Setting, exports

FOLDER = Path(__file__).parent

NAMES = {
    "python": "Python",
    "yaml": "YAML",
    "command": "Command line",
    "transformers": "transformers",
    "vllm": "vLLM",
}


class Forms(JSComponent):
    """Texts with a button each that copies it.

    Attributes:
        forms: a dictionary each, see `form_of`.
    """

    forms = param.List(default=[])

    _esm = CLIPBOARD + (FOLDER / "forms.js").read_text("utf-8")
    _stylesheets = [SHEET + (FOLDER / "forms.css").read_text("utf-8")]  # noqa: RUF012


class Apply(pn.viewable.Viewer):
    """A button that opens a setting in every form.

    Args:
        session: whose.
        setting: gives the setting; None takes the one that is chosen on Tune.
    """

    def __init__(
        self, session: Session, *, setting: Callable[[], Setting] | None = None, **params: Any
    ) -> None:
        super().__init__(**params)
        self.setting = setting if setting is not None else lambda: setting_of(session)
        self.button = pmui.Button(label="Export", variant="outlined", width=90, margin=0)
        self.forms = Forms(sizing_mode="stretch_width", margin=0)
        self.save = pmui.FileDownload(
            callback=self._yaml,
            filename="phrasekit-setting.yaml",
            label="Download as YAML",
            variant="outlined",
            width=190,
            margin=(12, 0, 8, 0),
        )
        self.dialog = dialog(
            self.forms, self.save, title="This setting elsewhere", opener=self.button, width_option="md"
        )
        self.button.on_click(lambda _: self.show())
        self.layout = pn.Row(self.button, self.dialog, margin=0)

    def show(self) -> None:
        """Open the dialog."""
        self.forms.forms = [form_of(form) for form in exports(self.setting())]
        self.dialog.open = True

    def _yaml(self) -> StringIO:
        form = next(one for one in exports(self.setting()) if one.name == "yaml")
        return StringIO(form.text)

    def __panel__(self) -> Any:
        return self.layout


def setting_of(session: Session) -> Setting:
    """The setting as chosen, with the pair's own values for the knobs that have no slider."""
    settings, place = session.settings, session.place
    knobs: dict[str, Any] = dict(settings.knobs)
    if place is not None and place.pair is not None:
        knobs = settings.plan().settled(place.pair).as_dict()
    sampling = {
        name: getattr(settings, name)
        for name, default in (("temperature", 0.0), ("top_p", 1.0), ("seed", 0))
        if getattr(settings, name) != default
    }
    return Setting(
        method=settings.method,
        knobs=knobs,
        target=settings.target or None,
        draft=settings.draft or None,
        device=settings.device,
        dtype=settings.dtype or None,
        max_new_tokens=settings.tokens,
        sampling=sampling,
    )


def form_of(form: Export) -> dict[str, str]:
    """A form as plain values; forms.js reads them by name.

    Returns:
        `title`, `text` (without a last line break: a terminal would run it at once) and `note`.
    """
    return {"title": NAMES.get(form.name, form.name), "text": form.text.rstrip("\n"), "note": form.note}
