"""How Pool is laid out: words and controls, then one frame of growth and sources over the phrases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import panel as pn

from dashboard.parts.look import card, html

NARROW = 1100  # pixels; below, everything stands in one column; phraselist.js says the same
WHOLE: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width"}
CLIP = ":host{overflow:clip}"  # unlike hidden, it lets the chosen phrase stay in sight
CELL = ":host{padding:20px 24px;min-width:0} @media (max-width:640px){:host{padding:16px 12px}}"
HEAD = """
:host{
  display:grid!important;
  grid-template-columns:minmax(0,1fr) auto;
  gap:12px 32px;
  align-items:end;
  padding:12px 0 0;
}
@media (max-width:1300px){:host{grid-template-columns:minmax(0,1fr)}}
"""
# The line between the two is as long as the longer one.
UPPER = f"""
:host{{
  display:grid!important;
  grid-template-columns:minmax(0,1fr) 380px;
  background:linear-gradient(var(--line),var(--line)) right 380px top/1px 100% no-repeat;
}}
@media (max-width:{NARROW}px){{
  :host{{grid-template-columns:minmax(0,1fr);background:none}}
  .second{{border-top:1px solid var(--line)}}
}}
"""
TOOLS = f"""
:host{{
  display:grid!important;
  grid-template-columns:minmax(0,1fr) auto;
  gap:8px 24px;
  padding:16px 24px 4px;
  border-top:1px solid var(--line);
}}
@media (max-width:{NARROW}px){{:host{{grid-template-columns:minmax(0,1fr)}}}}
@media (max-width:640px){{:host{{padding:16px 12px 4px}}}}
"""
GROWTH = "<h2>Growth and lookups</h2><span>phrases held by source, a tick for every forward that asked</span>"
SOURCES = "<h2>What each source is worth</h2>"
PHRASES = (
    "<h2>Phrases</h2><span>◆ born, tick: looked up, bar: tokens kept (orange behind the draft), ring: used "
    "but thrown away, ×: gone</span>"
)


def framed(
    intro: Any, growth: Any, worth: Any, phrases: Any, *, controls: Sequence[Any], tools: Sequence[Any]
) -> pn.Column:
    """The tab.

    Args:
        intro: title and sentence.
        growth: the figure.
        worth: what each source is worth.
        phrases: the list with the chosen one.
        controls: of the pool as a whole.
        tools: that search and sort the list.
    """
    upper = pn.Column(_cell(GROWTH, growth), _cell(SOURCES, worth, "second"), stylesheets=[UPPER], **WHOLE)
    below = pn.Column(html(PHRASES, padding="8px 0 0"), _row(tools), stylesheets=[TOOLS], **WHOLE)
    return pn.Column(
        pn.Column(intro, _row(controls), stylesheets=[HEAD], **WHOLE),
        card(upper, below, phrases, more=CLIP),
        styles={"gap": "16px"},
        **WHOLE,
    )


def _cell(title: str, content: Any, *classes: str) -> pn.Column:
    return pn.Column(
        html(title, padding="0 0 12px"), content, stylesheets=[CELL], css_classes=list(classes), **WHOLE
    )


def _row(widgets: Sequence[Any]) -> pn.FlexBox:
    return pn.FlexBox(*widgets, margin=0, align_items="center")
