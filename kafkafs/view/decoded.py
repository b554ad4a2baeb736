"""Decoded views: records as lines of JSON, a record's key or value alone."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kafkafs.errors import NoData
from kafkafs.format.batch import Batch
from kafkafs.format.names import PartitionName
from kafkafs.log.reading import Record
from kafkafs.log.segment import Segment
from kafkafs.view.following import Following
from kafkafs.view.jsonl import JsonLines
from kafkafs.view.node import Attributes
from kafkafs.view.raw import batch_xattrs
from kafkafs.view.recall import Recall
from kafkafs.view.scene import KEEP_S, Scene
from kafkafs.view.streams import Pieces, Stream
from kafkafs.view.targets import PointTarget, RangeTarget, Sight

_OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""


class BytesContent:
    """A small answer, whole in memory."""

    follows = False
    keep_cache = False

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]

    def close(self) -> None:
        self._data = b""


class _Found(NamedTuple):
    """The record that a point leads to, without the batch's bytes, and the view's answer; None for null."""

    segment: Segment
    batch: Batch
    offset: int
    timestamp: int
    answer: bytes | None


_recall: Recall[_Found] = Recall()


class _OneRecord:
    """What the views of one record share: the record, and its attributes with the answer's true size."""

    def __init__(self, scene: Scene, target: PointTarget) -> None:
        self._scene = scene
        self._target = target

    def _found(self, sight: Sight) -> _Found:
        """The record and the answer; found once for each state of the log."""
        found = _recall.get(self, sight)
        if found is not None:
            found.segment.check(found.segment.log())
        else:
            record = self._target.record(sight)
            answer = self._answer(record, sight.log.name)
            found = _Found(record.segment, record.batch, record.offset, record.timestamp, answer)
            _recall.put(self, sight, found, len(answer or b"") + _OVERHEAD)
        return found

    def _answer(self, record: Record, name: PartitionName) -> bytes | None:
        raise NotImplementedError

    def attributes(self) -> Attributes:
        def attributes(sight: Sight) -> Attributes:
            found = self._found(sight)
            return self._scene.file([found.segment.log()], len(found.answer or b""), found.timestamp, KEEP_S)

        return self._scene.ask(attributes)

    def open(self) -> BytesContent:
        found = self._scene.ask(self._found)
        if found.answer is None:
            raise NoData(f"{self._scene.shown_as}: the record at offset {found.offset} has null there")
        return BytesContent(found.answer)

    def xattrs(self) -> Mapping[str, bytes]:
        found = self._scene.ask(self._found)
        return batch_xattrs(found.segment, found.batch, found.offset)


class JsonPoint(_OneRecord):
    """`.jsonl` of a point: the record as one line."""

    def _answer(self, record: Record, name: PartitionName) -> bytes:
        return b"".join(JsonLines(name.topic, name.partition).pieces(record.columns))


class FieldPoint(_OneRecord):
    """`.key` and `.value`: the bytes alone; a null has none, and opening it fails."""

    def __init__(self, scene: Scene, target: PointTarget, field: Literal["key", "value"]) -> None:
        super().__init__(scene, target)
        self._field = field

    def _answer(self, record: Record, name: PartitionName) -> bytes | None:  # noqa: ARG002 (only a line names it)
        data = record.columns.key(0) if self._field == "key" else record.columns.value(0)
        return None if data is None else bytes(data)


class JsonRange:
    """`.jsonl` and `.follow.jsonl` of a range: a stream of the visible records, a line each."""

    def __init__(self, scene: Scene, target: RangeTarget, follows: bool) -> None:
        self._scene = scene
        self._target = target
        self._follows = follows

    def attributes(self) -> Attributes:
        return self._scene.ask(lambda sight: self._scene.stream(sight, *self._target.offsets(sight, decoded=True)))

    def open(self) -> Stream:
        return self._scene.ask(self._open)

    def _open(self, sight: Sight) -> Stream:
        if self._follows:
            following = Following(self._scene, sight, self._target)
            return Stream(lambda offset: self._followed(following, offset), following.earliest, following.has_more)
        start, end = self._target.offsets(sight, decoded=True)
        start = max(start, sight.log.start_offset)
        end = sight.decoded.end_offset if end is None else end
        return Stream(lambda offset: self._lines(sight, offset, end), start, held=sight.log.hold(start, end))

    def _followed(self, following: Following, offset: int) -> Pieces:
        sight = following.sight_from(offset)
        start = following.start(sight)
        if start is None:
            return
        for behind, piece in self._lines(sight, max(start, offset), None):
            if behind is not None:
                following.give(behind)
            yield behind, piece
        following.reach(sight)

    def _lines(self, sight: Sight, start: int, end: int | None) -> Pieces:
        name = sight.log.name
        lines = JsonLines(name.topic, name.partition)
        for records in sight.decoded.records(start, end):
            made: memoryview | None = None
            for piece in lines.pieces(records):
                if made is not None:
                    yield None, made
                made = piece
            if made is not None:
                yield int(records.rows["offset"][-1]) + 1, made
            del records  # and with it a large batch's memory, before the next is unpacked

    def xattrs(self) -> Mapping[str, bytes]:
        return {}
