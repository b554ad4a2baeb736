"""Rebuilt indexes of whole data directories, written under one directory: `D/<partition directory>/<the same names>`.

Each file is written beside its place and renamed, so that whoever reads D finds whole files only.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.errors import DiskError, NotFound, UsageError, Vanished
from kafkafs.format.names import segment_file
from kafkafs.spark import jobs, logs
from kafkafs.spark.reindex.intervals import topic_intervals
from kafkafs.spark.reindex.rebuild import DEFAULT_INTERVAL, rebuild

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SegmentUnit:
    """A segment whose indexes are to be made."""

    data_directory: Path
    directory: str
    base_offset: int
    weight: int
    index_directory: Path
    interval: int


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of one segment: how many entries, and how many bytes at its end are not valid."""

    entries: int
    written: int
    invalid: int


def reindex(
    spark: "SparkSession", data_directories: Sequence[Path], target: Path, interval: int | None = None
) -> list[Made]:
    """Makes the indexes of all segments; without an `interval` with each topic's own, where the data tell it."""
    work = [unit for path in data_directories for unit in units(path, target, interval)]
    return jobs.run(spark, "reindex", work, make)


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
    seen: dict[str, Path] = {}
    for path in data_directories:
        for name in logs.data_directory(path).names():
            if seen.setdefault(name, path) != path:
                raise UsageError(f"{name} stands both in {str(seen[name])!r} and in {str(path)!r}; index one at a time")


def units(path: Path, target: Path, interval: int | None = None) -> list[SegmentUnit]:
    """A unit for each segment in a data directory."""
    directory = logs.data_directory(path)
    own = topic_intervals(directory) if interval is None else {}
    found = []
    for name, parsed in sorted(directory.names().items()):
        between = own.get(parsed.topic, DEFAULT_INTERVAL) if interval is None else interval
        try:
            segments = directory.partition(name).listing().segments
        except (NotFound, Vanished):
            continue
        for base, files in segments.items():
            found.append(SegmentUnit(path, name, base, files["log"].size, target, between))
    return found


def make(unit: SegmentUnit) -> Made:
    """The indexes of one segment, written. One that the broker deletes meanwhile needs none."""
    found = logs.ask_segment(
        unit.data_directory, unit.directory, unit.base_offset,
        lambda log, segment: (rebuild(log, segment, unit.interval), segment.log().size),
    )  # fmt: skip
    if found is None:
        return Made(0, 0, 0)
    made, size = found
    place = unit.index_directory / unit.directory
    contents = {"index": made.offset_index, "timeindex": made.time_index, "txnindex": made.transaction_index}
    for kind, content in contents.items():
        _write(place / segment_file(unit.base_offset, kind), content, keep=kind != "txnindex" or bool(content))
    written = sum(map(len, contents.values()))
    return Made(len(made.offset_index) // 8 + len(made.time_index) // 12, written, size - made.valid_end)


def _write(place: Path, content: bytes, *, keep: bool) -> None:
    try:
        if not keep:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(exist_ok=True)
        unfinished = place.with_name(f"{place.name}.{os.getpid()}.tmp")
        unfinished.write_bytes(content)
        unfinished.replace(place)
    except OSError as error:
        raise DiskError(f"{str(place)!r} cannot be written: {error.strerror}") from error
