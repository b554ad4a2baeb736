"""Rebuilt indexes of whole data directories, written under one directory: `D/<partition directory>/<the same names>`.

Each file is written beside its place and renamed, so that readers of D find whole files only.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafkafs.errors import DiskError, UsageError
from kafkafs.format.names import parse_partition_name, segment_file
from kafkafs.log.rebuilding import DEFAULT_INTERVAL
from kafkafs.log.topics import ALL_TOPICS, TopicChoice
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.locations import data_directory
from kafkafs.spark.options import Replicas
from kafkafs.spark.reindex.intervals import topic_intervals
from kafkafs.spark.reindex.rebuild import rebuild
from kafkafs.spark.segments import SegmentUnit, live_segments, segments_of

Intervals = Mapping[Path, Mapping[str, int]]
"""index.interval.bytes of topics that have their own, by data directory."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of one segment: how many entries, and how many bytes at its end are not valid."""

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
) -> list[Made]:
    """Makes the indexes of all segments; without an `interval` with each topic's own, where the data tell it.

    Of replicas the furthest one's: the index directory has a place for one of them.
    """
    own = {path: topic_intervals(data_directory(path)) for path in data_directories} if interval is None else {}
    default = DEFAULT_INTERVAL if interval is None else interval
    task = partial(make, target=target, intervals=own, default=default)
    return jobs.run(engine, "reindex", segments_to_index(data_directories, replicas, topics), task, progress)


def check_target(target: Path, data_directories: Sequence[Path]) -> None:
    """Makes the index directory. UsageError where it would be written into the data, or cannot be made."""
    place = target.resolve()
    for path in data_directories:
        if place.is_relative_to(path.resolve()):
            raise UsageError(f"the index directory {str(target)!r} lies inside {str(path)!r}, where nothing is written")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the index directory {str(target)!r} cannot be made: {error.strerror}") from error


def segments_to_index(
    paths: Sequence[Path], replicas: Replicas = "furthest", topics: TopicChoice = ALL_TOPICS
) -> list[SegmentUnit]:
    """Those of each partition's one replica, and of what is marked as deleted, future or stray."""
    named = ((unit, parse_partition_name(unit.partition_directory)) for unit in segments_of(paths, topics))
    marked = [unit for unit, name in named if name is not None and name.mark]
    return [*live_segments(paths, replicas, topics), *marked]


def make(unit: SegmentUnit, target: Path, intervals: Intervals, default: int = DEFAULT_INTERVAL) -> Made:
    """The indexes of one segment, written. One that the broker deletes meanwhile needs none."""
    name = parse_partition_name(unit.partition_directory)
    interval = intervals.get(unit.data_directory, {}).get(name.topic if name else "", default)
    found = unit.ask(lambda snapshot: (rebuild(snapshot, interval), snapshot.size))
    if found is None:
        return Made(0, 0, 0)
    made, size = found
    place = target / unit.partition_directory
    contents = {"index": made.offset_index, "timeindex": made.time_index, "txnindex": made.transaction_index}
    for kind, content in contents.items():
        write_index(place / segment_file(unit.base_offset, kind), content, keep=kind != "txnindex" or bool(content))
    written = sum(map(len, contents.values()))
    return Made(len(made.offset_index) // 8 + len(made.time_index) // 12, written, size - made.valid_end)


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
