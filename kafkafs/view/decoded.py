"""Decoded views: records as lines of JSON, as they are (`.jsonl`) or with their schemas (`.decoded.jsonl`), of a point,
a range, or as they come (`.follow.jsonl`); a record's key or value alone.

Everything besides the log that lines depend on is settled when their maker, a class for each kind, is made for a view.
So the lines are the same each time they are made.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal, Protocol

from kafkafs.disk.blocking import may_block
from kafkafs.errors import Vanished
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.format.records import Records
from kafkafs.log.lineage import Change, Lineage, went_on
from kafkafs.log.log import Found, Log
from kafkafs.log.look import Look
from kafkafs.log.places import PointTarget, RangeTarget
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView, PointAnswer, PointView
from kafkafs.view.range_file import Make, RangeFile
from kafkafs.view.raw import batch_xattrs
from kafkafs.view.streams import Pieces, Stream


class Follower:
    """The source of a `.follow.jsonl`: the log as it is at each moment, as long as it still is the log that the reader
    began with. Its text goes on with what the log gets; what it has given out cannot change any more."""

    def __init__(self, view: PartitionView, look: Look, target: RangeTarget) -> None:
        self._view = view
        self._target = target
        self._start = target.start(look, isolated=True)
        self.earliest = max(look.visible.visible_end if self._start is None else self._start, look.log.start_offset)
        """Nothing below this offset is ever given out."""
        self._lineage = Lineage(look.log)
        self._read: Log | None = None  # the log of the last `look_from`
        self._changed = -1  # below this offset, what was given out may not stand there any more
        self._given = -1
        self._reached = -1  # the end of the last look that was read to its end
        self._seen = -1

    def has_more(self) -> bool:
        """True if there may be records behind those of the last look by now. Vanished if it is another log.

        Threads may ask at once, as `Stream` does so outside of its lock. A log that one of them got earlier and follows
        later looks cut, and is Vanished too: `Partition.answer` heals that, since it asks again of the newest.
        """
        return self._now().visible.visible_end > self._seen

    def start(self, look: Look) -> int | None:
        """Return the offset where the target begins, or None as long as the log has not got so far. Once it begins it
        stays."""
        if self._start is None:
            self._start = self._target.start(look, isolated=True)
        return self._start

    def give(self, end: int) -> None:
        """The records below `end` are given out."""
        if end > self._given:
            self._given = end

    def reach(self, look: Look) -> None:
        """All visible records of this look are given out."""
        self._reached = look.visible.visible_end

    def look_from(self, offset: int) -> Look:
        """The log to read from `offset` on.

        A reader that goes back must find what was there, and one that goes on what came next. Compaction, retention
        or a deletion of records may have taken either away: then it is Vanished.
        """
        look = self._now()
        self._changed = min(max(self._changed, self._changed_by(look.log)), self._given)
        if offset < self._given:
            if offset < self._changed or offset < look.log.start_offset:
                raise Vanished(f"{self._view.shown_as} was compacted or cut while it was followed; open it again")
        elif self._missed(look, offset):
            raise Vanished(f"{self._view.shown_as}: records were deleted before they were read; open it again")
        self._read = look.log
        self._seen = look.visible.visible_end
        return look

    def _changed_by(self, log: Log) -> int:
        """The offset below which a later look changed something of the last one; what comes behind what was given out
        is made of the later look."""
        if self._read is None:
            return -1
        verdict = went_on(self._read, log)
        match verdict.change:
            case Change.COMPACTED:
                return verdict.same_from
            case Change.OTHER:  # `_now` knows better, but not from which offset on
                return self._given
        return -1

    def _missed(self, look: Look, offset: int) -> bool:
        """True if the log starts behind the next record by now, for a reader that has begun."""
        start = self.start(look)
        has_begun = max(self._given, self._reached) >= 0
        return has_begun and start is not None and look.log.start_offset > max(start, offset, self._reached)

    def _now(self) -> Look:
        """The current log; Vanished if it is not the same any more."""
        return self._view.ask_open(self._followed)

    def _followed(self, look: Look) -> Look:
        self._lineage.follow(look.log)
        return look


class Lines(Protocol):
    """The lines of one suffix, for one reader."""

    @property
    def made_by(self) -> object:
        """The object that they depend on besides the log: the same object as long as they are the same lines."""

    def __init__(self, view: PartitionView) -> None:
        """Settled as of now."""

    def maker(self, name: PartitionName) -> LineMaker:
        """Makes the lines of that partition's records."""

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """The attributes of a view of such lines, by those of a view of the log alone."""


