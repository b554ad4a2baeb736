"""Members that left groups, and groups that came to their end, in lost records of `__consumer_offsets`.

A coordinator gives up on the whole partition, and with it on every group there, if it replays one of three records: the
end of a group of a newer protocol of which it still knows members; a record of another protocol for such a group; or
that a member got what another still owns. So what such a record presupposes stood among what is lost before it, and
tombstones of it are rewritten in that place. Sources: GroupMetadataManager.replay, ConsumerGroup.addPartitionEpochs.
Keys are an int16 of the record's type, the group and the member, each with its length.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import merge
from typing import NamedTuple

import numpy as np

from kafkafs.cluster.kept_records import HEAD
from kafkafs.cluster.last_values import kind_of, name_of
from kafkafs.format.batch import walk
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.tally import GroupEnd

_NUMBER = struct.Struct(">h")
_CLASSIC = 2


class _Protocol(NamedTuple):
    """The types of a newer protocol's records, in the order in which tombstones of them can stand."""

    current: int
    target_member: int
    member: int
    target: int
    group: int


_PROTOCOLS = (_Protocol(8, 7, 5, 6, 3), _Protocol(14, 13, 10, 12, 11), _Protocol(22, 21, 19, 20, 17))
_BY_NUMBER = {number: protocol for protocol in _PROTOCOLS for number in protocol}
_RANKS = {_CLASSIC: 0} | {number: rank for each in _PROTOCOLS for rank, number in enumerate(each)}
_GROUP_KINDS = np.array([*_RANKS])

_Owned = frozenset[tuple[str, int]]
"""Topic ids and partitions."""

_NOTHING: _Owned = frozenset()


class _Group:
    """The knowledge of a coordinator about a group: the keys that have a value, and the offset of each."""

    def __init__(self, protocol: _Protocol | None) -> None:
        self.protocol = protocol
        self.known: dict[bytes, int] = {}
        self.owned: dict[bytes, _Owned] = {}
        """By the key of what a member is assigned."""

    def of(self, number: int) -> list[bytes]:
        """The known keys of that type."""
        return [key for key in self.known if kind_of(key) == number]

    def presupposed(self, protocol: _Protocol, event: "_Event") -> list[bytes]:
        """The keys that were removed before such a record."""
        if self.protocol is not protocol:
            return [*self.known]
        key, number = event.key, kind_of(event.key)
        if event.owned:
            return [each for each in self.of(number) if each != key and self.owned[each] & event.owned]
        if not event.is_tombstone or number in (protocol.current, protocol.target_member):
            return []
        if number == protocol.member:
            same = (_as(protocol.current, key), _as(protocol.target_member, key))
            return [each for each in same if each in self.known]
        if number == protocol.target:
            return self.of(protocol.target_member)
        return [each for each in self.known if each != key]


class _Event(NamedTuple):
    """A record about a group. `owned`: the partitions that a member owns by the record."""

    offset: int
    key: bytes
    is_tombstone: bool
    owned: _Owned = _NOTHING


class _Groups:
    """All groups of a partition, as a coordinator that reads it from its beginning knows them."""

    def __init__(self) -> None:
        self._groups: dict[bytes, _Group] = {}

    def add(self, event: _Event) -> dict[bytes, int]:
        """A record: what it presupposes to be gone and was not, each key with the offset of its record."""
        name, protocol = name_of(event.key), _BY_NUMBER.get(kind_of(event.key))
        group = self._groups.get(name)
        if protocol is None:
            self._groups.pop(name, None)
            if not event.is_tombstone:
                self._groups[name] = _Group(None)
                self._groups[name].known[event.key] = event.offset
            return {}
        gone = {} if group is None else {each: group.known.pop(each) for each in group.presupposed(protocol, event)}
        if group is not None and group.protocol is not protocol:
            group = None
        if event.is_tombstone:
            if group is not None:
                group.known.pop(event.key, None)
            if group is None or kind_of(event.key) == protocol.group:
                self._groups.pop(name, None)
            return gone
        group = self._groups[name] = group or _Group(protocol)
        group.known[event.key], group.owned[event.key] = event.offset, event.owned
        if kind_of(event.key) == protocol.current:  # it makes a member, which its tombstone does not remove
            group.known.setdefault(_as(protocol.member, event.key), event.offset)
        return gone


