"""Links and files: copy a link, save trace and settings, open a trace."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import panel as pn
import panel_material_ui as pmui

from dashboard.parts.clipboard import CLIPBOARD
from dashboard.parts.dialog import dialog
from dashboard.parts.look import html
from dashboard.visitor.session import Session
from phrasekit.trace import save_trace

COPY = (
    CLIPBOARD
    + """
const say = (word) => { source.data.label = word }
copied(window.location.href, document.body).then((done) => {
  say(done ? "Link copied" : "Not copied")
  setTimeout(() => say("Copy link"), 1600)
})
"""
)

OPEN = """
<h2>Open</h2>
<p class="note">A recorded run is replayed; nothing of it runs. It stays here while you look at it.</p>
"""


class Files(pn.viewable.Viewer):
    """Buttons for the header, and a dialog with the files.

    Attributes:
        dialog: stands in the page itself: what stands in the header has the header's colours.
    """

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
        self.upload = pmui.FileInput(
            label=UPLOAD, uploaded_label=UPLOAD, accept=".jsonl", multiple=False, **FULL
        )
        self.dialog = dialog(
            html("<h2>Save</h2>"),
            self.trace,
            self.settings,
            html(OPEN),
            self.upload,
            title="Files",
            opener=self.open,
            width_option="sm",
        )
        self.open.on_click(lambda _: setattr(self.dialog, "open", True))
        self.upload.param.watch(self._take, "value")
        self.layout = pn.Row(self.link, self.open, margin=0, width=182, height=34, sizing_mode="fixed")

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
UPLOAD = "Open a trace (.jsonl)"  # also with a file: what comes of it is said elsewhere
FULL: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (6, 0), "variant": "outlined"}
