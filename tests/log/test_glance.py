"""The quick way of a lookup against the careful one: the same answer for every offset, on sound and on damaged logs."""

import random
from pathlib import Path

import pytest

from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.options import Options
from kafkafs.log.reading import Reader
from kafkafs.log.transactions import OpenTransactions
from tests.kafka.dataset import Dataset

FLIPS = 12


def aloud(_: str) -> None:
    """A `Tell` other than `silent`: lookups that are to be explained take the careful way."""


def _found(log: Log, offset: int, tell=None) -> object:
    try:
        segment, found = log.locate(offset, tell) if tell else log.locate(offset)
    except KafkafsError as error:
        return type(error)
    return segment.base_offset, found


def _at_time(log: Log, timestamp: int, tell=None) -> object:
    reader = Reader(log, Options(), OpenTransactions())
    try:
        found = reader.first_at(timestamp, tell) if tell else reader.first_at(timestamp)
    except KafkafsError as error:
        return type(error)
    return None if found is None else (found.offset, found.timestamp, found.batch)


def _differences(log: Log, offsets: list[int], times: list[int]) -> list[object]:
    return [o for o in offsets if _found(log, o) != _found(log, o, aloud)] + [
        ("time", t) for t in times if _at_time(log, t) != _at_time(log, t, aloud)
    ]


def _times(data: Dataset, topic: str, partition: int) -> list[int]:
    records = data.records(topic, partition, "read_uncommitted")
    return sorted({r.timestamp_ms + step for r in records[:: max(1, len(records) // 50)] for step in (-1, 0, 1)})


def test_same_answers_on_sound_logs(dataset):
    directory = open_data_directory(Path(dataset.path))
    for partition in dataset.partitions():
        log = directory.partition(partition.directory).log()
        step = max(1, (log.end_offset - log.start_offset) // 300)
        offsets = list(range(log.start_offset - 1, log.end_offset + 2, step))
        assert _differences(log, offsets, _times(dataset, partition.topic, partition.partition)) == [], partition


@pytest.mark.parametrize("topic", ["codec-none", "broker-lz4", "compacted", "transactions", "segments", "disorder"])
def test_same_answers_on_damaged_logs(stopped, tmp_path, topic):
    """Each flip in a fresh copy: headers above all, where lengths, offsets and checksums stand."""
    chance = random.Random(topic)
    times = _times(stopped, topic, 0)[::7]
    for number in range(FLIPS):
        home = tmp_path / str(number)
        stopped.copy_to(home, f"{topic}-0")
        logs = [log for log in sorted(home.joinpath(f"{topic}-0").glob("*.log")) if log.stat().st_size]
        _flip(chance.choice(logs), chance)
        log = open_data_directory(home).partition(f"{topic}-0").log()
        step = max(1, (log.end_offset - log.start_offset) // 40)
        assert _differences(log, list(range(log.start_offset, log.end_offset, step)), times) == [], number


def _flip(path: Path, chance: random.Random) -> None:
    """One bit, in a batch's header where the walk from the start finds one, else anywhere."""
    data = bytearray(path.read_bytes())
    starts, at = [], 0
    while at + 61 <= len(data):
        starts.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    at = chance.choice(starts) + chance.randrange(61) if chance.random() < 0.8 else chance.randrange(len(data))
    data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
