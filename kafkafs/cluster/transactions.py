"""Transactional ids with their last transaction, and open transactions of partitions: whether they hang.

One hangs whose producer belongs to no transactional id, or whose id's transaction does not have the partition: nobody
will ever end it. (The command asks for 15 minutes of silence first, which on a dead disk means nothing.) Ids are joined
by producer id, not by epoch, which a marker may have raised; former and next ids of a producer count as well.
Sources: TransactionLog, TransactionState, TransactionMetadata, FindHangingTransactionsCommand.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafkafs.cluster.following import problem_of
from kafkafs.cluster.group_records import TellProblem
from kafkafs.cluster.kept_records import LastValue
from kafkafs.cluster.row_lines import known
from kafkafs.disk.cached_value import ValidatedValue
from kafkafs.disk.data_file import is_settled
from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE
from kafkafs.format.messages.topic_records import TRANSACTION_STATES, InternalTopic, Unreadable, parse_record
from kafkafs.format.names import PartitionName
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot, producer_snapshot_bytes
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.producers import producers_at_end


class Transaction(NamedTuple):
    """The coordinator's last record of a transactional id. `producer_ids` are the former and the next one as well."""

    transactional_id: str
    producer_id: int
    producer_epoch: int | None
    state: str
    timeout_ms: int
    start_timestamp: int | None
    last_update_timestamp: int | None
    partitions: tuple[tuple[str, int], ...]
    producer_ids: tuple[int, ...]


def read_transaction(key: bytes, kept: LastValue, problem: TellProblem) -> Transaction | None:
    """The transactional id of that record; None if it cannot be read."""
    message = parse_record(InternalTopic.TRANSACTIONS, key, kept.value)
    if isinstance(message, Unreadable):
        problem((kept.offset, problem_of(message)))
        return None
    key_fields: dict[str, Any] = message.key or {}
    value: dict[str, Any] = message.value or {}
    status = value["transactionStatus"]
    if not 0 <= status < len(TRANSACTION_STATES):
        problem((kept.offset, f"its transaction status {status} is unknown"))
        return None
    producer_ids = (value["producerId"], value.get("previousProducerId", -1), value.get("nextProducerId", -1))
    return Transaction(
        key_fields["transactionalId"],
        value["producerId"],
        known(value["producerEpoch"]),
        TRANSACTION_STATES[status],
        value["transactionTimeoutMs"],
        known(value["transactionStartTimestampMs"]),
        known(value["transactionLastUpdateTimestampMs"]),
        tuple(
            sorted(
                (each["topic"], number)
                for each in value["transactionPartitions"] or ()
                for number in each["partitionIds"]
            )
        ),
        tuple(each for each in producer_ids if each >= 0),
    )


_DECIDED = ("PrepareCommit", "PrepareAbort")
_Key = tuple[Directory, str]
_Stamp = tuple[int, int, int, int, int]


class Producer(NamedTuple):
    """A producer as a partition knows it, and the transactional id that has its producer id, if any is known.
    `hanging`: true if nobody will end its open transaction; None if its coordinator's partition is not on these
    disks."""

    topic: str
    partition: int
    state: ProducerState
    transactional_id: str | None
    hanging: bool | None


class _Scanned(NamedTuple):
    """The result of a scan, and the name of the segment that was the newest then. `open`: the producers with an open
    transaction. All producers are packed: there may be millions of them."""

    newest: str | None
    open: tuple[ProducerState, ...]
    packed: bytes


class ProducerScans:
    """The findings in each partition, looked for again if its newest segment has changed."""

    def __init__(self) -> None:
        self._scanned: dict[_Key, ValidatedValue[_Scanned]] = {}  # no `Log` is kept: there may be very many partitions

    def open_in(self, partition: Partition) -> tuple[ProducerState, ...]:
        """The partition's producers with an open transaction, by its first offset; none if it cannot be read."""
        found = self._of(partition)
        return () if found is None else found.open

    def of(self, partition: Partition) -> tuple[ProducerState, ...]:
        """The partition's producers, by id; none if it cannot be read."""
        found = self._of(partition)
        return () if found is None else parse_producer_snapshot(found.packed)

    def _of(self, partition: Partition) -> _Scanned | None:
        cached = self._scanned.setdefault((partition.root, partition.name.directory), ValidatedValue())
        known = cached.latest
        if known is not None and cached.revalidated(_stamp(partition, known.newest)) is not None:
            return known
        try:
            stamp, found = partition.answer(lambda log: _scan(partition, log))
        except UNREADABLE:
            return None
        return cached.store(found, stamp)

    def keep_only(self, wanted: Iterable[Partition]) -> None:
        """Forgets the other partitions."""
        for key in self._scanned.keys() - {(each.root, each.name.directory) for each in wanted}:
            del self._scanned[key]


def _scan(partition: Partition, log: Log) -> tuple[_Stamp | None, _Scanned]:
    newest = log.segments[-1].log_name if log.segments else None
    stamp = _stamp(partition, newest)  # before what it is to prove
    producers = producers_at_end(partition, log)
    is_open = [each for each in producers if each.transaction_first_offset >= 0]
    is_open.sort(key=lambda each: (each.transaction_first_offset, each.producer_id))
    return stamp, _Scanned(newest, tuple(is_open), producer_snapshot_bytes(producers))


def _stamp(partition: Partition, newest: str | None) -> _Stamp | None:
    """The values that change with the log: those of its directory and its newest segment. None if that is not sure
    yet."""
    if newest is None:
        return None
    try:
        about = partition.root.stat(partition.name.directory)
        last = partition.root.stat(f"{partition.name.directory}/{newest}")
    except UNREADABLE:
        return None
    if not (is_settled(about.st_mtime_ns) and is_settled(last.st_mtime_ns)):
        return None
    return about.st_ino, about.st_mtime_ns, last.st_ino, last.st_size, last.st_mtime_ns


class Owners:
    """Transactional ids by the producer ids that they have, had, or will have."""

    def __init__(self, transactions: list[Transaction], all_here: bool) -> None:
        """`all_here`: every partition of the coordinator's topic is on these disks."""
        self._all_here = all_here
        self._now = {each.producer_id: each for each in transactions}
        self._other = {producer_id: each for each in transactions for producer_id in each.producer_ids}

    def join(self, name: PartitionName, state: ProducerState) -> Producer:
        """The producer of a partition with its id, and whether its open transaction hangs."""
        owner, is_open = self.owner(state.producer_id), state.transaction_first_offset >= 0
        hanging = self.hangs(name.topic, name.partition, state.producer_id) if is_open else False
        return Producer(name.topic, name.partition, state, owner.transactional_id if owner else None, hanging)

    def hangs(self, topic: str, partition: int, producer_id: int, ended_ms: int = 0) -> bool | None:
        """True if nobody will end a transaction that the producer has open there: see `Producer`. `ended_ms`: when the
        one before ended there, 0 for never; that is the one which its coordinator has decided about, where it did so
        before."""
        owner = self.owner(producer_id)
        if owner is None:
            return True if self._all_here else None
        decided = owner.last_update_timestamp if owner.state in _DECIDED else None
        is_before = decided is not None and decided <= ended_ms
        return is_before or (topic, partition) not in owner.partitions

    def owner(self, producer_id: int) -> Transaction | None:
        """The transactional id that has, had or will have that producer id."""
        return self._now.get(producer_id) or self._other.get(producer_id)
