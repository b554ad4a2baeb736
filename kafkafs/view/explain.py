"""`.explain`: a lookup told step by step, for people who want to see how Kafka finds things, or why it did not."""

from collections.abc import Mapping
from datetime import UTC, datetime

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.batch import CODECS, Batch
from kafkafs.log.batch_runs import Damage
from kafkafs.log.segment import Segment
from kafkafs.log.wrapped import contents
from kafkafs.view.contents import BytesContent
from kafkafs.view.grammar import Suffix
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.raw import RawPoint
from kafkafs.view.targets import AtTime, LogSnapshot, PointTarget
from kafkafs.view.times import doubt


class Explanation:
    """The steps that lead to a point's batch, made anew by each open, and by each `stat` for their size."""

    def __init__(self, view: PartitionView, target: PointTarget, asked: str) -> None:
        self._view = view
        self._target = target
        self._asked = asked

    def attributes(self) -> Attributes:
        def attributes(snapshot: LogSnapshot) -> Attributes:
            segment, found = self._target.batch(snapshot)
            timestamp_ms = found.max_timestamp if isinstance(found, Batch) else -1
            return self._view.file_attributes([segment.log()], len(self._text(snapshot)), timestamp_ms, 0.0)

        return self._view.ask(attributes)

    def open(self) -> BytesContent:
        return BytesContent(self._view.ask(self._text))

    def xattrs(self) -> Mapping[str, bytes]:
        return RawPoint(self._view, self._target).xattrs()

    def _text(self, snapshot: LogSnapshot) -> bytes:
        log = snapshot.log
        lines = [
            f"{self._view.partition.name.directory}: {self._asked}",
            f"log: offsets {log.start_offset} to {log.end_offset} (log start, log end), {len(log.segments)} segments",
        ]
        if isinstance(self._target, AtTime):
            lines.append(f"time: {_moment(self._target.time_ms)}; wanted is the first record at or after it")
            if doubtful := doubt(_stem(self._asked)):
                lines.append(f"note: {doubtful}")
        steps: list[str] = []
        answer = self._answer(snapshot, *self._target.explain(snapshot, steps.append))
        lines += [f"{number}. {step}" for number, step in enumerate(dict.fromkeys(steps), start=1)]
        return ("\n".join(lines + answer) + "\n").encode()

    def _answer(self, snapshot: LogSnapshot, segment: Segment, found: Batch | Damage) -> list[str]:
        if isinstance(found, Damage):
            where = f"{found.size} bytes at position {found.position}"
            owned = f"{found.base_offset}..{found.last_offset}"
            return [f"answer: a corrupt batch, {where}, which owns offsets {owned}"]
        return [f"answer: {_batch(segment.log(), found)}", f"record: {self._record(snapshot)}"]

    def _record(self, snapshot: LogSnapshot) -> str:
        try:
            record = self._target.record(snapshot)
        except NotFound:
            return "none is visible"
        except (CorruptData, TooLarge) as error:
            return str(error)
        return f"offset {record.offset}, {_timestamp(record.timestamp)}"


def _stem(asked: str) -> str:
    return asked.removeprefix("by-time/").removesuffix(Suffix.EXPLAIN.value)


def _batch(file: DataFile, batch: Batch) -> str:
    base_offset, records = contents(file, batch)
    codec = CODECS[batch.codec] if batch.codec < len(CODECS) else f"codec {batch.codec}"
    kind = "control batch" if batch.is_control else "batch"
    return (
        f"{kind} {base_offset}..{batch.last_offset}, {batch.size} bytes at position {batch.position}, "
        f"{records} records, format v{batch.magic}, {codec}, "
        + (f"largest timestamp {batch.max_timestamp}" if batch.max_timestamp >= 0 else "without timestamps")
    )


def _timestamp(timestamp_ms: int) -> str:
    return f"timestamp {timestamp_ms} ({_moment(timestamp_ms)})" if timestamp_ms >= 0 else "without a timestamp"


def _moment(timestamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return "no date"
