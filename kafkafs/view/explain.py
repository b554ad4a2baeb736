"""`.explain`: a lookup told step by step, for people who want to see how Kafka finds things, or why it did not."""

from collections.abc import Mapping
from datetime import UTC, datetime

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.batch import CODECS, Batch
from kafkafs.log.stretches import Damage
from kafkafs.view.decoded import BytesContent
from kafkafs.view.node import Attributes
from kafkafs.view.raw import RawPoint
from kafkafs.view.scene import Scene
from kafkafs.view.targets import AtTime, PointTarget, Sight


class Explanation:
    """The steps that lead to a point's batch, made anew by each open, and by each `stat` for their size."""

    def __init__(self, scene: Scene, target: PointTarget, asked: str) -> None:
        self._scene = scene
        self._target = target
        self._asked = asked

    def attributes(self) -> Attributes:
        def attributes(sight: Sight) -> Attributes:
            segment, _ = self._target.batch(sight)
            return self._scene.file([segment.log()], len(self._text(sight)), -1, 0.0)

        return self._scene.ask(attributes)

    def open(self) -> BytesContent:
        return BytesContent(self._scene.ask(self._text))

    def xattrs(self) -> Mapping[str, bytes]:
        return RawPoint(self._scene, self._target).xattrs()

    def _text(self, sight: Sight) -> bytes:
        log = sight.log
        lines = [
            f"{self._scene.partition.name.directory}: {self._asked}",
            f"log: offsets {log.start_offset} to {log.end_offset} (log start, log end), {len(log.segments)} segments",
        ]
        if isinstance(self._target, AtTime):
            lines.append(f"time: {_moment(self._target.time_ms)}; wanted is the first record at or after it")
        steps: list[str] = []
        try:
            _, found = self._target.batch(sight, steps.append)
        except NotFound:
            found = None
        lines += [f"{number}. {step}" for number, step in enumerate(dict.fromkeys(steps), start=1)]
        if found is None:
            lines.append("answer: none")
        elif isinstance(found, Damage):
            where = f"{found.size} bytes at position {found.position}"
            owned = f"{found.base_offset}..{found.last_offset}"
            lines.append(f"answer: a corrupt batch, {where}, which owns offsets {owned}")
        else:
            lines += [f"answer: {_batch(found)}", f"record: {self._record(sight)}"]
        return ("\n".join(lines) + "\n").encode()

    def _record(self, sight: Sight) -> str:
        try:
            record = self._target.record(sight)
        except NotFound:
            return "none is visible"
        except (CorruptData, TooLarge) as error:
            return str(error)
        return f"offset {record.offset}, timestamp {record.timestamp} ({_moment(record.timestamp)})"


def _batch(batch: Batch) -> str:
    codec = CODECS[batch.codec] if batch.codec < len(CODECS) else f"codec {batch.codec}"
    kind = "control batch" if batch.is_control else "batch"
    return (
        f"{kind} {batch.base_offset}..{batch.last_offset}, {batch.size} bytes at position {batch.position}, "
        f"{batch.count} records, format v{batch.magic}, {codec}, largest timestamp {batch.max_timestamp}"
    )


def _moment(timestamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return "no date"
