"""Which tab of which browser a page stands in, so that a page loaded again finds what it had."""

from __future__ import annotations

from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from dashboard.visitor.session import Session


class BrowserTab(JSComponent):
    """A token that the tab keeps for itself, also when it is loaded again; nothing but this server sees it.

    A tab that is made as a copy of another has the other's token. It asks around, hears that the token is
    taken, and makes one of its own.

    Attributes:
        token: a secret, 32 letters; "" until the browser has said so.
    """

    token = param.String("")

    _esm = """
    const KEY = "phrasekit-visit"
    const ANSWER = 250 // milliseconds that another tab has to say that the token is its own
    const letters = (byte) => byte.toString(16).padStart(2, "0")
    const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), letters).join("")

    export function render({ model, el }) {
      el.style.display = "none"
      const others = new BroadcastChannel(KEY)
      let token = model.token, asking = null, waits = null
      const settle = (value) => {
        clearTimeout(waits)
        asking = null
        token = value
        try { sessionStorage.setItem(KEY, token) } catch { /* a page loaded again begins anew */ }
        model.token = token
      }
      others.onmessage = ({ data }) => {
        if (data.asks && data.asks === token) others.postMessage({ taken: token })
        else if (data.taken && data.taken === asking) settle(fresh())
      }
      if (!token) {
        try { asking = sessionStorage.getItem(KEY) } catch { /* none */ }
        if (asking) {
          others.postMessage({ asks: asking })
          waits = setTimeout(() => settle(asking), ANSWER)
        } else settle(fresh())
      }
      return () => { clearTimeout(waits); others.close() }
    }
    """


def browser_tab(session: Session) -> BrowserTab:
    """The part of a page that says which tab it stands in."""
    tab = BrowserTab()

    def arrive(event: Any) -> None:
        pn.state.onload(lambda: session.arrive(event.new))  # what changes before a page is ready may get lost

    tab.param.watch(arrive, "token")
    return tab
