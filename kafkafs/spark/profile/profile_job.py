"""A profile from segments to the numbers of each partition."""

from collections.abc import Sequence
from pathlib import Path

from kafkafs.errors import DiskError, Unanswered
from kafkafs.format.names import parse_partition_name
from kafkafs.log.read_options import TierSource
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.profile.figures import Figures
from kafkafs.spark.profile.measure import measure
from kafkafs.spark.segment_units import SegmentUnit, live_segments
from kafkafs.tables.choice import Replicas
from kafkafs.tables.offsets import TopicPartition


def profile(
    engine: Engine,
    data_directories: Sequence[Path],
    progress: Progress = no_progress,
    replicas: Replicas = "furthest",
    topics: TopicChoice = ALL_TOPICS,
    source: TierSource | None = None,
) -> dict[TopicPartition, Figures]:
    """The numbers of every live partition, of one replica of each."""
    units = live_segments(data_directories, replicas, topics, source)
    return added_up(units, jobs.run(engine, "profile", units, measure_segment, progress))


def added_up(units: Sequence[SegmentUnit], measured: Sequence[Figures]) -> dict[TopicPartition, Figures]:
    """The segments' numbers by partition."""
    found: dict[TopicPartition, Figures] = {}
    for unit, numbers in zip(units, measured, strict=True):
        name = parse_partition_name(unit.partition_directory)
        assert name is not None
        found.setdefault(TopicPartition(name.topic, name.partition), Figures()).add(numbers)
    return found


def measure_segment(unit: SegmentUnit) -> Figures:
    """One segment's numbers; none if the broker deletes it meanwhile. One that cannot be read is a damaged place."""
    try:
        return unit.ask(measure) or Figures()
    except Unanswered:
        raise
    except DiskError:
        return Figures(segments=1, damaged=1)
