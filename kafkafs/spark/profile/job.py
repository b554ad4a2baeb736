"""A profile from segments to the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.errors import NotFound, Vanished
from kafkafs.spark import jobs, logs
from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.profile.measure import Numbers, measure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SegmentUnit:
    """A segment to be measured."""

    data_directory: Path
    directory: str
    name: TopicPartition
    base_offset: int
    weight: int


def profile(spark: "SparkSession", data_directories: Sequence[Path]) -> dict[TopicPartition, Numbers]:
    """The numbers of every live partition."""
    work = [unit for path in data_directories for unit in units(path)]
    found: dict[TopicPartition, Numbers] = {}
    for unit, numbers in zip(work, jobs.run(spark, "profile", work, measure_segment), strict=True):
        found.setdefault(unit.name, Numbers()).add(numbers)
    return found


def units(path: Path) -> list[SegmentUnit]:
    """A unit for each segment of the live partitions."""
    directory = logs.data_directory(path)
    found = []
    for name, parsed in sorted(directory.names().items()):
        if parsed.mark:
            continue
        try:
            segments = directory.partition(name).listing().segments
        except (NotFound, Vanished):
            continue
        place = TopicPartition(parsed.topic, parsed.partition)
        found += [SegmentUnit(path, name, place, base, files["log"].size) for base, files in segments.items()]
    return found


def measure_segment(unit: SegmentUnit) -> Numbers:
    """One segment's numbers; none where the broker deletes it meanwhile."""
    numbers = logs.ask_segment(
        unit.data_directory, unit.directory, unit.base_offset, lambda _, segment: measure(segment)
    )
    return numbers or Numbers()
