"""The numbers of a profile against the truth."""

from pathlib import Path

from kafkafs.spark.profile import profile_job
from kafkafs.spark.profile.figures import MOST_BUCKETS, Figures
from kafkafs.spark.segment_units import live_segments
from kafkafs.tables.offsets import TopicPartition
from tests.kafka.dataset import Dataset


def profile(path: Path) -> dict[TopicPartition, Figures]:
    """The numbers, without Spark."""
    units = live_segments([path], "furthest")
    return profile_job.added_up(units, [profile_job.measure_segment(unit) for unit in units])


def test_numbers_are_the_truth(stopped: Dataset):
    found = profile(stopped.path)
    for place in stopped.partitions():
        if place.topic.startswith("deleted"):  # the segments hold more than a consumer gets
            continue
        numbers, records = found[TopicPartition(*place)], stopped.records(*place)
        keys = {record.key for record in records if record.key is not None}
        assert numbers.records == len(records)
        assert numbers.tombstones == sum(1 for each in records if each.value is None and each.key is not None)
        assert abs(numbers.keys - len(keys)) <= 1 + len(keys) * 0.05
        assert numbers.null_keys == sum(1 for each in records if each.key is None)
        assert sum(count for count, _ in numbers.volume.values()) + numbers.untimed == len(records)
        assert numbers.size == sum(file.stat().st_size for file in stopped.directory(*place).glob("*.log"))
        assert numbers.damaged == 0


def test_many_times_are_reported_in_coarser_steps():
    numbers = Figures()
    for hour in range(0, 30_000, 300):
        other = Figures(step_s=3600, volume={hour + each: (1, 10) for each in range(300)})
        numbers.add(other)
    assert numbers.step_s == 7 * 86400  # the finest that leaves no more than MOST_BUCKETS of them
    assert len(numbers.volume) == -(-30_000 // (7 * 24)) <= MOST_BUCKETS
    assert sum(count for count, _ in numbers.volume.values()) == 30_000
