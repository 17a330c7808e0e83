"""The command line: `phrasekit demo | generate | step | compare | trace | methods | bench`."""

from phrasekit.cli.program import main

__all__ = ["main"]
