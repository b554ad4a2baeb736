"""The history of one group: each record about it that `__consumer_offsets` still has, in the order of the log.

`HistoryReplay` picks the group's records while the partition is read and followed. They are kept packed, so that a
million commits take a few megabytes. A `History` is a picture of them at one moment. It makes rows when they are read.
Sources: GroupCoordinatorShard, OffsetMetadataManager.
"""

import marshal
import struct
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kafkafs.cluster.following import Following, Replay, follow
from kafkafs.cluster.group_records import Topics, read_group
from kafkafs.cluster.kept_records import LastValue
from kafkafs.cluster.row_lines import Row, known, line
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_record
from kafkafs.format.records import Records
from kafkafs.format.tables import Flags
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions

FIELDS = (
    "logOffset", "timestamp", "event", "topic", "partition", "offset", "metadata", "commitTimestamp", "change",
    "logEndThen", "lagThen", "transaction", "state", "generation", "members",
)  # fmt: skip
"""The fields of a line, in order."""

COMMIT, EXPIRE, GROUP, DELETE = "commit", "expire", "group", "delete"
_NO_TRANSACTION, _OPEN, _COMMITTED, _ABORTED = range(4)
_TRANSACTIONS = (None, "open", "committed", "aborted")
_OFFSETS = ("LegacyOffsetCommit", "OffsetCommit")
_CLASSIC = "GroupMetadata"
_HEADS = {"ConsumerGroupMetadata": "Consumer", "ShareGroupMetadata": "Share", "StreamsGroupMetadata": "Streams"}
_NO_TOPICS = Topics(lambda _: None, lambda _: None)

_PACKED = 512
"""Records that are packed together."""

_MOST_FOLLOWED = 8
"""Groups that are followed."""

_SAVED = 16
"""Packs between two places that the text can be made again from."""

EndsThen = Callable[[str, int, Iterable[int]], Mapping[int, int | None]]
"""Topic, partition, times -> the log end at each of them."""


