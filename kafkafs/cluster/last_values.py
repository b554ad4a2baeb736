"""The result of a whole replay of a coordinator's partition: the last value of each key, not yet parsed.

Keys of both coordinators begin alike: int16 record type, then the name of the group (or the transactional id) that the
record is about; all that is kept is kept by that name. Values are read when they are asked for, so a replay costs
little more than looking at the keys. Offsets that were committed within a transaction wait for its marker. A group that
never had more than offsets outlives them, until its own tombstone: since 4.1, whose commits have version 4, that is
always written.

Sources: CoordinatorLoaderImpl, GroupCoordinatorShard, OffsetMetadataManager.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from kafkafs.cluster.following import Replay
from kafkafs.cluster.kept_records import HEAD, NO_PRODUCER, Kept, KeptRecords, LastValue
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.messages.schema import names_by_number
from kafkafs.format.messages.topic_records import InternalTopic, is_key
from kafkafs.format.records import Records

OFFSET_COMMIT = 1
"""The record type of a committed offset. Type 0 is the same in its first version."""

UNREADABLE_KEYS = "keys that cannot be read"
_OLD_COMMIT, _COMMIT = (struct.pack(">h", kind) for kind in (0, OFFSET_COMMIT))
_GROUPS = frozenset(struct.pack(">h", kind) for kind in (2, 3, 11, 17))
"""The record types that a group begins and ends with: classic, consumer, share, streams."""

_VERSION_4 = b"\0\4"


MANY = 10_000
"""Up to this many changed names are reported one by one."""


class LastValues(Replay):
    """The last value of each key of a coordinator's partition. `kept` has, by name, the last value of each key."""

    def __init__(self, topic: InternalTopic, where: str) -> None:
        self.topic = topic
        self.where = where
        self.version = 0
        """A value that changes whenever something has changed."""

        self._types = names_by_number(topic.value, "Key")
        super().__init__()

    def _forget(self) -> None:
        self.kept = KeptRecords()
        self.version += 1
        self._changed: set[bytes] | None = None
        self._strange: defaultdict[str, set[bytes]] = defaultdict(set)  # keys

    def changed(self) -> Iterator[tuple[bytes, list[Kept]]] | None:
        """The names of which something has changed since this was asked last, each with what is kept of it now; None
        where they are more than MANY, or it is asked for the first time."""
        names, self._changed = self._changed, set()
        return None if names is None else ((name, self.kept.of(name)) for name in names)

    def sentences(self) -> list[str]:
        """Sentences about records that could not be read, and the number of strange records."""
        return [
            *self.problems,
            *(f"{self.where}: {what}: {len(keys)}" for what, keys in sorted(self._strange.items()) if keys),
        ]

    def add(self, records: Records, batches: Batches) -> None:
        """Some records in order."""
        of_batch = records.rows["batch"]
        producers, control = batches["producer_id"][of_batch], is_control(batches)[of_batch]
        if not control.any() and (producers < 0).all():
            self._take(records, 0, len(records), NO_PRODUCER)
            return
        borders = np.flatnonzero(np.diff(of_batch)) + 1
        for first, stop in zip([0, *borders.tolist()], [*borders.tolist(), len(records)], strict=True):
            if first == stop:
                continue
            if control[first]:
                self._end(int(producers[first]), control_type(records.key(first) or b""))
            else:
                self._take(records, first, stop, int(producers[first]))

    def _take(self, records: Records, first: int, stop: int, producer_id: int) -> None:
        """Records of one producer, or of none: of each key the last one, and what stood before a change from a value
        to a tombstone or back."""
        rows, data = records.rows[first:stop], records.data.data
        starts, sizes = rows["key_at"].tolist(), rows["key_size"].tolist()
        is_null = (rows["value_size"] < 0).tolist()
        last: dict[bytes, int] = {}
        turns: list[tuple[int, bytes]] = []
        for number, (at, size) in enumerate(zip(starts, sizes, strict=True)):
            key = bytes(data[at : at + size]) if size >= 0 else b""
            if key[:2] == _OLD_COMMIT and self.topic is InternalTopic.OFFSETS:
                key = _COMMIT + key[2:]
            before = last.get(key)
            if before is not None and is_null[before] != is_null[number]:
                turns.append((before, key))
            last[key] = number
        for number, key in sorted([*turns, *((number, key) for key, number in last.items())]):
            value = records.value(first + number)
            kept = None if value is None else LastValue(int(rows["offset"][number]), bytes(value), producer_id)
            self._keep(key, kept)

    def _keep(self, key: bytes, kept: LastValue | None) -> None:
        if not _is_sound(key):
            self._strange[UNREADABLE_KEYS].add(key)
            return
        if kind_of(key) not in self._types:
            of_type = self._strange[f"keys of the unknown type {kind_of(key)}"]
            of_type.discard(key) if kept is None else of_type.add(key)
            return
        if not is_key(self.topic, key):  # no known name has it either: its bytes may be chance
            self._strange[UNREADABLE_KEYS].add(key)
            return
        name = name_of(key)
        self._note(name)
        is_offset = self.topic is InternalTopic.OFFSETS and key[:2] == _COMMIT
        if kept is None:
            self.kept.remove(key)
            if self.topic is InternalTopic.OFFSETS and key[:2] in _GROUPS:
                self.kept.end(name)
            return
        if is_offset and kept.value[:2] == _VERSION_4:
            self.kept.keep_names(name)
        self.kept.put(key, kept if is_offset else kept._replace(producer_id=NO_PRODUCER))

    def _note(self, name: bytes) -> None:
        """The name has changed."""
        self.version += 1
        if self._changed is not None:
            self._changed.add(name)
            if len(self._changed) > MANY:
                self._changed = None

    def _end(self, producer_id: int, marker: ControlType) -> None:
        """A transaction ended: what was pending takes effect, unless something newer has, or is dropped."""
        if marker not in (ControlType.COMMIT, ControlType.ABORT):
            return
        for name in self.kept.settle_pending(producer_id, marker is ControlType.COMMIT):
            self._note(name)


def name_of(key: bytes) -> bytes:
    """The name that a key of either coordinator begins with."""
    _, size = HEAD.unpack_from(key)
    return key[HEAD.size : HEAD.size + size]


def kind_of(key: bytes) -> int:
    """The record type of a key."""
    return int(HEAD.unpack_from(key)[0])


def _is_sound(key: bytes) -> bool:
    """True if the key has a record type and a whole name."""
    if len(key) < HEAD.size:
        return False
    size: int = HEAD.unpack_from(key)[1]
    return 0 <= size <= len(key) - HEAD.size
