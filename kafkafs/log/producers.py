"""Which producers have a transaction open at a partition's end, as DescribeProducers tells of them.

The broker writes what it knows of producers into a `.snapshot` when a segment begins, and at a clean stop for the log
end; from the newest one on the batches tell the rest. Sources: ProducerStateManager, ProducerAppendInfo.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batches import Batches, is_control, is_transactional
from kafkafs.format.control import coordinator_epoch
from kafkafs.format.producer_snapshot import parse_producer_snapshot
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.transactions import marker_records

_UNREADABLE = (NotFound, CorruptData, Denied, DiskError, Vanished)


class OpenTransaction(NamedTuple):
    """A producer's open transaction; epochs are None where no batch or marker has told one."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    first_offset: int
    last_timestamp: int


@dataclass(slots=True)
class _Producer:
    """What is known of a producer; `first_offset` is -1 without an open transaction."""

    epoch: int
    coordinator_epoch: int
    first_offset: int
    last_timestamp: int


def open_transactions(partition: Partition, log: Log) -> list[OpenTransaction]:
    """The transactions that are open at the end of `log`, by their first offsets."""
    first, producers = _newest_snapshot(partition, log)
    for run in _runs(log, first):
        _follow(run, first, producers)
    found = [
        OpenTransaction(
            producer_id,
            each.epoch,
            each.coordinator_epoch if each.coordinator_epoch >= 0 else None,
            max(each.first_offset, log.start_offset),
            each.last_timestamp,
        )
        for producer_id, each in producers.items()
        if each.first_offset >= 0
    ]
    return sorted(found, key=lambda each: (each.first_offset, each.producer_id))


def _newest_snapshot(partition: Partition, log: Log) -> tuple[int, dict[int, _Producer]]:
    """The offset of the newest snapshot that can be read, and the producers in it; of none, the log's first."""
    names = partition.listing().snapshots
    for offset in sorted(names, reverse=True):
        if offset > log.end_offset:
            continue
        try:
            told = parse_producer_snapshot(partition.root.read_whole(f"{partition.name.directory}/{names[offset]}"))
        except _UNREADABLE:
            continue
        return offset, {
            each.producer_id: _Producer(
                each.producer_epoch, each.coordinator_epoch, each.transaction_first_offset, each.timestamp
            )
            for each in told
            if each.coordinator_epoch >= 0 or each.transaction_first_offset >= 0
        }
    return log.start_offset, {}


def _runs(log: Log, first: int) -> Iterator[BatchRun]:
    return (item for _, item in log.walk(first, log.end_offset) if isinstance(item, BatchRun))


def _follow(run: BatchRun, first: int, producers: dict[int, _Producer]) -> None:
    """Takes a run's transactional batches into account."""
    wanted = is_transactional(run.rows) & (run.rows["base_offset"] >= first)
    control = is_control(run.rows)
    told = iter(_coordinator_epochs(run, run.rows[wanted & control]))
    for row in np.flatnonzero(wanted).tolist():
        batch = run.rows[row]
        producer_id, epoch = int(batch["producer_id"]), int(batch["producer_epoch"])
        producer = producers.setdefault(producer_id, _Producer(epoch, -1, -1, -1))
        producer.epoch, producer.last_timestamp = epoch, int(batch["max_timestamp"])
        if control[row]:
            producer.first_offset = -1
            coordinator = next(told)
            producer.coordinator_epoch = producer.coordinator_epoch if coordinator is None else coordinator
        elif producer.first_offset < 0:
            producer.first_offset = int(batch["base_offset"])


def _coordinator_epochs(run: BatchRun, markers: Batches) -> list[int | None]:
    """What each of these markers says; None where compaction has emptied one, or it cannot be read."""
    found: list[int | None] = [None] * len(markers)
    for piece in marker_records(run, markers):
        for at, marker in enumerate(piece.rows["batch"].tolist()):
            found[marker] = coordinator_epoch(piece.value(at) or b"")
    return found
