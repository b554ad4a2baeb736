"""`.explain`: the steps of a lookup, for people who want to see how Kafka finds a record, or why it did not."""

from collections.abc import Mapping

from kafkafs.disk.objects import fetched
from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.batch import CODECS, Batch
from kafkafs.format.times import doubt, utc_text
from kafkafs.log.look import Look
from kafkafs.log.places import AtOffset, AtTime, BeforeTime, PointTarget
from kafkafs.log.segment import Damage, Segment
from kafkafs.log.tiered import log_start
from kafkafs.view.grammar import BEFORE, Suffix
from kafkafs.view.partition_view import PartitionView, PointAnswer, PointView
from kafkafs.view.raw import RawPoint


class Explanation(PointView):
    """The steps to a point's batch. They are remembered for the open, as a second walk may have less to tell: by key,
    the first one may have had to look for the keys."""

    _keep_s = 0.0  # they tell where the log ends

    def __init__(self, view: PartitionView, target: PointTarget, asked: str) -> None:
        super().__init__(view, target)
        self._asked = asked

    def xattrs(self) -> Mapping[str, bytes]:
        """The extended attributes of the raw batch: see `RawPoint`."""
        return RawPoint(self._view, self._target).xattrs()

    def _find(self, look: Look) -> PointAnswer:
        steps: list[str] = []
        try:
            before = fetched()
            segment, batch = self._target.batch(look, steps.append)
            steps += _from_the_tier(segment, before)
        except NotFound:
            found = self._in_the_tier(look)
            if found is None:
                raise
            return found
        steps = list(dict.fromkeys(steps))  # a scan that starts over passes over the same damage once more
        lines = [
            *self._asked_lines(look),
            *(f"{number}. {step}" for number, step in enumerate(steps, start=1)),
            *self._answer_lines(look, segment, batch),
        ]
        text = ("\n".join(lines) + "\n").encode()
        return PointAnswer(segment, batch.max_timestamp if isinstance(batch, Batch) else -1, text)

    def _in_the_tier(self, look: Look) -> PointAnswer | None:
        """Return the sentence about an offset that only a remote tier has."""
        start = log_start(look.log, self._view.partition.root)
        offset = self._target.offset(look) if isinstance(self._target, AtOffset) else None
        if offset is None or not start <= offset < look.log.start_offset:
            return None
        lines = [
            *self._asked_lines(look),
            f"tiered: the log begins at offset {start}, on these disks at {look.log.start_offset}",
            f"answer: offset {offset} is in the remote tier, and not on these disks",
        ]
        return PointAnswer(look.log.segments[0], -1, ("\n".join(lines) + "\n").encode())

    def _asked_lines(self, look: Look) -> list[str]:
        log = look.log
        lines = [
            f"{self._view.partition.name.directory}: {self._asked}",
            f"log: offsets {log.start_offset} to {log.end_offset} (log start, log end), {len(log.segments)} segments",
        ]
        if isinstance(self._target, AtTime | BeforeTime):
            wanted = "the first record at or after it"
            if isinstance(self._target, BeforeTime):
                wanted = f"the last record in front of {wanted}"
            lines.append(f"time: {utc_text(look.milliseconds(self._target.time))}; wanted is {wanted}")
            if doubtful := doubt(
                self._asked.removeprefix("by-time/").removeprefix(BEFORE).removesuffix(Suffix.EXPLAIN.value)
            ):
                lines.append(f"note: {doubtful}")
        return lines

    def _answer_lines(self, look: Look, segment: Segment, found: Batch | Damage) -> list[str]:
        if isinstance(found, Damage):
            where = f"{found.size} bytes at position {found.position}"
            owned = f"{found.base_offset}..{found.last_offset}"
            return [f"answer: a corrupt batch, {where}, which owns offsets {owned}"]
        return [f"answer: {_batch(segment, found)}", f"record: {self._record(look)}"]

    def _record(self, look: Look) -> str:
        try:
            record = self._target.record(look)
        except NotFound:
            return "none is visible"
        except (CorruptData, TooLarge) as error:
            return str(error)
        return f"offset {record.offset}, {_timestamp(record.timestamp)}"


def _from_the_tier(segment: Segment, before: tuple[int, int]) -> list[str]:
    """Return the bytes that a lookup has fetched of a remote segment since then. A segment on the disk has none."""
    if segment.object is None:
        return []
    requests, size = (now - then for now, then in zip(fetched(), before, strict=True))
    return [f"tier: object {segment.object}, {size} bytes were fetched in {requests} requests"]


def _batch(segment: Segment, batch: Batch) -> str:
    base_offset, records = segment.contents(batch)
    codec = CODECS[batch.codec] if batch.codec < len(CODECS) else f"codec {batch.codec}"
    kind = "control batch" if batch.is_control else "batch"
    return (
        f"{kind} {base_offset}..{batch.last_offset}, {batch.size} bytes at position {batch.position}, "
        f"{records} records, format v{batch.magic}, {codec}, "
        + (f"largest {_timestamp(batch.max_timestamp)}" if batch.max_timestamp >= 0 else "without timestamps")
    )


def _timestamp(timestamp_ms: int) -> str:
    return f"timestamp {timestamp_ms} ({utc_text(timestamp_ms)})" if timestamp_ms >= 0 else "without a timestamp"
