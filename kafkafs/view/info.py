"""`info.json`: the state of a partition, for people and for `jq`. An unknown value is null, never a guess."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from kafkafs.disk.blocking import may_block, patience
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import UNREADABLE, CorruptData, Denied, DiskError, NotFound, TooLarge
from kafkafs.format.batch import NO_TIMESTAMP
from kafkafs.format.checkpoints import parse_leader_epochs, parse_partition_metadata
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA
from kafkafs.format.times import probable_unit
from kafkafs.log.health import SegmentHealth, segments_health
from kafkafs.log.log import Log
from kafkafs.log.look import Look
from kafkafs.log.segment import Segment
from kafkafs.log.tiered import log_start, uploaded_epochs
from kafkafs.view.made import MadeFile
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.replica_directories import ShownReplica

Answer = TypeVar("Answer")
_COPY_S = 10.0
"""For so long it waits for a copy in a bucket, which is asked for some files of each segment: a call has 15 seconds."""

_FEW_SEGMENTS, _FEW_BYTES = 16, 4 << 20
"""Up to so many all records are looked at: some milliseconds."""


class Info(MadeFile):
    """The file. Its size takes a look at all segments, and at all records if they are few, so a worker thread makes it.
    A value that a remote tier does not give in time is null, and `problems` says why."""

    def __init__(self, view: PartitionView) -> None:
        self._texts = view.resources.made
        self._view = view

    def _about(self) -> Attributes:
        """The rights that all its readable logs on the disk grant together, and the time of the last one. No index is
        read. If the metadata name a partition that is missing, their rights count too."""

        def about(look: Look) -> Attributes:
            local = _local(look.log)
            return self._view.attributes_over(local, _logs(local), -1)

        own = self._view.ask(about)
        return self._view.missing.restricted(own) if missing_partitions(self._view) else own

    def _make(self) -> bytes:
        may_block()
        glance_s = self._view.options.glance_s
        with patience(max(glance_s, _COPY_S) if self._view.partition.root.is_far else glance_s):
            return self._view.ask(self._text)

    def _text(self, look: Look) -> bytes:
        fields = (f"  {json.dumps(name)}: {_json(value)}" for name, value in describe(self._view, look).items())
        return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _local(log: Log) -> list[Segment]:
    return [segment for segment in log.segments if segment.object is None]


def _logs(segments: Sequence[Segment]) -> Iterator[DataFile]:
    """The logs of segments. Logs that cannot be read are left out."""
    for segment in segments:
        with suppress(Denied, NotFound):
            yield segment.log()


def _json(value: object) -> str:
    """JSON in ASCII. Each item of a list has its own line, so that `grep` finds one segment of thousands."""
    if isinstance(value, list) and value:
        lines = value if isinstance(value, _Encoded) else map(json.dumps, value)
        return "[\n    " + ",\n    ".join(lines) + "\n  ]"
    return json.dumps(value)


class _Encoded(list[str]):
    """Things that are JSON already."""


def describe(view: PartitionView, look: Look) -> dict[str, object]:
    """The fields of `info.json` (docs/queries.md)."""
    log, name = look.log, view.partition.name
    problems = [
        *view.data_directory.checkpoints.read().problems,
        *view.partition.listing().all_problems(log.is_in_tier),
    ]
    replicas = replica_rows(view.find_replicas())
    problems += twins(view, replicas) + missing_partitions(view)
    topic_id = _small_file(view, PARTITION_METADATA, parse_partition_metadata, problems)
    epochs = _small_file(view, LEADER_EPOCHS, parse_leader_epochs, problems)
    health = segments_health(log.segments)
    local, logs = _local(log), [one.log for one in health if one.log is not None]
    if log.segments and not local:  # all that there is of the partition is in a tier
        topic_id = topic_id or view.data_directory.topic_id(name.directory)
        epochs = epochs or uploaded_epochs(log)
    if logs and len(logs) == len(local):
        view.note_logs(local, logs)
    for one in health:
        problems += one.problems
    problems += log.gaps_in_a_tier() + view.partition.lost_end(log)
    is_tiered = any(segment.object is not None for segment in log.segments)

    def known(question: Callable[[], Answer]) -> Answer | None:
        """The answer; None if it takes a log that cannot be read, as `problems` then says."""
        try:
            return question()
        except (Denied, NotFound, DiskError, CorruptData) as error:
            problems.extend([str(error)] if is_tiered else [])  # `health` has reported problems on the disk
            return None

    problems += look.uncommitted.overlap_problems()
    largest = [_largest(log, segment, one) for segment, one in zip(log.segments, health, strict=True)]
    sizes = [known(partial(_size, log, segment)) for segment in log.segments]
    oldest, newest = known(partial(_oldest, look)), known(lambda: _newest(look, largest))
    problems += _units(oldest, newest)
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": topic_id,
        "logStartOffset": log_start(log, view.partition.root),
        "localLogStartOffset": log.local_start_offset,
        "logEndOffset": log.known_end,
        "highWatermark": log.high_watermark,
        "lastStableOffset": None
        if log.known_end is None
        else known(lambda: view.partition.transactions.last_stable_offset(log)),
        "earliestOffset": known(look.visible.earliest),
        "latestOffset": None if log.known_end is None else known(look.visible.latest),
        "minTimestamp": oldest,
        "maxTimestamp": newest,
        "sizeBytes": None if None in sizes else sum(filter(None, sizes)),
        "replicas": [replica._asdict() for replica in replicas],
        "leaderEpochs": None
        if epochs is None
        else [{"epoch": one.epoch, "startOffset": one.start_offset} for one in epochs],
        "segments": _Encoded(map(_segment_line, log.segments, sizes, largest, health)),
        "problems": list(dict.fromkeys(problems)),
    }


def _units(oldest: int | None, newest: int | None) -> list[str]:
    """The units that timestamps were probably written in, where these are not milliseconds."""
    found = {}
    for which, timestamp in (("smallest", oldest), ("largest", newest)):
        if timestamp is not None and (unit := probable_unit(timestamp)) is not None:
            found[unit] = f"times look like {unit}: the {which} timestamp is {timestamp}, and Kafka counts milliseconds"
    return [*found.values()]


def _segment_line(segment: Segment, size: int | None, largest: int | None, health: SegmentHealth) -> str:
    """An object of JSON. There can be 20,000, and the encoder takes longer for one than all that is asked about it."""
    tier = '"local"' if segment.object is None else f'"remote", "object": {json.dumps(segment.object or None)}'
    return (
        f'{{"baseOffset": {segment.base_offset}, "file": "{segment.log_name}",'
        f' "sizeBytes": {"null" if size is None else size},'
        f' "largestTimestamp": {"null" if largest is None else largest}, "offsetIndex": "{health.offset_index}",'
        f' "timeIndex": "{health.time_index}", "transactionIndex": "{health.transaction_index}", "tier": {tier}}}'
    )


def _size(log: Log, segment: Segment) -> int | None:
    """Bytes of its `.log`, at the moment of this look; None of one that stands for what a tier did not tell of."""
    if segment.object == "":
        return None
    grown = log.tail is not None and segment.next_base is None and log.tail.inode == segment.listed["log"].inode
    return log.tail.size if grown and log.tail is not None else segment.files.log_seen[0]


def _largest(log: Log, segment: Segment, health: SegmentHealth) -> int | None:
    """The largest timestamp of the segment's batches, markers too; None if none has one, or it cannot be known."""
    found = health.largest
    if found is None:
        return log.largest_in(segment)
    return found if found >= 0 else None


