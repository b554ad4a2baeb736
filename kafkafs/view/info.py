"""`info.json`: what a partition is and how it fares, for people and for `jq`. Unknown is null, never guessed."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batches import Batches, is_control
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs, parse_partition_metadata
from kafkafs.log.health import SegmentHealth, look_at, problems_of_listing
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import Newest, largest_timestamp, newest
from kafkafs.view.decoded import TextContent
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.targets import LogSnapshot

Answer = TypeVar("Answer")
_UNREADABLE = (Denied, DiskError, Vanished)


class Info:
    """The file, made when it is opened. Like `/proc` it claims no size, so that `ls -l` looks at no index."""

    def __init__(self, view: PartitionView) -> None:
        self._view = view

    def attributes(self) -> Attributes:
        return self._view.ask(lambda snapshot: self._view.file(_logs(snapshot), 0, -1, 0.0))

    def open(self) -> TextContent:
        may_block()
        return TextContent(self._view.ask(self._text))

    def xattrs(self) -> Mapping[str, bytes]:
        return {}

    def _text(self, snapshot: LogSnapshot) -> bytes:
        return (json.dumps(describe(self._view, snapshot), indent=2, ensure_ascii=True) + "\n").encode()


def _logs(snapshot: LogSnapshot) -> Iterator[DataFile]:
    """All logs that it tells of; what cannot be read is not told of."""
    for segment in snapshot.log.segments:
        with suppress(Denied, NotFound):
            yield segment.log()


def describe(view: PartitionView, snapshot: LogSnapshot) -> dict[str, object]:
    """The fields of `info.json` (docs/queries.md)."""
    log, name = snapshot.log, view.partition.name
    problems = [
        *view.data_directory.checkpoints.read().problems,
        *problems_of_listing(view.partition.listing()),
        *(f"{twin} holds this partition too; it is shown as {other}" for other, twin in view.find_twins()),
    ]
    topic_id = _topic_id(view, problems)
    epochs = _leader_epochs(view, problems)
    health = {segment: look_at(segment) for segment in log.segments}
    for one in health.values():
        problems += one.problems
    largest = {segment: _known(partial(_largest, log, segment)) for segment in log.segments}
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": topic_id,
        "logStartOffset": log.start_offset,
        "logEndOffset": log.end_offset,
        "highWatermark": log.high_watermark,
        "lastStableOffset": _known(lambda: view.transactions.last_stable_offset(log)),
        "earliestOffset": _known(snapshot.decoded.earliest),
        "latestOffset": _known(snapshot.decoded.latest),
        "minTimestamp": None,
        "maxTimestamp": _newest(log, largest),
        "sizeBytes": sum(_size(segment.log_name, view) for segment in log.segments),
        "leaderEpochs": None if epochs is None else [_epoch(one) for one in epochs],
        "segments": [
            {
                "baseOffset": segment.base_offset,
                "file": segment.log_name,
                "sizeBytes": _size(segment.log_name, view),
                "largestTimestamp": largest[segment],
                **_states(health[segment]),
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


def _size(name: str, view: PartitionView) -> int:
    try:
        return view.partition.root.stat(f"{view.partition.name.directory}/{name}").st_size
    except NotFound:
        return 0


def _largest(log: Log, segment: Segment) -> int | None:
    """The largest timestamp of the segment's batches, markers too; None where none has one."""
    found = largest_timestamp(segment, log.walk_end(segment))
    return found if found >= 0 else None


def _newest(log: Log, largest: Mapping[Segment, int | None]) -> int | None:
    """The largest timestamp of the data, where headers tell it; `largest` is that of each segment's batches.

    Markers carry wall-clock times and do not count. A batch that the log start cuts may have its largest below it: then
    nobody knows without reading all records.
    """

    def visible(rows: Batches) -> Batches:
        return rows[~is_control(rows) & (rows["last_offset"] >= log.start_offset) & (rows["count"] > 0)]

    found: Newest | None = None
    with_times = [(time, segment) for segment in log.visible_segments() if (time := largest[segment]) is not None]
    for time, segment in sorted(with_times, key=lambda one: -one[0]):
        if found is not None and time <= found.timestamp:
            break
        other = _known(partial(newest, segment, log.walk_end(segment), visible))
        found = max(filter(None, (found, other)), default=None)
    return found.timestamp if found is not None and found.base_offset >= log.start_offset else None


def _known(question: Callable[[], Answer]) -> Answer | None:
    """The answer; None where it takes a log that cannot be read, as `problems` then says."""
    try:
        return question()
    except (Denied, NotFound, DiskError):
        return None


def _topic_id(view: PartitionView, problems: list[str]) -> str | None:
    return _beside(view, "partition.metadata", parse_partition_metadata, problems)


def _leader_epochs(view: PartitionView, problems: list[str]) -> tuple[LeaderEpoch, ...] | None:
    return _beside(view, "leader-epoch-checkpoint", parse_leader_epochs, problems)


def _epoch(one: LeaderEpoch) -> dict[str, int]:
    return {"epoch": one.epoch, "startOffset": one.start_offset}


def _beside(view: PartitionView, name: str, parse: Callable[[bytes], Answer], problems: list[str]) -> Answer | None:
    """A small file of the partition, parsed; None where it is missing, or cannot be parsed, which is a problem."""
    try:
        return parse(view.partition.root.read_whole(f"{view.partition.name.directory}/{name}"))
    except NotFound:
        return None
    except CorruptData as error:
        problems.append(f"{name} counts as absent: {error}")
    except _UNREADABLE as error:
        problems.append(f"{name} cannot be read: {error}")
    return None
