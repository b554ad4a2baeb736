"""Members that left groups, and groups that came to their end, in lost records of `__consumer_offsets`.

A coordinator that replays the end of a group of a newer protocol and still knows members of it, or a record of another
protocol for that group, gives up on the whole partition, and with it on every group there. So what such a record
presupposes stood among what is lost before it, and its tombstones are written anew in that place. Source:
GroupMetadataManager.replay. Keys are an int16 of the record's type, the group and the member, each with its length.
"""

import struct
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.tally import LARGEST_UNPACKED, Leaving

_NUMBER = struct.Struct(">h")
_NAME_AT = 4
_CLASSIC = 2


class _Protocol(NamedTuple):
    """The types of a newer protocol's records; members have those of the last three."""

    group: int
    target: int
    current: int
    target_member: int
    member: int


_PROTOCOLS = (_Protocol(3, 6, 8, 7, 5), _Protocol(11, 12, 14, 13, 10), _Protocol(17, 20, 22, 21, 19))
_BY_NUMBER = {number: protocol for protocol in _PROTOCOLS for number in protocol}
_TOLD = np.array([_CLASSIC, *_BY_NUMBER])


class _Group:
    """What a coordinator knows of a group: the keys that have a value, and the offset of each."""

    def __init__(self, protocol: _Protocol | None) -> None:
        self.protocol = protocol
        self.known: dict[bytes, int] = {}

    def of(self, *numbers: int) -> Iterator[bytes]:
        """The known keys of these types, type by type."""
        return (key for number in numbers for key in [*self.known] if _number(key) == number)

    def presupposed(self, protocol: _Protocol, key: bytes, is_tombstone: bool) -> list[bytes]:
        """The keys that were removed before such a record, in an order in which they can be."""
        if self.protocol is not protocol:
            return [*self.known] if self.protocol is None else [*self.of(*self.protocol[2:], *self.protocol[1::-1])]
        number = _number(key)
        if not is_tombstone or number in (protocol.current, protocol.target_member):
            return []
        if number == protocol.member:
            same = (_as(protocol.current, key), _as(protocol.target_member, key))
            return [each for each in same if each in self.known]
        if number == protocol.target:
            return [*self.of(protocol.target_member)]
        return [*self.of(*protocol[2:], protocol.target)]


class _Groups:
    """All groups of a partition, as a coordinator that reads it from its beginning knows them."""

    def __init__(self) -> None:
        self._groups: dict[bytes, _Group] = {}

    def take(self, offset: int, key: bytes, is_tombstone: bool) -> dict[bytes, int]:
        """A record: what it presupposes to be gone and was not, each key with the offset that told of it."""
        name, protocol = _name(key), _BY_NUMBER.get(_number(key))
        group = self._groups.get(name)
        if protocol is None:
            self._groups.pop(name, None)
            if not is_tombstone:
                self._groups[name] = _Group(None)
                self._groups[name].known[key] = offset
            return {}
        gone = {} if group is None else {
            each: group.known.pop(each) for each in group.presupposed(protocol, key, is_tombstone)
        }  # fmt: skip
        if is_tombstone:
            self._remove(name, protocol, key)
            return gone
        if group is None or group.protocol is not protocol:
            group = self._groups[name] = _Group(protocol)
        group.known[key] = offset
        if _number(key) == protocol.current:  # which makes a member, and a tombstone of it does not remove that
            group.known.setdefault(_as(protocol.member, key), offset)
        return gone

    def _remove(self, name: bytes, protocol: _Protocol, key: bytes) -> None:
        group = self._groups.get(name)
        if group is not None and group.protocol is protocol:
            group.known.pop(key, None)
        if group is not None and (_number(key) == protocol.group or group.protocol is not protocol):
            del self._groups[name]


class _Room:
    """Lost offsets, of which the first ones are given out again."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self._last, self._next = first, last, first

    def take(self, count: int) -> int | None:
        """The first of so many; None where there are no more as many."""
        offset = self._next
        if offset + count > self._last + 1:
            return None
        self._next += count
        return offset


class Leavings:
    """See the module. What a partition lacks is found by a scan of its own, once something is lost."""

    def __init__(self, scan: Callable[[], PartitionScan]) -> None:
        """`scan` begins one of the same partition."""
        self._scan = scan

    def between(self, first: int, last: int) -> list[Leaving]:
        """Those that stood between these offsets, both included, in order."""
        return [each for each in self._found if first <= each.offset <= last]

    @cached_property
    def _found(self) -> list[Leaving]:
        scan, groups = self._scan(), _Groups()
        rooms, found, seen, expected = list[_Room](), list[Leaving](), 0, scan.tally.start_offset

        def take(_: int, data: bytes | memoryview) -> None:
            """What is kept, in order: the room before it, and what its records presuppose."""
            nonlocal seen, expected
            rows = walk(data, 0).rows
            if scan.tally.lost > seen and expected < rows["base_offset"][0]:
                rooms.append(_Room(expected, int(rows["base_offset"][0]) - 1))
            seen, expected = scan.tally.lost, int(rows["last_offset"][-1]) + 1
            for piece in decode(data, 0, rows, LARGEST_UNPACKED):
                for offset, key, is_tombstone in () if isinstance(piece, Refusal) else _told(piece):
                    if gone := groups.take(offset, key, is_tombstone):
                        found.extend(_placed(gone, rooms))

        scan.kept = take
        for _ in scan.segments():
            pass
        return sorted(found)


def _placed(gone: dict[bytes, int], rooms: list[_Room]) -> Iterator[Leaving]:
    """In the last room behind all that told of them; nothing where there is none."""
    for room in reversed(rooms):
        if room.first <= max(gone.values()):
            return
        if (offset := room.take(len(gone))) is not None:
            yield Leaving(offset, tuple(gone), _name(next(iter(gone))).decode(errors="replace"))
            return


def _told(records: Records) -> Iterator[tuple[int, bytes, bool]]:
    """Offset, key, and whether it is a tombstone, of the records that tell of groups: few, among those of offsets."""
    rows = np.flatnonzero(records.rows["key_size"] >= _NAME_AT)
    numbers = records.data[records.rows["key_at"][rows, None] + np.arange(_NUMBER.size)].view(">i2").ravel()
    for number in rows[np.isin(numbers, _TOLD)].tolist():
        yield int(records.rows["offset"][number]), bytes(records.key(number) or b""), records.value(number) is None


def _number(key: bytes) -> int:
    return int(_NUMBER.unpack_from(key)[0])


def _name(key: bytes) -> bytes:
    return key[_NAME_AT : _NAME_AT + int.from_bytes(key[_NUMBER.size : _NAME_AT], "big")]


def _as(number: int, key: bytes) -> bytes:
    """The key of the same member of another type."""
    return _NUMBER.pack(number) + key[_NUMBER.size :]