class _Room:
    """Lost offsets from `first` on, and the keys whose tombstones are to be there."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self._size = first, last - first + 1
        self._keys = set[bytes]()

    def add(self, keys: Iterable[bytes]) -> bool | None:
        """True if any of these keys is new here, or None if there is no room for them."""
        more = self._keys.union(keys)
        if len(more) > self._size:
            return None
        is_new, self._keys = len(more) > len(self._keys), more
        return is_new

    @property
    def keys(self) -> list[bytes]:
        """The keys, in an order in which a coordinator can take their tombstones."""
        return sorted(self._keys, key=lambda key: (_RANKS[kind_of(key)], key))


class LostGroupEnds:
    """The ends of groups, and of their members, in lost records. A scan of its own finds the missing records of a
    partition, once something is lost."""

    def __init__(self, scan: Callable[[], PartitionScan]) -> None:
        """`scan` begins one of the same partition."""
        self._scan = scan

    def between(self, first: int, last: int) -> list[GroupEnd]:
        """The ends that stood between these offsets, both included, in order."""
        return [each for each in self._found if first <= each.offset <= last]

    @cached_property
    def _found(self) -> list[GroupEnd]:
        events, rooms = self._read()
        while _fill(events, rooms):  # added events presuppose others in turn
            pass
        filled = ((room.first, room.keys) for room in rooms if room.keys)
        return [GroupEnd(first, tuple(keys), tuple(sorted({_text(key) for key in keys}))) for first, keys in filled]

    def _read(self) -> tuple[list[_Event], list[_Room]]:
        """The log's records about groups, and the room in it."""
        scan, events, rooms = self._scan(), list[_Event](), list[_Room]()
        seen, expected = 0, scan.tally.start_offset

        def take_record(_: int, data: bytes | memoryview) -> None:
            nonlocal seen, expected
            rows = walk(data, 0).rows
            if scan.tally.lost > seen and expected < rows["base_offset"][0]:
                rooms.append(_Room(expected, int(rows["base_offset"][0]) - 1))
            seen, expected = scan.tally.lost, int(rows["last_offset"][-1]) + 1
            for piece in decode(data, 0, rows, MAX_BATCH):
                if not isinstance(piece, Refusal):
                    events.extend(_events_of(piece))

        for _ in scan.segments(take_record):
            pass
        return events, rooms


def _fill(events: Sequence[_Event], rooms: Sequence[_Room]) -> bool:
    """Puts into the rooms what records presuppose; whether that was anything new."""
    groups, is_new = _Groups(), False
    made = [_Event(room.first, key, is_tombstone=True) for room in rooms for key in room.keys]
    for event in merge(made, events, key=lambda each: each.offset):
        if gone := groups.add(event):
            is_new |= _put(gone, event.offset, rooms)
    return is_new


def _put(gone: Mapping[bytes, int], before: int, rooms: Sequence[_Room]) -> bool:
    """Into the last room before an offset and behind all records about them, if there is one; whether that is new."""
    for room in reversed(rooms):
        if room.first <= max(gone.values()):
            break
        if room.first <= before and (is_new := room.add(gone)) is not None:
            return is_new
    return False


def _events_of(records: Records) -> Iterator[_Event]:
    """The records that tell of groups: few, among those of offsets."""
    rows = np.flatnonzero(records.rows["key_size"] >= HEAD.size)
    numbers = records.data[records.rows["key_at"][rows, None] + np.arange(_NUMBER.size)].view(">i2").ravel()
    for number in rows[np.isin(numbers, _GROUP_KINDS)].tolist():
        key, value = bytes(records.key(number) or b""), records.value(number)
        owned = _NOTHING if value is None else _owned(key, bytes(value))
        yield _Event(int(records.rows["offset"][number]), key, value is None, owned)


def _owned(key: bytes, value: bytes) -> _Owned:
    """Return the partitions that a member of a consumer group owns by such a record, until it has given them back."""
    if kind_of(key) != _PROTOCOLS[0].current:
        return _NOTHING
    record = parse_record(InternalTopic.OFFSETS, key, value)
    fields = record.value if isinstance(record, Message) and record.value else {}
    topics = (*fields.get("assignedPartitions", ()), *fields.get("partitionsPendingRevocation", ()))
    return frozenset((each["topicId"], number) for each in topics for number in each["partitions"])


def _text(key: bytes) -> str:
    """The group's name, for a sentence."""
    return name_of(key).decode(errors="replace")


def _as(number: int, key: bytes) -> bytes:
    """The key of the same member of another type."""
    return _NUMBER.pack(number) + key[_NUMBER.size :]
