"""Views of recorded runs: each as data (`x_info`), as a drawing (`draw_x`) and as both (`x_view`).

A view shows itself in a notebook, prints as text, and has its facts as a table. Nothing here needs a
model or torch; drawings that need plotly ask for it when they are made.
"""

from phrasekit.views.comparison import ComparisonInfo, comparison_info
from phrasekit.views.comparisonfigure import comparison_view, draw_comparison
from phrasekit.views.harvest import HarvestInfo, harvest_info
from phrasekit.views.harvestlist import draw_harvest, harvest_view
from phrasekit.views.html import Html
from phrasekit.views.matches import MatchesInfo, matches_info
from phrasekit.views.matchesfigure import draw_matches, matches_view
from phrasekit.views.page import EVERY_FORMAT, convert, trace_page
from phrasekit.views.pool import PoolInfo, pool_info
from phrasekit.views.poolfigure import draw_pool, pool_view
from phrasekit.views.speedup import SpeedupInfo, speedup_info
from phrasekit.views.speedupfigure import draw_speedup, speedup_view
from phrasekit.views.stream import StreamInfo, draw_stream, stream_info, stream_view
from phrasekit.views.table import Table
from phrasekit.views.timeline import TimelineInfo, timeline_info
from phrasekit.views.timelinefigure import draw_timeline, timeline_view
from phrasekit.views.tree import TreeInfo, tree_info
from phrasekit.views.treefigure import draw_tree, tree_view
from phrasekit.views.view import View
from phrasekit.views.window import WindowInfo, window_info
from phrasekit.views.windowtable import draw_window, window_view

__all__ = [
    "EVERY_FORMAT",
    "ComparisonInfo",
    "HarvestInfo",
    "Html",
    "MatchesInfo",
    "PoolInfo",
    "SpeedupInfo",
    "StreamInfo",
    "Table",
    "TimelineInfo",
    "TreeInfo",
    "View",
    "WindowInfo",
    "comparison_info",
    "comparison_view",
    "convert",
    "draw_comparison",
    "draw_harvest",
    "draw_matches",
    "draw_pool",
    "draw_speedup",
    "draw_stream",
    "draw_timeline",
    "draw_tree",
    "draw_window",
    "harvest_info",
    "harvest_view",
    "matches_info",
    "matches_view",
    "pool_info",
    "pool_view",
    "speedup_info",
    "speedup_view",
    "stream_info",
    "stream_view",
    "timeline_info",
    "timeline_view",
    "trace_page",
    "tree_info",
    "tree_view",
    "window_info",
    "window_view",
]
