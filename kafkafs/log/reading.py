"""The visible records of a window of offsets, read to the end while the broker changes the log.

If the broker compacts the log or deletes a part of it meanwhile, `records` goes on in the new files. The caller hears
which offsets are gone. If the log was truncated or created again after records were handed out, `records` raises
Vanished. `ask_again` and `resume` are the loops that try again, for other questions and other readings.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkafs.format.records import Records
from kafkafs.log.lineage import Lineage
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.retries import ask_again, resume

__all__ = ["Window", "ask_again", "records", "resume"]


class Window(NamedTuple):
    """The offsets [start, end) of a partition, as an earlier look planned them.

    `log_end` is the log end of that look. The marker of a transaction in the window may be behind the window.
    """

    start: int
    end: int
    log_end: int = 0
    isolation: Isolation = "read_uncommitted"


class _PlannedEnd(OpenTransactions):
    """The last stable offset that planning has found: nobody looks for open transactions again."""

    def __init__(self, end: int) -> None:
        super().__init__()
        self._end = end

    def last_stable_offset(self, log: Log) -> int:
        """The planned end, unless the log ends before that by now."""
        return min(self._end, log.end_offset)


def records(partition: Partition, window: Window, on_loss: Callable[[str], None]) -> Iterator[Records]:
    """Yield the visible records of the window in order.

    `on_loss` gets a sentence about offsets that are gone, and about a log that may not be read; it may raise.
    """
    reading = _Reading(partition, window, on_loss)
    return resume(reading.read_from, window.start, partition.look_again)


class _Reading:
    def __init__(self, partition: Partition, window: Window, on_loss: Callable[[str], None]) -> None:
        self._partition = partition
        self._window = window
        self._on_loss = on_loss
        self._lineage: Lineage | None = None

    def read_from(self, position: int) -> Iterator[tuple[int, Records]]:
        """The records at or behind an offset, in the current log."""
        end, log = self._window.end, self._log_up_to_end()
        if self._lineage is None or position == self._window.start:  # no record was handed out: any look will do
            self._lineage = Lineage(log)
        self._lineage.follow(log)
        self._report_losses(log, position)
        is_cut = log.end_offset < self._window.log_end  # perhaps with markers, so look for open transactions again
        transactions = self._partition.transactions if is_cut else _PlannedEnd(end)
        reader = Reader(log, ReadOptions(isolation=self._window.isolation), transactions)
        if reader.visible_end < end:
            self._on_loss(f"{log.name.directory} ends at offset {reader.visible_end} by now, before {end}")
        for piece in reader.records(position, end):
            yield int(piece.rows["offset"][-1]) + 1 if len(piece) else position, piece
            del piece

    def _report_losses(self, log: Log, position: int) -> None:
        end, name = self._window.end, log.name.directory
        if log.start_offset > position:
            self._on_loss(f"offsets {position} to {min(log.start_offset, end) - 1} of {name} are gone")
        for segment in log.segments_from(position):
            if segment.base_offset < end and not segment.is_readable():
                self._on_loss(f"{segment.log_name} of {name} may not be read")

    def _log_up_to_end(self) -> Log:
        """The current log. If it ends before what its planner saw, perhaps later, look once more."""
        log = self._partition.log()
        if log.end_offset < max(self._window.end, self._window.log_end):
            self._partition.look_again()
            log = self._partition.log()
        return log
