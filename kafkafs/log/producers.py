"""Which producers have a transaction open at a partition's end, as DescribeProducers tells of them.

The broker writes what it knows of producers into a `.snapshot` when a segment begins, and at a clean stop for the log
end; from the newest one on the batches tell the rest. Sources: ProducerStateManager, ProducerAppendInfo.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.producer_states import ProducerStates

_UNREADABLE = (NotFound, CorruptData, Denied, DiskError, Vanished)


class OpenTransaction(NamedTuple):
    """A producer's open transaction; epochs are None where no batch or marker has told one."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    first_offset: int
    last_timestamp: int


def open_transactions(partition: Partition, log: Log) -> list[OpenTransaction]:
    """The transactions that are open at the end of `log`, by their first offsets."""
    first, known = _newest_snapshot(partition, log)
    producers = ProducerStates(known)
    for run in _runs(log, first):
        producers.follow(run, first)
    found = [
        OpenTransaction(
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch if each.coordinator_epoch >= 0 else None,
            max(each.transaction_first_offset, log.start_offset),
            each.timestamp,
        )
        for each in producers.states.values()
        if each.transaction_first_offset >= 0
    ]
    return sorted(found, key=lambda each: (each.first_offset, each.producer_id))


def _newest_snapshot(partition: Partition, log: Log) -> tuple[int, tuple[ProducerState, ...]]:
    """The offset of the newest snapshot that can be read, and the producers in it; of none, the log's first."""
    for offset in sorted(partition.listing().snapshots, reverse=True):
        known = snapshot_at(partition, offset) if offset <= log.end_offset else None
        if known is not None:
            return offset, known
    return log.start_offset, ()


def snapshot_at(partition: Partition, offset: int) -> tuple[ProducerState, ...] | None:
    """The producers at that offset, as a snapshot tells; None where there is none that can be read."""
    name = partition.listing().snapshots.get(offset)
    if name is None:
        return None
    try:
        return parse_producer_snapshot(partition.root.read_whole(f"{partition.name.directory}/{name}"))
    except _UNREADABLE:
        return None


def _runs(log: Log, first: int) -> Iterator[BatchRun]:
    return (item for _, item in log.walk(first, log.end_offset) if isinstance(item, BatchRun))
