"""Prompts to begin with; the last one is where speculation has little to copy."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "rolling_max": '''\
def rolling_max(numbers):
    """From a list of numbers, return the list of the largest number so far."""
''',
    "parse_args": '''\
def parse_args(self, args=None, namespace=None):
    """Parse the command line and return the options."""
''',
    "truncate_number": '''\
def truncate_number(number: float) -> float:
    """Return the decimal part of a positive number."""
''',
    "a unit test": """\
import unittest


class TestQueue(unittest.TestCase):
    def setUp(self):
        self.queue = Queue()

    def test_""",
    "plain words": "# The morning after the storm, the harbour was quiet and ",
}
FIRST = "rolling_max"
