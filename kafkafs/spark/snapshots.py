"""One look at each partition for all that a plan asks of it: where it begins and ends, at which offset a time is.

What the broker appends or deletes between two questions of one plan does not show. Where files vanish under a plan, all
of it is made anew, of a later look.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeVar

from kafkafs.errors import NotFound, Vanished
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.reader import Reader
from kafkafs.spark.locations import Location, partition
from kafkafs.spark.offsets import TopicPartition

Plan = TypeVar("Plan")
_ATTEMPTS = 5


class Snapshot:
    """A partition at one moment, seen under one isolation level."""

    def __init__(self, location: Location, isolation: Isolation) -> None:
        """The moment is now: NotFound where the partition is gone."""
        self.location = location
        self.isolation = isolation
        self._partition: Partition = partition(location)
        self.log: Log = self._partition.log()

    @cached_property
    def reader(self) -> Reader:
        """A reader of this log; under read_committed this looks for the last stable offset."""
        return Reader(self.log, ReadOptions(isolation=self.isolation), self._partition.transactions)

    @property
    def start_offset(self) -> int:
        """The log start offset."""
        return self.log.start_offset

    @property
    def visible_end(self) -> int:
        """The offset behind the last visible one: the log end, one past what its last batch holds, or the last stable
        offset."""
        return self.reader.visible_end


Snapshots = Mapping[TopicPartition, Snapshot]


def snapshots(locations: Mapping[TopicPartition, Location], isolation: Isolation) -> dict[TopicPartition, Snapshot]:
    """A look at each partition now."""
    return {name: Snapshot(location, isolation) for name, location in locations.items()}


def planned(
    locations: Mapping[TopicPartition, Location], isolation: Isolation, plan: Callable[[Snapshots], Plan]
) -> Plan:
    """What `plan` makes of one look at each partition; made again of later looks where files vanish under it."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return plan(snapshots(locations, isolation))
        except Vanished:
            _look_again(locations)
    return plan(snapshots(locations, isolation))


def _look_again(locations: Mapping[TopicPartition, Location]) -> None:
    for location in locations.values():
        try:
            partition(location).look_again()
        except NotFound:
            continue
