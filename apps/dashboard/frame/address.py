"""The page's address: it holds the whole state, so that it can be copied, kept and loaded again."""

from __future__ import annotations

import param
from panel.custom import JSComponent

from dashboard.visitor.state import Settings

NAMES = {"prompt": "the prompt", "pasted": "the prompts pasted on Search"}


class Address(JSComponent):
    """Writes the state into the address. Panel's own would add a step to the browser's history each time.

    Attributes:
        search: the end of the address.
    """

    search = param.String("")

    _esm = """
    export function render({ model, el }) {
      const write = () => { if (model.search) history.replaceState(history.state, "", model.search) }
      write()
      model.on("search", write)
      el.style.display = "none"
    }
    """


def no_room(settings: Settings) -> str:
    """What the address has no room for, in words; "" where it holds everything."""
    missing = " and ".join(NAMES[name] for name in settings.unlinked)
    return f"The link has no room for {missing}; send the text beside it." if missing else ""