class PlainLines:
    """Lines as section "Lines" of docs/queries.md has them."""

    def __init__(self, _view: PartitionView) -> None:
        """Need nothing: the lines are made from the log alone."""
        self.made_by = None

    def maker(self, name: PartitionName) -> LineMaker:
        """See `Lines`."""
        return JsonLines(name.topic, name.partition)

    @staticmethod
    def attributes(_view: PartitionView, about: Attributes) -> Attributes:
        """The log's own."""
        return about


class SchemaLines:
    """Lines whose keys and values are decoded, by the schemas that are registered now."""

    def __init__(self, view: PartitionView) -> None:
        from kafkafs.cluster.schema_lines import lines_with_schemas  # plain lines need not wait for `cluster`

        may_block()  # schemas may have to be read, and compiled
        self.made_by = view.resources.schemas.registry()
        self.maker = lines_with_schemas(view.resources.schemas, view.options.memory)

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """Attributes for those only who may read `_schemas-0` too, unless no value of the topic has a schema of it."""
        from kafkafs.format.messages.topic_records import internal_topic  # with Kafka's schemas

        if internal_topic(view.partition.name.topic) is not None:
            return about
        return view.resources.schema_access.restricted(about)


class _OneRecord(PointView):
    """The common part of the views of one record, of which `_shown` is what is shown."""

    def _find(self, look: Look) -> PointAnswer:
        record = self._target.record(look)
        shown = self._shown(record, look.log.name)
        return PointAnswer(record.segment, record.timestamp, shown, record.batch, record.offset)

    def _shown(self, found: Found, name: PartitionName) -> bytes | None:
        raise NotImplementedError

    def xattrs(self) -> Mapping[str, bytes]:
        """The extended attributes of the record's batch, with the record's own offset."""
        found = self._view.ask(self._last_answer)
        assert found.batch is not None
        return batch_xattrs(found.segment, found.batch, found.offset)


class JsonPoint(_OneRecord):
    """`.jsonl` and `.decoded.jsonl` of a point: the record as one line."""

    def __init__(self, view: PartitionView, target: PointTarget, lines: type[Lines] = PlainLines) -> None:
        super().__init__(view, target)
        self._lines = lines

    def attributes(self) -> Attributes:
        """The attributes of a view of one record; decoded lines are for those only who may read the schemas too."""
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

    def _end(self, look: Look) -> int:
        return look.visible.visible_end

    def _made(self, look: Look, end: int) -> tuple[object, Make]:
        lines = self._lines(self._view)
        return lines.made_by, partial(_between, lines, look, end=end)


class JsonFollower(NoXattrs):
    """`.follow.jsonl` of an open range, decoded too: a stream that goes on with what becomes visible."""

    def __init__(self, view: PartitionView, target: RangeTarget, lines: type[Lines] = PlainLines) -> None:
        self._view = view
        self._target = target
        self._lines = lines

    def attributes(self) -> Attributes:
        """A stream's, of size 0; the largest timestamp that the indexes tell. Decoded: see `JsonPoint`."""
        own = self._view.ask(
            lambda look: self._view.stream_attributes(look, *self._target.offsets(look, isolated=True))
        )
        return self._lines.attributes(self._view, own)

    def open(self) -> Stream:
        """The records that are visible now and those that will be, until it is another log."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> Stream:
        self._target.check_end(look, isolated=True)
        following = Follower(self._view, look, self._target)
        budget = self._view.resources.text
        return Stream(partial(self._followed, following), following.earliest, budget, following.has_more)

    def _followed(self, following: Follower, offset: int) -> Pieces:
        look = following.look_from(offset)
        start = following.start(look)
        if start is None:
            return
        for behind, piece in _between(self._lines(self._view), look, max(start, offset), None):
            if behind is not None:
                following.give(behind)
            yield behind, piece
        following.reach(look)


def _between(lines: Lines, look: Look, start: int, end: int | None) -> Pieces:
    return line_pieces(lines.maker(look.log.name), look.visible.records(start, end))


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