def _oldest(look: Look) -> int | None:
    """The smallest timestamp of the data. No index tells it, and headers only of batches of one record or time; so it
    takes all records, and is shown if those are few: None of a longer log, and of one with a corrupt batch.
    CorruptData if that may be in a tier."""
    log = look.log
    visible = log.visible_segments()
    if len(visible) > _FEW_SEGMENTS or sum(_size(log, segment) or 0 for segment in visible) > _FEW_BYTES:
        return None
    oldest = None
    try:
        for records in look.uncommitted.records(log.start_offset):
            times = records.rows["timestamp"]
            times = times[times != NO_TIMESTAMP]
            if len(times):
                oldest = int(times.min()) if oldest is None else min(oldest, int(times.min()))
    except CorruptData:
        if any(segment.object is not None for segment in visible):
            raise
        return None
    except TooLarge:
        return None
    return oldest


def _newest(look: Look, largest: Sequence[int | None]) -> int | None:
    """The largest timestamp of the data, where headers tell it; `largest` is that of each segment's batches."""
    found = look.newest_data(largest)
    return found.timestamp if found is not None and found.base_offset >= look.log.start_offset else None


class ReplicaRow(NamedTuple):
    """A line of `replicas`, by the names of its fields; unknown is None."""

    name: str
    broker: int | None
    dataDirectory: str
    lastLeaderEpoch: int | None
    logEndOffset: int | None
    chosen: bool


def replica_rows(found: Sequence[ShownReplica]) -> list[ReplicaRow]:
    """The replicas in the order of their data directories."""
    return [
        ReplicaRow(
            replica.shown_as,
            replica.directory.node_id(),
            str(replica.directory.path),
            reached[0] if reached[0] >= 0 else None,
            reached[1] if reached[1] >= 0 else None,
            replica.is_chosen,
        )
        for replica in found
        for reached in [replica.reached or (-1, -1)]
    ]


def twins(view: PartitionView, replicas: Sequence[ReplicaRow]) -> list[str]:
    """Sentences about the same partition in another directory of the same broker, where it should be once: but for what
    is on its way there, or was left behind."""
    if view.partition.name.mark:
        return []
    here, path = view.data_directory.node_id(), str(view.data_directory.path)
    return [
        f"{other.dataDirectory} holds this partition too; it is shown as {other.name}"
        for other in replicas
        if other.dataDirectory != path and (here is None or other.broker is None or other.broker == here)
    ]


def missing_partitions(view: PartitionView) -> list[str]:
    """Sentences about partitions of its topic that no disk here has."""
    name = view.partition.name
    return [] if name.mark else view.missing.problems(name.topic)


def _small_file(view: PartitionView, name: str, parse: Callable[[bytes], Answer], problems: list[str]) -> Answer | None:
    """A small file of the partition, parsed; None if it is missing, or cannot be parsed, which is a problem."""
    try:
        return parse(view.partition.read_small_file(name))
    except NotFound:
        return None
    except CorruptData as error:
        problems.append(f"{name} is ignored: {error}")
    except UNREADABLE as error:
        problems.append(f"{name} cannot be read: {error}")
    return None