class _Event(NamedTuple):
    """A record about the group."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes | None


class HistoryReplay(Replay):
    """The replay that collects the history of one group."""

    def __init__(self, name: bytes) -> None:
        prefix = struct.pack(">h", len(name)) + name
        self._prefix = np.frombuffer(prefix, np.uint8)
        super().__init__()

    def _forget(self) -> None:
        self._packed: list[bytes] = []
        self._waiting: list[_Event] = []
        self._outcomes = bytearray()
        self._open: defaultdict[int, list[int]] = defaultdict(list)  # by producer the numbers of commits

    def add(self, records: Records, batches: Batches) -> None:
        """Some records in order."""
        of_batch = records.rows["batch"]
        control = is_control(batches)[of_batch]
        mine = self._is_mine(records) & ~control
        producers = batches["producer_id"][of_batch]
        waited = {*self._open, *producers[mine].tolist()} - {-1}
        ends = control & np.isin(producers, list(waited)) if waited else np.zeros(len(records), np.bool_)
        for number in np.flatnonzero(mine | ends).tolist():
            producer = int(producers[number])
            if ends[number]:
                self._end(producer, control_type(records.key(number) or b""))
            else:
                self._add(records, number, producer)

    def _is_mine(self, records: Records) -> Flags:
        """The records whose key names the group."""
        rows, data, size = records.rows, records.data, len(self._prefix)
        mine = rows["key_size"] >= 2 + size
        places = rows["key_at"].astype(np.int64) + 2
        for at in (1, 0, size - 1):  # most differ there
            found = np.flatnonzero(mine)
            mine[found] = data[places[found] + at] == self._prefix[at]
        found = np.flatnonzero(mine)
        mine[found] = (data[places[found][:, None] + np.arange(size)] == self._prefix).all(1)
        return mine

    def _add(self, records: Records, number: int, producer: int) -> None:
        row, value = records.rows[number], records.value(number)
        key = bytes(records.key(number) or b"")
        event = _Event(int(row["offset"]), int(row["timestamp"]), key, None if value is None else bytes(value))
        if isinstance(parse_record(InternalTopic.OFFSETS, key, None), Unreadable):  # Kafka ignores this type
            return
        if producer >= 0:
            self._open[producer].append(len(self._outcomes))
        self._outcomes.append(_NO_TRANSACTION if producer < 0 else _OPEN)
        self._waiting.append(event)
        if len(self._waiting) == _PACKED:
            self._packed.append(zlib.compress(marshal.dumps([tuple(each) for each in self._waiting]), 1))
            self._waiting.clear()

    def _end(self, producer: int, marker: ControlType | int | None) -> None:
        if marker in (ControlType.COMMIT, ControlType.ABORT):
            for number in self._open.pop(producer, ()):
                self._outcomes[number] = _COMMITTED if marker is ControlType.COMMIT else _ABORTED

    def history(self, ends_then: EndsThen) -> "History":
        """The whole history as it is now."""
        return History(tuple(self._packed), tuple(self._waiting), bytes(self._outcomes), ends_then)


class Histories:
    """The groups whose history was asked for last. Each reads its partition once, and follows it from then on.

    No `functools.lru_cache`: one that fails, or whose partition is another one, is not kept.
    """

    def __init__(self, options: ReadOptions, until_ms: int | None, ends_then: EndsThen) -> None:
        self._options = options
        self._until_ms = until_ms
        self._ends_then = ends_then
        self._followed: OrderedDict[bytes, Following[HistoryReplay]] = OrderedDict()

    def of(self, name: bytes, partition: Partition) -> "History":
        """Return the history of a group from that partition, as of now."""
        known, made = self._followed.pop(name, None), partial(HistoryReplay, name)
        followed = follow(known, partition, made, self._options, self._until_ms)
        followed.catch_up()
        self._followed[name] = followed
        if len(self._followed) > _MOST_FOLLOWED:
            self._followed.popitem(last=False)
        return followed.replay.history(self._ends_then)


@dataclass
class _State:
    """The state of the group after the records so far."""

    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    members: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class History:
    """The records about a group at one moment."""

    def __init__(self, packed: Sequence[bytes], rest: Sequence[_Event], outcomes: bytes, ends_then: EndsThen) -> None:
        self._packed = packed
        self._rest = rest
        self._outcomes = outcomes
        self._ends_then = ends_then
        self._states = {0: _State()}  # by the number of the pack that follows

    def __len__(self) -> int:
        return len(self._outcomes)

    def places(self) -> set[tuple[str, int]]:
        """The partitions that the history names."""
        found = set()
        for number in range(len(self._packed) + 1):
            for event in self._events(number):
                message = parse_record(InternalTopic.OFFSETS, event.key, None)
                if isinstance(message, Message) and message.name in _OFFSETS and message.key:
                    found.add((message.key["topic"], message.key["partition"]))
        return found

    def rows(self) -> Iterator[Row]:
        """A row for each record."""
        state = _State()
        for number in range(len(self._packed) + 1):
            yield from self._rows(number, state)

    def pieces(self, first: int) -> Iterator[tuple[int | None, bytes]]:
        """The lines from pack `first` on, a place to go on from beside some of them: see `streams.Pieces`."""
        state = deepcopy(self._states[first])
        for number in range(first, len(self._packed) + 1):
            text = b"".join(line(row) for row in self._rows(number, state))
            is_place = (number + 1) % _SAVED == 0
            if is_place:
                self._states[number + 1] = deepcopy(state)
            if text:
                yield number + 1 if is_place else None, text

    def _events(self, number: int) -> Sequence[_Event]:
        if number == len(self._packed):
            return self._rest
        return [_Event(*each) for each in marshal.loads(zlib.decompress(self._packed[number]))]

    def _rows(self, number: int, state: _State) -> list[Row]:
        outcomes = self._outcomes[number * _PACKED : (number + 1) * _PACKED]
        made = [_row(event, outcome, state) for event, outcome in zip(self._events(number), outcomes, strict=True)]
        self._add_ends(made)
        return made

    def _add_ends(self, made: Sequence[Row]) -> None:
        """Sets where the logs ended when offsets were committed."""
        times: defaultdict[tuple[Any, Any], set[Any]] = defaultdict(set)
        for row in made:
            if row["commitTimestamp"] is not None:
                times[row["topic"], row["partition"]].add(row["commitTimestamp"])
        ends = {place: self._ends_then(*place, asked) for place, asked in times.items()}
        for row in made:
            place: Any = row["topic"], row["partition"]
            time: Any = row["commitTimestamp"]
            offset: Any = row["offset"]
            end = ends[place].get(time) if time is not None else None
            if end is not None and offset is not None:
                row["logEndThen"], row["lagThen"] = end, max(end - offset, 0)


def _row(event: _Event, outcome: int, state: _State) -> Row:
    """The row of a record, but for where the log ended then; `state` becomes that behind it."""
    row: Row = dict.fromkeys(FIELDS) | {"logOffset": event.offset, "timestamp": known(event.timestamp)}
    message = parse_record(InternalTopic.OFFSETS, event.key, event.value)
    is_lost = isinstance(message, Unreadable)  # its value: the key has been read
    if isinstance(message, Unreadable):
        message = parse_record(InternalTopic.OFFSETS, event.key, None)
    assert isinstance(message, Message)
    value = message.value
    if message.name in _OFFSETS:
        return row | _offset(message, outcome, state, is_tombstone=event.value is None)
    if event.value is None and (message.name == _CLASSIC or message.name in _HEADS):
        state.epochs.pop(_HEADS.get(message.name, ""), None)
        return row | {"event": DELETE}
    row["event"] = GROUP
    if message.name == _CLASSIC:
        if not is_lost:
            group = read_group([(event.key, LastValue(event.offset, event.value or b""))], _NO_TOPICS)
            members = None if group.members is None else len(group.members)
            row |= {"state": group.state, "generation": group.generation, "members": members}
        return row
    kind = next(kind for kind in _HEADS.values() if message.name.startswith(kind))
    if message.name in _HEADS and value is not None:
        state.epochs[kind] = value["epoch"]
    elif message.name == f"{kind}GroupMemberMetadata":
        change = state.members[kind].discard if event.value is None else state.members[kind].add
        change((message.key or {})["memberId"])
    epoch = state.epochs.get(kind)
    return row | {"generation": None if epoch is None else known(epoch), "members": len(state.members[kind])}


def _offset(message: Message, outcome: int, state: _State, *, is_tombstone: bool) -> Row:
    """Make the fields of a commit, or of its tombstone."""
    key, value = message.key or {}, message.value
    place = key["topic"], key["partition"]
    row: Row = {"event": EXPIRE if is_tombstone else COMMIT, "topic": place[0], "partition": place[1]}
    if is_tombstone:
        return row
    row["transaction"] = _TRANSACTIONS[outcome]
    if value is None:
        return row
    offset, before = value["offset"], state.committed.get(place)
    if outcome in (_NO_TRANSACTION, _COMMITTED):
        state.committed[place] = offset
    return row | {
        "offset": offset,
        "metadata": value["metadata"],
        "commitTimestamp": known(value["commitTimestamp"]),
        "change": None if before is None else offset - before,
    }
