"""The broker's notes about producers at the start of a segment, or at the log end: the `.snapshot` files of a
partition.

They save reading the log before them. An unreadable snapshot is ignored: an earlier one is used, or the batches are.
Layout: `format.producer_snapshot`.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from kafkafs.errors import UNREADABLE
from kafkafs.format.names import segment_file
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot
from kafkafs.log.segment import Segment


class SmallFiles(Protocol):
    """The reader of small files in a partition's directory: a `Partition`, or one of its segments."""

    def read_small_file(self, name: str) -> bytes:
        """The file of that name; NotFound if it does not exist."""


def producers_at(place: SmallFiles, offset: int) -> tuple[ProducerState, ...] | None:
    """Return the producers at that offset, from a snapshot; None if there is no readable snapshot."""
    try:
        return parse_producer_snapshot(place.read_small_file(segment_file(offset, "snapshot")))
    except UNREADABLE:
        return None


def open_at(place: SmallFiles, offset: int) -> dict[int, int] | None:
    """The transactions that are open at that offset, producer to first offset; None if no snapshot has them. At offset
    0 there are none."""
    producers = producers_at(place, offset) if offset else ()
    return None if producers is None else open_among(producers)


def open_among(producers: Iterable[ProducerState]) -> dict[int, int]:
    """The ids of producers that have a transaction open, each with the transaction's first offset."""
    return {each.producer_id: each.transaction_first_offset for each in producers if each.transaction_first_offset >= 0}


def newest_open(segments: Sequence[Segment], number: int) -> tuple[int, dict[int, int]]:
    """The last segment up to that number with a snapshot for its beginning, and the transactions that are open there.
    The first segment, and none, if there is no such snapshot."""
    for begun in range(number, 0, -1):
        known = open_at(segments[begun], segments[begun].base_offset)
        if known is not None:
            return begun, known
    return 0, {}
