"""Live stepping in a notebook: buttons and sliders around `LiveSession`.

Only what every front end has: core ipywidgets and HTML without scripts, so that JupyterLab, VS Code and Colab
show the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Unpack

from phrasekit.api import Prompt
from phrasekit.decode import Knobs
from phrasekit.decode.picker import SamplingOptions
from phrasekit.lm import Pair
from phrasekit.methods import runnable
from phrasekit.trace import Trace
from phrasekit.widgets.controls import Controls
from phrasekit.widgets.livepage import live_html, live_text
from phrasekit.widgets.session import LiveSession, LiveState

INSTALL = (
    "live stepping needs ipywidgets, which is not installed; run: pip install 'phrasekit[notebook]' "
    "(or pip install ipywidgets) and restart the kernel"
)


class LiveDecoding:
    """A run to steer by hand; the last line of a notebook cell shows it.

    γ, W, N, G, β, K and how much is copied or retrieved change the work: a change holds from the next
    iteration on, also while the run goes on. Method, temperature, top-p and seed wait for "reset". Plain
    decoding goes along and says whether the text is still the same; that costs its forwards and a second
    cache, and it can be switched off.

    Example:
        live = LiveDecoding(pk.load_pair(), "def quicksort(items):")
        live

    Attributes:
        session: what the widget shows; drive it by hand where there is no front end.
        widget: the ipywidgets box.
    """

    def __init__(
        self,
        pair: Pair,
        prompt: Prompt,
        *,
        method: str = "ouroboros",
        knobs: Knobs | None = None,
        max_new_tokens: int = 96,
        compare: bool = True,
        **sampling: Unpack[SamplingOptions],
    ) -> None:
        """Build the decoder and its controls; arguments as for `LiveSession`.

        Raises:
            ImportError: ipywidgets is not installed.
            ValueError: an argument outside its bounds.
            TypeError: an argument of the wrong type.
        """
        kit = _ipywidgets()
        self.session = LiveSession(
            pair,
            prompt,
            method=method,
            knobs=knobs,
            max_new_tokens=max_new_tokens,
            compare=compare,
            **sampling,
        )
        methods = list(runnable(pair))
        self._controls = Controls(kit, self.session, methods)
        self._page = kit.HTML(value=live_html(self.session.state))
        self.widget: Any = kit.VBox([self._controls.box, self._page])
        self.session.watch(self._show)
        self._controls.shade.observe(lambda _: self._draw(self.session.state), names="value")

    @property
    def state(self) -> LiveState:
        """See `LiveSession.state`."""
        return self.session.state

    @property
    def trace(self) -> Trace:
        """The run so far, for the stepper and every view."""
        return self.session.trace

    @property
    def text(self) -> str:
        """The text so far."""
        return self.session.text

    def _show(self, state: LiveState) -> None:
        """Called from the thread that runs, too: of all controls it reads the colour alone."""
        self._controls.follow(state)
        self._draw(state)

    def _draw(self, state: LiveState) -> None:
        self._page.value = live_html(state, shade=self._controls.shade.value)

    def _repr_mimebundle_(self, **asked: Any) -> dict[str, Any]:
        """The widget; as text and plain HTML where a saved notebook has no kernel behind it."""
        bundle: Any = self.widget._repr_mimebundle_(**asked)
        live = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(live or {}), "text/plain": live_text(self.state), "text/html": self._page.value}

    def __repr__(self) -> str:
        """One line."""
        return repr(self.session)


def _ipywidgets() -> Any:
    try:
        return import_module("ipywidgets")
    except ImportError as missing:
        raise ImportError(INSTALL) from missing
