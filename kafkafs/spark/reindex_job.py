"""Rebuilt indexes of whole data directories, written under one directory: `D/<partition directory>/<the same names>`.

Each file is written beside its place and renamed, so that readers of D find whole files only. `reindex_keys` makes the
key indexes there.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.cluster.metadata import read_once
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.format.names import METADATA_LOG, parse_partition_name, segment_file
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.producer_snapshots import newest_open
from kafkafs.log.rebuilding import DEFAULT_INTERVAL, Indexes, Rebuilding, follow
from kafkafs.log.replicas import furthest
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.log.transaction_events import Tracker
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit, live_segments, segments_of
from kafkafs.tables.choice import Replicas
from kafkafs.tables.locations import data_directory

Intervals = Mapping[Path, Mapping[str, int]]
"""index.interval.bytes of topics that have their own, by data directory."""


@dataclass(frozen=True, slots=True)
class RebuiltIndexes:
    """The result of one segment: how many entries, and how many bytes at its end are not valid."""

    entries: int
    written: int
    invalid: int


def reindex(
    engine: Engine,
    data_directories: Sequence[Path],
    target: Path,
    interval: int | None = None,
    progress: Progress = no_progress,
    replicas: Replicas = "furthest",
    topics: TopicChoice = ALL_TOPICS,
) -> list[RebuiltIndexes]:
    """Makes the indexes of all segments; without an `interval` with each topic's own, where the data tell it.

    The replica that got furthest counts: the index directory has a place for one of them.
    """
    own = _intervals(data_directories) if interval is None else {}
    default = DEFAULT_INTERVAL if interval is None else interval
    task = partial(make, target=target, intervals=own, default=default)
    return jobs.run(engine, "reindex", segments_to_index(data_directories, replicas, topics), task, progress)


def _intervals(paths: Iterable[Path]) -> Intervals:
    """For each data directory, its own metadata log counts. If it has none, the furthest of the others counts: a broker
    has it in one of its `log.dirs`."""
    directories = [data_directory(path) for path in paths]
    logs = {each.path: each.partition(METADATA_LOG) for each in directories if METADATA_LOG in each.names()}
    best = furthest([*logs.values()])
    own = {each.path: topic_intervals(each) for each in directories if each.path in logs}
    others = next((own[path] for path, partition in logs.items() if partition is best), {})
    return {each.path: own.get(each.path, others) for each in directories}


def check_target(target: Path, data_directories: Sequence[Path]) -> None:
    """Makes the index directory. UsageError if it would be written into the data, or cannot be made."""
    for path in data_directories:
        if is_within(target, path):
            raise UsageError(f"the index directory {str(target)!r} is inside {str(path)!r}, where nothing is written")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the index directory {str(target)!r} cannot be made: {error.strerror}") from error


def segments_to_index(
    paths: Sequence[Path], replicas: Replicas = "furthest", topics: TopicChoice = ALL_TOPICS
) -> list[SegmentUnit]:
    """The segments of each partition's one replica, and of directories that are marked as deleted, future or stray."""
    named = ((unit, parse_partition_name(unit.partition_directory)) for unit in segments_of(paths, topics))
    marked = [unit for unit, name in named if name is not None and name.mark]
    return [*live_segments(paths, replicas, topics), *marked]


def make(unit: SegmentUnit, target: Path, intervals: Intervals, default: int = DEFAULT_INTERVAL) -> RebuiltIndexes:
    """The indexes of one segment, written. One that the broker deletes meanwhile needs none."""
    name = parse_partition_name(unit.partition_directory)
    interval = intervals.get(unit.data_directory, {}).get(name.topic if name else "", default)
    found = unit.ask(lambda look: (rebuild(look, interval), _end(look)))
    if found is None:
        return RebuiltIndexes(0, 0, 0)
    made, end = found
    place = target / unit.partition_directory
    contents = {"index": made.offset_index, "timeindex": made.time_index, "txnindex": made.transaction_index}
    for kind, content in contents.items():
        write_index(place / segment_file(unit.base_offset, kind), content, keep=kind != "txnindex" or bool(content))
    written = sum(map(len, contents.values()))
    return RebuiltIndexes(len(made.offset_index) // 8 + len(made.time_index) // 12, written, end - made.valid_end)


def _end(look: SegmentLook) -> int:
    """Return the offset that valid batches should reach. The rest of a swap file is in the next segment, too."""
    return look.log.walk_end(look.segment) if look.segment.overlaps_next else look.size


def write_index(place: Path, content: bytes, *, keep: bool = True) -> None:
    """Puts a whole file in its place, or takes away what is there."""
    unfinished = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        if not keep:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(place)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise DiskError(f"{str(place)!r} cannot be written: {error.strerror}") from error


_SETTING = "index.interval.bytes"


def topic_intervals(directory: DataDirectory) -> dict[str, int]:
    """The `index.interval.bytes` of each topic that has its own, as KRaft's metadata log and its snapshots tell; none
    without KRaft, or where its log cannot be read."""
    image = None
    with suppress(KafkafsError):
        image = read_once(directory.partition(METADATA_LOG), directory.options).image
    found: dict[str, int] = {}
    for (kind, name), settings in image.configs.items() if image is not None else ():
        value = settings.get(_SETTING, "")
        if kind == TOPIC_RESOURCE and value.isascii() and value.isdigit():
            found[name] = int(value)
    return found


def rebuild(look: SegmentLook, interval: int) -> Indexes:
    """The indexes of one segment, as LogSegment.recover makes them: up to the first batch that is not valid."""
    rebuilding = Rebuilding(look.segment.base_offset, interval, tracker_at(look))
    for run in _valid(look.runs()):
        if rebuilding.add(run) is not run:
            break
    return rebuilding.finish()


def _valid(runs: Iterable[BatchRun | Damage]) -> Iterator[BatchRun]:
    """The entries up to the first damage."""
    for run in runs:
        if isinstance(run, Damage):
            return
        yield run


def tracker_at(look: SegmentLook) -> Tracker:
    """The transactions that are open where the segment begins: of the newest snapshot before it, and what follows."""
    segments = look.log.segments
    number = [segment.base_offset for segment in segments].index(look.segment.base_offset)
    begun, known = newest_open(segments, number)
    transactions = Tracker(known)
    for earlier in segments[begun:number]:
        for run in _valid(look.of(earlier)):
            follow(run, transactions)
    return transactions
