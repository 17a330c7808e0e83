"""Links and files: copy a link, save trace and settings, open a trace."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.parts.look import html
from dashboard.visitor.session import Session
from phrasekit.trace import save_trace

# The clipboard needs a secure page, which localhost is; elsewhere the old way is left.
COPY = """
const link = window.location.href
const done = () => { source.label = "Link copied"; setTimeout(() => { source.label = "Copy link" }, 1600) }
const old = () => {
  const field = Object.assign(document.createElement("textarea"), { value: link })
  document.body.append(field); field.select(); document.execCommand("copy"); field.remove(); done()
}
if (navigator.clipboard) navigator.clipboard.writeText(link).then(done, old)
else old()
"""

OPEN = """
<h2>Open</h2>
<p class="note">A recorded run is replayed; nothing of it runs. It stays here while you look at it.</p>
"""


class Files(pn.viewable.Viewer):
    """Buttons for the header, and a dialog with the files."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.link = pmui.Button(label="Copy link", variant="text", margin=0, width=104, sx=INK)
        self.link.js_on_click(code=COPY)
        self.open = pmui.Button(label="Files", variant="text", margin=(0, 4), width=70, sx=INK)
        self.trace = pmui.FileDownload(
            callback=self._trace, filename="run.jsonl", label="Trace of the run shown", **FULL
        )
        self.settings = pmui.FileDownload(
            callback=self._settings, filename="settings.json", label="Settings", **FULL
        )
        self.upload = pmui.FileInput(label="Open a trace (.jsonl)", accept=".jsonl", multiple=False, **FULL)
        self.dialog = pmui.Dialog(
            html("<h2>Save</h2>"),
            self.trace,
            self.settings,
            html(OPEN),
            self.upload,
            title="Files",
            width_option="sm",
            close_on_click=True,
        )
        self.open.on_click(lambda _: setattr(self.dialog, "open", True))
        self.upload.param.watch(self._take, "value")
        # a width of its own, or the dialog would take half of the header, closed
        self.layout = pn.Row(
            self.link, self.open, self.dialog, margin=0, width=182, height=34, sizing_mode="fixed"
        )

    def _trace(self) -> BytesIO:
        with TemporaryDirectory(prefix="phrasekit-") as folder:
            path = Path(folder) / "run.jsonl"
            save_trace(self.session.trace, path)
            return BytesIO(path.read_bytes())

    def _settings(self) -> StringIO:
        return StringIO(
            json.dumps({"v": 1, **self.session.settings.as_dict()}, indent=2, ensure_ascii=False) + "\n"
        )

    def _take(self, event: Any) -> None:
        if event.new:
            if self.session.upload(event.new):
                self.session.settings.tab = "step"
            self.dialog.open = False
            self.upload.value = None

    def __panel__(self) -> Any:
        return self.layout


INK = {"color": "var(--ink)"}  # on the header, whose buttons would be white
FULL: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (6, 0)}
