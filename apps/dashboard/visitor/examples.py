"""Prompts to begin with; the last one is where speculation has little to copy at first."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "parse_args": '''\
def parse_args(self, args=None, namespace=None):
    """Parse the command line and return the options."""
''',
    "truncate_number": '''\
def truncate_number(number: float) -> float:
    """Given a positive floating point number, return the decimal part of the number."""
''',
    "class Stack": """\
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
""",
    "a unit test": """\
import unittest


class TestQueue(unittest.TestCase):
    def setUp(self):
        self.queue = Queue()

    def test_push(self):
""",
    "plain words": "# The morning after the storm, the harbour was quiet and ",
}
FIRST = "parse_args"
