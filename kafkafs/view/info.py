"""`info.json`: what a partition is and how it fares, for people and for `jq`. Unknown is null, never guessed."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batches import is_control
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs, parse_partition_metadata
from kafkafs.log.files import DataFile
from kafkafs.log.health import SegmentHealth, look_at, problems_of_listing
from kafkafs.log.patience import patience_needed
from kafkafs.view.decoded import BytesContent
from kafkafs.view.node import Attributes
from kafkafs.view.scene import Scene
from kafkafs.view.targets import Sight

Answer = TypeVar("Answer")
_UNREADABLE = (Denied, DiskError, Vanished)


class Info:
    """The file, made when it is opened. Like `/proc` it claims no size, so that `ls -l` looks at no index."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def attributes(self) -> Attributes:
        return self._scene.ask(lambda sight: self._scene.file(_logs(sight), 0, -1, 0.0))

    def open(self) -> BytesContent:
        patience_needed()
        return BytesContent(self._scene.ask(self._text))

    def xattrs(self) -> Mapping[str, bytes]:
        return {}

    def _text(self, sight: Sight) -> bytes:
        return (json.dumps(describe(self._scene, sight), indent=2, ensure_ascii=True) + "\n").encode()


def _logs(sight: Sight) -> Iterator[DataFile]:
    """All logs that it tells of; what cannot be read is not told of."""
    for segment in sight.log.segments:
        with suppress(Denied, NotFound):
            yield segment.log()


def describe(scene: Scene, sight: Sight) -> dict[str, object]:
    """The fields of `info.json` (docs/queries.md)."""
    log, name = sight.log, scene.partition.name
    problems = [
        *scene.partition.directory.checkpoints().problems,
        *problems_of_listing(scene.partition.listing()),
        *(f"{twin} holds this partition too; it is shown as {other}" for other, twin in scene.twins),
    ]
    topic_id = _topic_id(scene, problems)
    epochs = _leader_epochs(scene, problems)
    health = {segment.base_offset: look_at(segment) for segment in log.segments}
    for one in health.values():
        problems += one.problems
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": topic_id,
        "logStartOffset": log.start_offset,
        "logEndOffset": log.end_offset,
        "highWatermark": log.high_watermark,
        "lastStableOffset": scene.transactions.last_stable_offset(log),
        "earliestOffset": sight.decoded.earliest(),
        "latestOffset": sight.decoded.latest(),
        "minTimestamp": None,
        "maxTimestamp": _largest_timestamp(sight),
        "sizeBytes": sum(_size(segment.log_name, scene) for segment in log.segments),
        "leaderEpochs": [{"epoch": one.epoch, "startOffset": one.start_offset} for one in epochs],
        "segments": [
            {
                "baseOffset": segment.base_offset,
                "file": segment.log_name,
                "sizeBytes": _size(segment.log_name, scene),
                "largestTimestamp": _known_time(segment.hinted_largest()),
                **_states(health[segment.base_offset]),
            }
            for segment in log.segments
        ],
        "problems": problems,
    }


def _states(health: SegmentHealth) -> dict[str, str]:
    return {
        "offsetIndex": health.offset_index,
        "timeIndex": health.time_index,
        "transactionIndex": health.transaction_index,
    }


def _size(name: str, scene: Scene) -> int:
    try:
        return scene.partition.root.stat(f"{scene.partition.name.directory}/{name}").st_size
    except NotFound:
        return 0


def _largest_timestamp(sight: Sight) -> int | None:
    """The largest timestamp of the data, where headers tell it.

    Markers carry wall-clock times, and a batch that the log start cuts may have its largest below it: then nobody knows
    without reading all records.
    """
    log = sight.log
    largest = max((segment.largest_timestamp(log.walk_end(segment)) for segment in log.segments_from(log.start_offset)),
                  default=-1)  # fmt: skip
    found = log.locate_time(largest, lambda _item, _row: True) if largest >= 0 else None
    if found is None:
        return None
    _, item, row = found
    if is_control(item.rows)[row] or int(item.rows["base_offset"][row]) < log.start_offset:
        return None
    return largest


def _known_time(timestamp_ms: int) -> int | None:
    return timestamp_ms if timestamp_ms >= 0 else None


def _topic_id(scene: Scene, problems: list[str]) -> str | None:
    return _beside(scene, "partition.metadata", parse_partition_metadata, problems)


def _leader_epochs(scene: Scene, problems: list[str]) -> tuple[LeaderEpoch, ...]:
    return _beside(scene, "leader-epoch-checkpoint", parse_leader_epochs, problems) or ()


def _beside(scene: Scene, name: str, parse: Callable[[bytes], Answer], problems: list[str]) -> Answer | None:
    """A small file of the partition, parsed; None where it is missing, or cannot be parsed, which is a problem."""
    try:
        return parse(scene.partition.root.read_whole(f"{scene.partition.name.directory}/{name}"))
    except NotFound:
        return None
    except CorruptData as error:
        problems.append(f"{name} counts as absent: {error}")
    except _UNREADABLE as error:
        problems.append(f"{name} cannot be read: {error}")
    return None
