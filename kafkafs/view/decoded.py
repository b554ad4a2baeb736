"""Decoded views: records as lines of JSON, a record's key or value alone."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from kafkafs.errors import NoData
from kafkafs.format.jsonl import LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.format.records import Records
from kafkafs.log.lookup import Found
from kafkafs.view.answer_cache import OVERHEAD, RecordAnswer
from kafkafs.view.following import Follower
from kafkafs.view.line_makers import Lines, PlainLines
from kafkafs.view.node import KEEP_S, Attributes, BytesContent, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.range_file import Make, RangeFile
from kafkafs.view.raw import batch_xattrs
from kafkafs.view.streams import Pieces, Stream
from kafkafs.view.targets import LogSnapshot, PointTarget, RangeTarget


class _OneRecord:
    """What the views of one record share: the record, and its attributes with the answer's true size."""

    def __init__(self, view: PartitionView, target: PointTarget) -> None:
        self._view = view
        self._target = target

    def _found(self, snapshot: LogSnapshot) -> RecordAnswer:
        """The record and what is shown of it; found once for each state of the log."""
        answers = self._view.resources.answers
        found = answers.get(self, snapshot)
        if found is not None:
            found.segment.check(found.segment.log())
        else:
            record = self._target.record(snapshot)
            shown = self._shown(record, snapshot.log.name)
            found = RecordAnswer(record.segment, record.batch, record.offset, record.timestamp, shown)
            answers.put(self, snapshot, found, len(shown or b"") + OVERHEAD)
        return found

    def _shown(self, found: Found, name: PartitionName) -> bytes | None:
        raise NotImplementedError

    def attributes(self) -> Attributes:
        """The exact size, for which the record is decoded, 0 for null; the record's time, or the log's own."""
        return self._view.ask(self._attributes)

    def _attributes(self, snapshot: LogSnapshot) -> Attributes:
        found = self._found(snapshot)
        return self._view.file_attributes([found.segment.log()], len(found.shown or b""), found.timestamp, KEEP_S)

    def open(self) -> BytesContent:
        """What `attributes` has mostly decoded already, whole in memory; NoData for null."""
        found = self._view.ask(self._found)
        if found.shown is None:
            raise NoData(f"{self._view.shown_as}: the record at offset {found.offset} has null there")
        return BytesContent(found.shown)

    def xattrs(self) -> Mapping[str, bytes]:
        """Those of the record's batch, and the record's own offset."""
        found = self._view.ask(self._found)
        return batch_xattrs(found.segment, found.batch, found.offset)


class JsonPoint(_OneRecord):
    """`.jsonl` and `.decoded.jsonl` of a point: the record as one line."""

    def __init__(self, view: PartitionView, target: PointTarget, lines: type[Lines] = PlainLines) -> None:
        super().__init__(view, target)
        self._lines = lines

    def attributes(self) -> Attributes:
        """As of each view of one record; decoded lines are for those only who may read the schemas too."""
        return self._lines.attributes(self._view, super().attributes())

    def _shown(self, found: Found, name: PartitionName) -> bytes:
        return b"".join(self._lines(self._view).maker(name).pieces(found.record))


class FieldPoint(_OneRecord):
    """`.key` and `.value`: the bytes alone; a null has none, and opening it fails."""

    def __init__(self, view: PartitionView, target: PointTarget, field: Literal["key", "value"]) -> None:
        super().__init__(view, target)
        self._field = field

    def _shown(self, found: Found, name: PartitionName) -> bytes | None:  # noqa: ARG002 (only a line names it)
        data = found.record.key(0) if self._field == "key" else found.record.value(0)
        return None if data is None else bytes(data)


class JsonRange(RangeFile):
    """`.jsonl` of a range, decoded too: the visible records, a line each."""

    isolated = True

    def __init__(self, view: PartitionView, target: RangeTarget, lines: type[Lines] = PlainLines) -> None:
        super().__init__(view, target, lines)
        self._lines = lines

    def attributes(self) -> Attributes:
        """See `RangeFile`. Decoded lines are for those only who may read the schemas too."""
        return self._lines.attributes(self._view, super().attributes())

    def _end(self, snapshot: LogSnapshot) -> int:
        return snapshot.visible.visible_end

    def _maker(self) -> tuple[object, Callable[[LogSnapshot, int], Make]]:
        lines = self._lines(self._view)
        return lines.made_by, lambda snapshot, end: lambda offset: _between(lines, snapshot, offset, end)


class JsonFollower(NoXattrs):
    """`.follow.jsonl` of an open range, decoded too: a stream that goes on with what becomes visible."""

    def __init__(self, view: PartitionView, target: RangeTarget, lines: type[Lines] = PlainLines) -> None:
        self._view = view
        self._target = target
        self._lines = lines

    def attributes(self) -> Attributes:
        """A stream's, of size 0; the largest timestamp that the indexes tell. Decoded: see `JsonPoint`."""
        own = self._view.ask(
            lambda snapshot: self._view.stream_attributes(snapshot, *self._target.offsets(snapshot, isolated=True))
        )
        return self._lines.attributes(self._view, own)

    def open(self) -> Stream:
        """What is visible now and what will be, until it is another log."""
        return self._view.ask(self._open)

    def _open(self, snapshot: LogSnapshot) -> Stream:
        following = Follower(self._view, snapshot, self._target)
        budget = self._view.resources.text
        return Stream(lambda offset: self._followed(following, offset), following.earliest, budget, following.has_more)

    def _followed(self, following: Follower, offset: int) -> Pieces:
        snapshot = following.snapshot_from(offset)
        start = following.start(snapshot)
        if start is None:
            return
        for behind, piece in _between(self._lines(self._view), snapshot, max(start, offset), None):
            if behind is not None:
                following.give(behind)
            yield behind, piece
        following.reach(snapshot)


def _between(lines: Lines, snapshot: LogSnapshot, start: int, end: int | None) -> Pieces:
    return line_pieces(lines.maker(snapshot.log.name), snapshot.visible.records(start, end))


def line_pieces(lines: LineMaker, found: Iterator[Records]) -> Pieces:
    """The lines of those records, as a `Stream` takes them."""
    for records in found:
        made: memoryview | None = None
        for piece in lines.pieces(records):
            if made is not None:
                yield None, made
            made = piece
        if made is not None:
            yield int(records.rows["offset"][-1]) + 1, made
        del records  # and with it a large batch's memory, before the next is unpacked
