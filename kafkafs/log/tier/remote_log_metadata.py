"""The uploads by `__remote_log_metadata`, read from the disks at hand, and followed.

Only an upload in state 1 (copied, and not being deleted) counts. Records of other topics and partitions are kept as
well: a partition of that topic holds those of many. Source: RemoteLogMetadataCache.
"""

import threading
from collections.abc import Iterable, Iterator

from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import UNREADABLE, KafkafsError, Vanished
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.lineage import Lineage, last_leader_epoch
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.tier.opening import Upload

FINISHED, _DELETED = 1, 3
"""The state of an upload that was copied whole and is not being deleted, and the last one of any."""


class _State:
    """The uploads by one partition of the topic so far."""

    def __init__(self, log: Log | None = None) -> None:
        self.lineage = None if log is None else Lineage(log)
        self.read_to = 0
        self.uploads: dict[tuple[str, int], dict[str, tuple[Upload, int]]] = {}  # by segment id, with its state

    def continues_in(self, log: Log) -> bool:
        """True if what was read still is in `log`, a later look, or was deleted by retention."""
        if self.lineage is None:
            return False
        try:
            self.lineage.follow(log)
        except Vanished:
            return False
        return True

    def apply(self, value: Fields) -> None:
        """One record, which may be an update of an earlier one."""
        ids = value.get("remoteLogSegmentId")
        if ids is None:
            place = value.get("topicIdPartition")  # None in a snapshot's record, which has no partition
            if place is not None and value["remotePartitionDeleteState"] == 2:
                self.uploads[place["id"], place["partition"]] = {}
            return
        place, segment_id = ids["topicIdPartition"], ids["id"]
        known = self.uploads.setdefault((place["id"], place["partition"]), {})
        state = value["remoteLogSegmentState"]
        if "startOffset" in value:
            epochs = tuple(sorted((each["leaderEpoch"], each["offset"]) for each in value["segmentLeaderEpochs"]))
            upload = Upload(
                value["startOffset"], segment_id, {}, value["segmentSizeInBytes"], value["endOffset"], epochs,
                value["maxTimestampMs"], is_measured=True,
            )  # fmt: skip
            known[segment_id] = upload, state
        elif state == _DELETED:
            known.pop(segment_id, None)
        elif segment_id in known:
            known[segment_id] = known[segment_id][0], state


class RemoteLogMetadata:
    """The partitions of that topic on some disks. `_lock` is held while they are read on."""

    def __init__(self, partitions: Iterable[Partition], options: ReadOptions) -> None:
        copies: dict[str, list[Partition]] = {}
        for each in partitions:
            copies.setdefault(each.name.directory, []).append(each)
        self._copies = [*copies.values()]
        self._counted: list[Partition] = []  # of each partition's copies the one that counts
        self._options = options
        self._lock = threading.Lock()
        self._states: dict[Partition, _State] = {}
        self._read: CachedValue[bool] = CachedValue(options.names_fresh_s, options.clock)

    def finished(self, partition: TierPartition) -> dict[str, Upload] | None:
        """The uploads of that partition that count, by segment id; None if the topic has no word of any."""
        with self._lock:
            if self._read.fresh() is None:
                self._counted = [max(copies, key=_reached) for copies in self._copies]
                for each in self._counted:
                    self._read_on(each)
                self._read.store(True)
            key = (partition.topic_id, partition.partition)
            states = [self._states[each] for each in self._counted if each in self._states]
            known = [state.uploads[key] for state in states if key in state.uploads]
        if not known:
            return None
        return {
            segment_id: upload
            for uploads in known
            for segment_id, (upload, state) in uploads.items()
            if state == FINISHED
        }

    def _read_on(self, partition: Partition) -> None:
        """Reads what is new in a partition. A damaged record is passed over; a damaged batch ends what can be told for
        now. If the log was cut since, or created again, all of it is read again."""
        log = partition.log()
        state = self._states.get(partition)
        if state is None or not state.continues_in(log):
            state = self._states[partition] = _State(log)
        try:
            for value in _values(log, self._options, partition, state.read_to):
                state.apply(value)
        except KafkafsError:
            return
        state.read_to = log.end_offset


def _reached(partition: Partition) -> tuple[int, int]:
    """How far a copy got, as in `replicas.progress`. That module imports data directories, and they import this one."""
    try:
        return partition.answer(lambda log: (last_leader_epoch(log), log.end_offset))
    except UNREADABLE:
        return -2, -1


def _values(log: Log, options: ReadOptions, partition: Partition, start: int) -> Iterator[Fields]:
    for records in Reader(log, options, partition.transactions).records(start):
        for row in range(len(records)):
            value = records.value(row)
            message = parse_record(InternalTopic.REMOTE_LOG_METADATA, None, None if value is None else bytes(value))
            if isinstance(message, Message) and message.value is not None:
                yield message.value
