"""How the page looks: the theme of Material UI, and the colours of the views as variables of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from phrasekit.views.theme import DARK, LIGHT, MONO, SANS, Theme

NARROW = 1000  # pixels; below, columns stack
LABEL, SHRUNK = 11.5, 0.75  # pixels of a field's label on its line, and what Material UI scales it by
PHONE = "@media (max-width:640px)"
ROOM = "8px clamp(4px, calc((100vw - 280px) / 14), 14px)"  # of a tab: all seven fit from 350 pixels on


def _variables(theme: Theme) -> str:
    return ";".join(f"{name}:{value}" for name, value in theme.variables().items())


PAGE_CSS = f"""
:root{{{_variables(LIGHT)};--sans:{SANS};--mono:{MONO};color-scheme:light}}
:root[data-pk="dark"]{{{_variables(DARK)};color-scheme:dark}}
"""

SHEET = (Path(__file__).parent / "sheet.css").read_text("utf-8")
CARD = """
:host{background:var(--surface);border:1px solid var(--line);border-radius:12px;overflow:hidden}
"""
# Below NARROW the rest comes first, and the rail of controls under it.
BESIDE = """
:host{display:grid!important;grid-template-columns:%dpx minmax(0,1fr);gap:16px;align-items:start}
@media (max-width:%dpx){
  :host{grid-template-columns:minmax(0,1fr)}
  .rail{order:2}
  .rest{order:1}
}
"""


class Html(pn.pane.HTML):
    """Panel's pane; that one asks another host for its style sheets when it changes on a closed tab."""

    def _get_properties(self, doc: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._get_properties(doc or pn.state.curdoc)
        return found


def html(markup: str = "", *, padding: str = "0", more: str = "", **params: Any) -> pn.pane.HTML:
    """Markup of ours; whatever came from outside must be escaped in it already."""
    sheet = f"{SHEET}:host{{padding:{padding}}}{more}"
    params = {"margin": 0, "sizing_mode": "stretch_width", **params}
    return Html(markup, stylesheets=[sheet], **params)


class Live(JSComponent):
    """Markup of ours that changes several times a second, at a fraction of what a pane costs.

    Attributes:
        object: the markup; whatever came from outside must be escaped in it already.
    """

    object = param.String("")

    _esm = """
    export function render({ model, el }) {
      const paint = () => { el.innerHTML = model.object }
      el.style.width = "100%"
      model.on("object", paint)
      paint()
    }
    """


def live(padding: str = "0") -> Live:
    """A place for markup that changes often."""
    return Live(stylesheets=[f"{SHEET}:host{{padding:{padding}}}"], margin=0, sizing_mode="stretch_width")


def card(*objects: Any, more: str = "", **params: Any) -> pn.Column:
    """A frame."""
    return pn.Column(*objects, stylesheets=[CARD + more], margin=0, sizing_mode="stretch_width", **params)


def beside(left: Any, right: Any, *, width: int, **params: Any) -> pn.Column:
    """A rail of a fixed width beside the rest; on narrow pages the rest comes first."""
    for part in (left, right):
        part.css_classes = [*part.css_classes, "rail" if part is left else "rest"]
    sheet = BESIDE % (width, NARROW)
    return pn.Column(left, right, stylesheets=[sheet], margin=0, sizing_mode="stretch_width", **params)


# Words at the left, buttons at the right; on a phone the buttons stand below.
ENDS = """
:host{display:grid!important;grid-template-columns:minmax(0,1fr) repeat(%d,auto);gap:8px;align-items:start}
@media (max-width:640px){
  :host{grid-template-columns:repeat(%d,auto) minmax(0,1fr)}
  .words{grid-column:1/-1;contain:inline-size}
}
"""


def ends(words: Any, *buttons: Any, more: str = "") -> pn.Column:
    """Words, and buttons at the other end of the line."""
    words.css_classes = [*words.css_classes, "words"]
    sheet = ENDS % (len(buttons), len(buttons)) + more
    return pn.Column(words, *buttons, stylesheets=[sheet], margin=0, sizing_mode="stretch_width")


SECTION = ":host{padding:16px 20px}"


def section(title: str, more: str, *parts: Any) -> pn.Column:
    """A titled part of a card."""
    return pn.Column(
        html(f"<h2>{title}</h2><span>{more}</span>", padding="0 0 6px"),
        *parts,
        margin=0,
        sizing_mode="stretch_width",
        stylesheets=[SECTION + ":host{border-top:1px solid var(--line)}"],
    )


class Ink(JSComponent):
    """Tells the page which colours hold, and Python which ones the visitor prefers.

    Attributes:
        dark: whether the page is dark.
        prefers_dark: what was chosen here last, else what the system says; None until the page has said so.
    """

    dark = param.Boolean(False)
    prefers_dark = param.Boolean(default=None, allow_None=True)

    _esm = """
    const KEY = "phrasekit-theme"
    export function render({ model, el }) {
      const system = window.matchMedia("(prefers-color-scheme: dark)").matches
      let chosen = null
      try { chosen = localStorage.getItem(KEY) } catch { /* nothing is remembered */ }
      const paint = () => { document.documentElement.dataset.pk = model.dark ? "dark" : "light" }
      const keep = () => {
        try {
          if (model.dark === system) localStorage.removeItem(KEY)
          else localStorage.setItem(KEY, model.dark ? "dark" : "light")
        } catch { /* chosen again next time */ }
      }
      paint()
      model.on("dark", () => { paint(); keep() })
      model.prefers_dark = chosen === null ? system : chosen === "dark"
      el.style.display = "none"
    }
    """


def _palette(theme: Theme, mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "primary": {"main": theme.ink, "contrastText": theme.surface},
        "secondary": {"main": theme.ink_2, "contrastText": theme.surface},
        "error": {"main": theme.mistake, "contrastText": theme.surface},
        "warning": {"main": theme.mistake, "contrastText": theme.surface},
        "info": {"main": theme.target_edge, "contrastText": theme.surface},
        "background": {"default": theme.page, "paper": theme.surface},
        "text": {"primary": theme.ink, "secondary": theme.ink_2},
        "divider": theme.line,
    }


def _config(theme: Theme, mode: str) -> dict[str, Any]:
    focus = {"outline": f"2px solid {theme.focus}", "outlineOffset": "2px"}
    bare = {"boxShadow": "none", "backgroundImage": "none"}
    return {
        "palette": _palette(theme, mode),
        "typography": {
            "fontFamily": SANS,
            "fontSize": 13,
            "button": {"textTransform": "none", "fontWeight": 500},
        },
        "shape": {"borderRadius": 7},
        "components": {
            "MuiAppBar": {
                "styleOverrides": {
                    "root": {**bare, "backgroundColor": theme.page, "color": theme.ink},
                    "colorPrimary": {**bare, "backgroundColor": theme.page, "color": theme.ink},
                }
            },
            "MuiButtonBase": {
                "defaultProps": {"disableRipple": True},
                "styleOverrides": {"root": {"&.Mui-focusVisible": focus}},
            },
            "MuiButton": {
                "styleOverrides": {
                    "root": {"minHeight": 32, **bare},
                    "outlined": {"borderColor": theme.edge, "&.Mui-disabled": {"borderColor": theme.line_2}},
                }
            },
            "MuiChip": {
                "styleOverrides": {
                    "root": {"height": 20, "borderRadius": 5},
                    "filled": {
                        "backgroundColor": theme.sunken,
                        "border": f"1px solid {theme.line_2}",
                        "color": theme.ink,
                        "&.Mui-focusVisible": {"backgroundColor": theme.sunken},
                    },
                    "deleteIcon": {
                        "color": theme.ink_3,
                        "fontSize": 16,
                        "&:hover": {"color": theme.ink},
                    },
                }
            },
            # fields of one height, with labels of one size: each kind brings its own
            "MuiInputLabel": {
                "styleOverrides": {
                    "root": {"&.MuiInputLabel-shrink": {"fontSize": f"{LABEL / SHRUNK}px !important"}}
                }
            },
            "MuiOutlinedInput": {
                "styleOverrides": {
                    "root": {
                        "& legend": {"fontSize": LABEL},
                        "& .MuiOutlinedInput-input:not(textarea)": {
                            "minHeight": "20px !important",
                            "lineHeight": "20px",
                            "paddingTop": "7px !important",
                            "paddingBottom": "7px !important",
                        },
                    }
                }
            },
            "MuiPaper": {"styleOverrides": {"root": bare}},
            # a menu lies over fields of its own colour
            "MuiMenu": {"styleOverrides": {"paper": {"border": f"1px solid {theme.edge}"}}},
            # where tabs do not fit, an arrow at the end says that there are more; a phone has them too
            "MuiTabs": {
                "defaultProps": {"allowScrollButtonsMobile": True},
                "styleOverrides": {"root": {"minHeight": 40, "marginBottom": 12}},
            },
            "MuiTabScrollButton": {
                "styleOverrides": {"root": {"width": 28, "&.Mui-disabled": {"opacity": 0.25}}}
            },
            "MuiTab": {
                "styleOverrides": {
                    "root": {
                        "minHeight": 40,
                        "fontSize": 14,
                        "color": theme.ink_2,
                        "&.Mui-focusVisible": {**focus, "outlineOffset": "-2px"},  # the bar cuts off the rest
                        PHONE: {"minWidth": 0, "padding": ROOM, "fontSize": 13},
                    }
                }
            },
            "MuiSlider": {
                "styleOverrides": {
                    "root": {"height": 2},
                    "thumb": {
                        "width": 14,
                        "height": 14,
                        "backgroundColor": theme.surface,
                        "border": f"2px solid {theme.ink}",
                        "&.Mui-focusVisible": focus,
                        **bare,
                    },
                    "rail": {"backgroundColor": theme.edge, "opacity": 1},
                }
            },
        },
    }


THEME = {"light": _config(LIGHT, "light"), "dark": _config(DARK, "dark")}

# A choice of several, as high as the other fields where it has one row.
CHIPS: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "min_width": 240,
    "sx": {
        "& .MuiSelect-select": {"paddingLeft": "10px !important", "paddingRight": "32px !important"},
        "& .MuiInputLabel-root:not(.MuiInputLabel-shrink)": {"transform": "translate(14px, 8px)"},
        "& .MuiChip-root": {"margin": 0},
    },
}

# The page's own parts: everything stands on the page colour, the title in ink.
FRAME = {
    "& main": {"backgroundColor": "background.default"},
    "& .header": {"borderBottom": "1px solid", "borderColor": "divider"},
    "& .header .MuiToolbar-root": {"minHeight": "52px !important", "gap": "8px"},
    # a bar without a name, although no busy indicator is asked for
    "& .header .MuiLinearProgress-root": {"display": "none"},
    "& .header .title": {"color": "text.primary", "fontSize": "18px", "fontWeight": 700},
}
