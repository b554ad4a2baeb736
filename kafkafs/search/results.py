"""The results of a search, as its processes tell them: matches, what could not be read, and how far they came."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kafkafs.errors import KafkafsError
from kafkafs.format.jsonl import LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.format.records import Records
from kafkafs.log.places import Between
from kafkafs.search.record_files import LeftOut
from kafkafs.search.search_units import UNITS, UnitSizes
from kafkafs.search.selection import FieldMaker, Selection

AHEAD = 64 << 20
"""Bytes of lines that are kept before their turn."""


class SearchTask(NamedTuple):
    """The work on each partition or file. Makers are those of a partition, and of the members that come first in a
    line; without `lines_of` records are counted only. At most `most` records of each are wanted. A window of files has
    its times in milliseconds. `sizes`: of the units that partitions are cut into."""

    selection: Selection
    window: Between = Between()
    lines_of: Callable[[PartitionName, str], LineMaker] | None = None
    fields_of: Callable[[PartitionName, str], FieldMaker] | None = None
    most: int | None = None
    sizes: UnitSizes = UNITS


class FoundLines(NamedTuple):
    """Matches of a partition: how many, and their lines, empty if they are not asked for."""

    partition: str
    records: int
    lines: bytes


class Trouble(NamedTuple):
    """The unit that could not be read."""

    partition: str
    sentence: str


class Done(NamedTuple):
    """A unit was searched: about how many bytes. `left`: the files beside logs that were not."""

    partition: str
    size: int
    left: LeftOut = LeftOut()


Event = FoundLines | Trouble | Done


def size_of_lines(event: object) -> int:
    """The bytes that count for AHEAD."""
    return len(event.lines) if isinstance(event, FoundLines) else 0


def tell_found(
    partition: str, found: Iterator[Records], lines: LineMaker | None, most: int | None, tell: Callable[[Event], None]
) -> None:
    """Tell the selected records, up to `most` of them."""
    left = most
    for records in found if most != 0 else ():
        kept = records if left is None else Records(records.data, records.rows[:left])
        tell(FoundLines(partition, len(kept), b"".join(map(bytes, lines.pieces(kept))) if lines else b""))
        if left is not None:
            left -= len(kept)
            if left == 0:
                return
        del records, kept  # and with them a large batch's memory, before the next is unpacked


@contextmanager
def reported_errors(partition: str, tell: Callable[[Trouble], None]) -> Iterator[None]:
    """Return a context that reports an error of its block, so that the search goes on with the next unit."""
    try:
        yield
    except KafkafsError as error:
        tell(Trouble(partition, f"{partition}: {error}"))
