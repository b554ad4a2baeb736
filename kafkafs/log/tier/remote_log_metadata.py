"""The uploads by `__remote_log_metadata`, read from the disks at hand, and followed.

Only an upload in state 1 (copied, and not being deleted) counts. Records of other topics and partitions are kept as
well: a partition of that topic holds those of many. Source: RemoteLogMetadataCache.

The copy on a disk may lack records: its beginning or end was cut, or a batch is damaged. A broker notes every upload
before it copies the first byte. So an upload that the copy does not mention is one of those that the copy lacks.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from kafkafs.disk.blocking import ProcessLock
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import KafkafsError, NotFound, Vanished
from kafkafs.format.batch import Batch
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.lineage import Lineage, last_batch
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition, progress
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.tier.opening import Upload

_UNKNOWN, _STARTED, FINISHED, _DELETED = -1, 0, 1, 3
"""States of an upload: records of it are lost, it was begun, it was copied whole and is not being deleted; the last one
of any."""

_ALL = ""  # in place of a segment id: the partition was deleted as a whole

_Key = tuple[str, int]
"""Topic id and partition."""


class RecordedUploads(NamedTuple):
    """The uploads of one partition by the metadata topic: `finished` by segment id; the ids of those that were begun
    and of those that are or were deleted; and true if the whole partition was deleted."""

    finished: dict[str, Upload]
    begun: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    is_deleted: bool = False

    def counted(self, found: Sequence[Upload]) -> list[Upload]:
        """The complete uploads of the tier that the topic calls finished, and those about which the topic lacks the
        records. If it lacks those of a later upload, it may lack the end of one that was begun, too."""
        lacks = [
            each for each in found
            if not (self.is_deleted or each.segment_id in self.deleted or each.segment_id in self.finished)
        ]  # fmt: skip
        latest = max((each.base_offset for each in lacks if each.segment_id not in self.begun), default=-1)
        kept = {each.segment_id for each in lacks if each.segment_id not in self.begun or each.base_offset < latest}
        return [each for each in found if each.segment_id in self.finished or each.segment_id in kept]


class FollowedState:
    """The uploads by one partition of the topic so far."""

    def __init__(self, log: Log | None = None) -> None:
        self.lineage = None if log is None else Lineage(log)
        self._last: Batch | None = None
        self.read_to = 0
        self.topics: dict[_Key, str] = {}
        self.uploads: dict[_Key, dict[str, tuple[Upload | None, int]]] = {}  # by segment id, with its state

    def continues_in(self, log: Log) -> bool:
        """True if what was read still is in `log`, a later look, or was deleted by retention. This topic is never
        compacted, so the last batch that was read is as it was."""
        if self.lineage is None:
            return False
        try:
            self.lineage.follow(log)
            last = self._last
            if last is not None and last.base_offset >= log.start_offset and log.locate(last.base_offset)[1] != last:
                return False
            self._last = last_batch(log)
        except (Vanished, NotFound):
            return False
        return True

    def pass_to(self, offset: int) -> None:
        """The next record has that offset. If records before it are lost, nobody knows which begun uploads ended."""
        if offset > self.read_to:
            for known in self.uploads.values():
                known |= {each: (upload, _UNKNOWN) for each, (upload, state) in known.items() if state == _STARTED}
        self.read_to = offset + 1

    def apply(self, value: Fields) -> None:
        """One record, which may be an update of an earlier one."""
        ids = value.get("remoteLogSegmentId")
        if ids is None:
            place = value.get("topicIdPartition")  # None in a snapshot's record, which has no partition
            if place is not None and value["remotePartitionDeleteState"] == 2:
                self.uploads[place["id"], place["partition"]] = {_ALL: (None, _DELETED)}
            return
        place, segment_id = ids["topicIdPartition"], ids["id"]
        key = place["id"], place["partition"]
        self.topics.setdefault(key, place["name"])
        known = self.uploads.setdefault(key, {})
        state = value["remoteLogSegmentState"]
        if "startOffset" in value:
            epochs = tuple(sorted((each["leaderEpoch"], each["offset"]) for each in value["segmentLeaderEpochs"]))
            upload = Upload(
                value["startOffset"], segment_id, {}, value["segmentSizeInBytes"], value["endOffset"], epochs,
                value["maxTimestampMs"], is_measured=True,
            )  # fmt: skip
            known[segment_id] = upload, state
        else:
            known[segment_id] = known.get(segment_id, _NOTHING)[0] if state < _DELETED else None, state


_NOTHING = None, _UNKNOWN


class RemoteLogMetadata:
    """The partitions of that topic on some disks. `_lock` is held while they are read on."""

    def __init__(self, partitions: Callable[[], Iterable[Partition]], options: ReadOptions) -> None:
        """`partitions`: those that are there now."""
        self._partitions = partitions
        self._options = replace(options, corrupt_skip=True)
        self._lock = ProcessLock()
        self._states: dict[Partition, FollowedState] = {}
        self._read: CachedValue[bool] = CachedValue(options.names_fresh_s, options.clock)

    def recorded(self, partition: TierPartition) -> RecordedUploads | None:
        """The uploads of that partition; None if the topic does not mention it."""
        with self._lock:
            key = (partition.topic_id, partition.partition)
            known = [state.uploads[key] for state in self._followed() if key in state.uploads]
        if not known:
            return None
        merged = known[0] if len(known) == 1 else _merged(known)
        finished = {each: upload for each, (upload, state) in merged.items() if state == FINISHED and upload}
        begun = frozenset(each for each, (_, state) in merged.items() if state == _STARTED)
        deleted = frozenset(each for each, (_, state) in merged.items() if state > FINISHED)
        return RecordedUploads(finished, begun, deleted, _ALL in deleted)

    def partitions(self) -> list[TierPartition]:
        """The partitions of which an upload is finished."""
        with self._lock:
            return [
                TierPartition(state.topics[topic_id, number], number, topic_id)
                for state in self._followed()
                for (topic_id, number), uploads in state.uploads.items()
                if any(upload and state == FINISHED for upload, state in uploads.values())
            ]

    def _followed(self) -> list[FollowedState]:
        if self._read.fresh() is None:
            copies: dict[str, list[Partition]] = {}
            for each in self._partitions():
                copies.setdefault(each.name.directory, []).append(each)
            furthest = [max(each, key=progress) for each in copies.values()]
            self._states = {each: state for each in furthest if (state := self._read_on(each)) is not None}
            self._read.store(True)
        return [*self._states.values()]

    def _read_on(self, partition: Partition) -> FollowedState | None:
        """Return the state with what is new in a partition; None if it is gone. Damaged records and batches are passed
        over. If the log was cut since, or created again, all of it is read again."""
        try:
            look = partition.look_as(self._options)
        except NotFound:
            return None
        state = self._states.get(partition)
        if state is None or not state.continues_in(look.log):
            state = FollowedState(look.log)
            state.continues_in(look.log)
        with suppress(KafkafsError):
            _read_into(state, look.visible)
        return state


def _merged(known: Iterable[dict[str, tuple[Upload | None, int]]]) -> dict[str, tuple[Upload | None, int]]:
    """The records of several partitions of the topic about one partition: the topic once had another number of
    partitions. States go up."""
    merged: dict[str, tuple[Upload | None, int]] = {}
    for uploads in known:
        for each, (upload, state) in uploads.items():
            before, highest = merged.get(each, _NOTHING)
            merged[each] = upload or before, max(state, highest)
    return merged


def _read_into(state: FollowedState, reader: Reader) -> None:
    for records in reader.records(state.read_to):
        for row, offset in enumerate(records.rows["offset"].tolist()):
            state.pass_to(offset)
            value = records.value(row)
            message = parse_record(InternalTopic.REMOTE_LOG_METADATA, None, None if value is None else bytes(value))
            if isinstance(message, Message) and message.value is not None:
                state.apply(message.value)
