"""Draft and target at the same time: PEARL and DOUBLE."""

from phrasekit.parallel.decoder import ParallelDecoder
from phrasekit.parallel.drafter import Drafted, Drafter
from phrasekit.parallel.schedule import Schedule, Serial, Streams, Threads, check_schedule, schedule_of
from phrasekit.parallel.tail import Tail

__all__ = [
    "Drafted",
    "Drafter",
    "ParallelDecoder",
    "Schedule",
    "Serial",
    "Streams",
    "Tail",
    "Threads",
    "check_schedule",
    "schedule_of",
]
