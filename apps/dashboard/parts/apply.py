"""Apply: the setting as Python, YAML, a command line, and as options of transformers and vLLM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.parts.look import html
from dashboard.visitor.session import Session
from phrasekit.tune.export import Export, Setting, exports
from phrasekit.views.escape import escape

NAMES = {
    "python": "Python",
    "yaml": "YAML",
    "command": "Command line",
    "transformers": "transformers",
    "vllm": "vLLM",
}


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
        self.button = pmui.Button(label="Apply", variant="outlined", width=90, margin=0)
        self.forms = html()
        self.save = pmui.FileDownload(
            callback=self._yaml,
            filename="phrasekit-setting.yaml",
            label="Download as YAML",
            variant="outlined",
            margin=(8, 0),
        )
        self.dialog = pmui.Dialog(
            self.forms,
            self.save,
            title="This setting elsewhere",
            width_option="md",
            close_on_click=True,
            scroll="paper",
        )
        self.button.on_click(lambda _: self.show())
        self.layout = pn.Row(self.button, self.dialog, margin=0)

    def show(self) -> None:
        """Open the dialog."""
        self.forms.object = "".join(_shown(exports(self.setting())))
        self.dialog.open = True

    def _yaml(self) -> Any:
        from io import StringIO

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


def _shown(forms: tuple[Export, ...]) -> Iterator[str]:
    for form in forms:
        yield f"<h2>{NAMES.get(form.name, form.name)}</h2>"
        if form.text:
            lines = "\n".join(map(escape, form.text.splitlines()))
            yield f'<pre tabindex="0">{lines}</pre>'
        if form.note:
            yield f'<p class="note" style="margin-bottom:12px">{escape(form.note)}</p>'
