"""What to say of an error of the page itself; its trace is for the server's log alone."""

from __future__ import annotations

PAGE = "This page could not be made; the server's log says why."
TAB = "This tab could not be made; the server's log says why. The other tabs work."
CHANGE = "The page could not do this; the server's log says why."
VIEW = "A part of the page could not be brought up to date; the server's log says why."
