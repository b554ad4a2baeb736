"""Lookups against a model that reads a log from its start; what they cost, and the steps that they tell."""

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import KafkafsError, WouldBlock
from kafkafs.format.batch import Batch, is_transactional
from kafkafs.log.batch_runs import LARGE, BatchRun, Start
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Found, Log
from kafkafs.log.lookup import Lookup
from kafkafs.log.read_options import ISOLATIONS
from tests.counting import counted
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka import jars
from tests.kafka.cache import EVERY
from tests.kafka.dataset import Dataset
from tests.log.making import Made, log_of, made, spread, write_partition
from tests.log.reading import lookup_of
from tests.log.scanning import Row, Scan, contents
from tests.mounting import wait_until

FLIPS = 12 if EVERY in os.environ else 3
MOST_READ = 64 << 10
BATCHES = [made(number * 4, [1000 + number * 10, 1005 + number * 10], size=300) for number in range(40)]
"""Two records each, with the offsets 4n and 4n + 1."""


def located(log: Log, offset: int) -> object:
    try:
        segment, found = log.locate(offset)
    except KafkafsError as error:
        return type(error)
    return segment.base_offset, found


def row(found: Found) -> Row:
    return Row(found.offset, found.timestamp, contents(found.record))


def first(lookup: Lookup, offset: int) -> object:
    try:
        return row(lookup.first(offset))
    except KafkafsError as error:
        return type(error)


def at_time(lookup: Lookup, timestamp: int) -> object:
    try:
        found = lookup.first_at(timestamp)
    except KafkafsError as error:
        return type(error)
    return found and (row(found), found.batch, found.segment.base_offset)


def batch_at(lookup: Lookup, timestamp: int) -> object:
    try:
        found = lookup.batch_at(timestamp)
    except KafkafsError as error:
        return type(error)
    return found and (found[0].base_offset, found[1])


def differences(log: Log, offsets: list[int], times: list[int]) -> list[object]:
    """What is not as in the model. Each is asked twice: by then large batches are known to be sound.

    Where no transaction is in the log, both isolation levels take the same way: of read_committed a fifth is asked.
    """
    found: list[object] = []
    transactional = any(is_transactional(run.rows).any() for run in runs(log))
    for isolation in ISOLATIONS:
        scan, lookup = Scan(log, isolation), lookup_of(log, isolation=isolation)
        step = 1 if transactional or isolation == "read_uncommitted" else 5
        for _ in range(2):
            found += [(isolation, "batch", o) for o in offsets[::step] if located(log, o) != scan.locate(o)]
            found += [
                (isolation, "record", o)
                for o in offsets[:: step * (len(offsets) // 20 + 1)]
                if log.start_offset <= o < log.end_offset and first(lookup, o) != scan.first(o)
            ]
            for time in times[::step]:
                if at_time(lookup, time) != scan.at_time(time) or batch_at(lookup, time) != scan.batch_at(time):
                    found.append((isolation, "time", time))
    return found


def runs(log: Log) -> Iterator[BatchRun]:
    for segment in log.segments:
        with suppress(KafkafsError):  # a damaged one
            walked = segment.walk(Start(0, segment.base_offset), log.walk_end(segment))
            yield from (item for item in walked if isinstance(item, BatchRun))


def times_of(data: Dataset, topic: str, partition: int) -> list[int]:
    records = data.records(topic, partition, "read_uncommitted")
    return sorted({r.timestamp_ms + step for r in records[:: max(1, len(records) // 12)] for step in (-1, 0, 1)})


def test_answers_are_the_models_on_sound_logs(dataset):
    directory = open_data_directory(Path(dataset.path))
    for partition in dataset.partitions():
        log = directory.partition(partition.directory).log()
        step = max(1, (log.end_offset - log.start_offset) // 60)
        offsets = list(range(log.start_offset - 1, log.end_offset + 2, step))
        assert differences(log, offsets, times_of(dataset, partition.topic, partition.partition)) == [], partition


@pytest.mark.parametrize("stopped", jars.ENDS, indirect=True)
@pytest.mark.parametrize("topic", ["codec-none", "broker-lz4", "compacted", "transactions", "segments", "disorder"])
def test_answers_are_the_models_on_damaged_logs(stopped, tmp_path, topic):
    """Each flip in a fresh copy: headers above all, where lengths, offsets and checksums stand."""
    chance = random.Random(topic)
    times = times_of(stopped, topic, 0)[::7]
    for number in range(FLIPS):
        home = tmp_path / str(number)
        stopped.copy_to(home, f"{topic}-0")
        logs = [log for log in sorted(home.joinpath(f"{topic}-0").glob("*.log")) if log.stat().st_size]
        flip(chance.choice(logs), chance)
        log = open_data_directory(home).partition(f"{topic}-0").log()
        step = max(1, (log.end_offset - log.start_offset) // 40)
        assert differences(log, list(range(log.start_offset, log.end_offset, step)), times) == [], number


def flip(path: Path, chance: random.Random) -> None:
    """One bit, in a batch's header where the walk from the start finds one, else anywhere."""
    data = bytearray(path.read_bytes())
    starts, at = [], 0
    while at + 61 <= len(data):
        starts.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    at = chance.choice(starts) + chance.randrange(61) if chance.random() < 0.8 else chance.randrange(len(data))
    data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def large(number: int) -> Made:
    """A batch that no window holds, of ten records."""
    return made(10 * number, [1000 + number] * 10, size=LARGE // 2)


@pytest.mark.parametrize("topic", ["codec-none", "segments", "large"])
def test_what_is_known_of_a_batch_ends_with_its_file(stopped, tmp_path, topic):
    """Every batch is found sound, then one bit of each but the last changes in place: no more is believed of them."""
    if topic == "large":
        write_partition(tmp_path, {0: [large(number) for number in range(5)]}, "large-0")
    else:
        stopped.copy_to(tmp_path, f"{topic}-0")
    partition = open_data_directory(tmp_path).partition(f"{topic}-0")
    log = partition.log()
    offsets = range(log.start_offset, log.end_offset)
    for _ in range(2):
        places = {(segment.log_name, batch.position) for segment, batch in (log.locate(offset) for offset in offsets)}
        assert all(lookup_of(log).first(offset) for offset in offsets)
    assert len(places) > 3
    for name, position in sorted(places)[:-1]:
        with (tmp_path / f"{topic}-0" / name).open("r+b") as file:
            file.seek(position + 61)
            byte = file.read(1)[0]
            file.seek(position + 61)
            file.write(bytes([byte ^ 1]))
    assert not isinstance(partition.answer(lambda log: log.locate(offsets[0]))[1], Batch)
    with pytest.raises(KafkafsError):
        partition.answer(lambda log: lookup_of(log).first(offsets[0]))


def test_a_large_batch_is_read_once_to_pass_it(tmp_path):
    """Who asks for points of batches of a megabyte read each three times, and its neighbour."""
    write_partition(tmp_path, {0: [large(number) for number in range(20)]})
    log = log_of(tmp_path)
    lookup, size = lookup_of(log), len(large(0).data)
    _, first_time = counted(log.locate, 105)
    _, second_time = counted(log.locate, 105)
    assert second_time <= 3 * LARGE < 2 * size <= first_time
    _, decoded = counted(lookup.first, 105)
    assert size < decoded < size + 4 * LARGE


@pytest.mark.parametrize("seed", range(4))
def test_records_of_large_batches_are_found(tmp_path, seed):
    """Records of all sizes, with holes between their offsets and times that go back."""
    chance, offset, newest = random.Random(seed), 0, 1000
    batches: list[Made] = []
    for _ in range(3):
        records: list[Record] = []
        for _ in range(900):
            offset += chance.choice((1, 1, 1, 7))
            newest += chance.choice((0, 1, 5))
            time = newest - chance.choice((0, 0, 300))
            value = b"v" * chance.choice((0, 30, 300, 300, 2000) if chance.random() < 0.995 else (40_000,))
            records.append(Record(offset, time, 0, b"%d" % offset, value))
        batches.append(Made(v2_batch(records), tuple(records)))
    assert min(len(batch.data) for batch in batches) > 5 * LARGE
    write_partition(tmp_path, {0: batches})
    lookup = lookup_of(log_of(tmp_path))
    records = [record for batch in batches for record in batch.records]
    for _ in range(2):
        for record in chance.sample(records, 150):
            for asked in (record.offset, record.offset - 1):
                found = next(r for r in records if r.offset >= asked)
                assert first(lookup, asked) == (found.offset, found.timestamp, (found.key, found.value, []))
            time = record.timestamp + chance.choice((-1, 0, 1))
            wanted = next((r for r in records if r.timestamp >= time), None)
            answer = lookup.first_at(time)
            assert (answer and (answer.offset, answer.timestamp)) == (wanted and (wanted.offset, wanted.timestamp))


def test_points_lead_to_the_first_record_at_or_behind_them(tmp_path):
    """Against the list of records itself."""
    write_partition(tmp_path, spread(BATCHES, 15))
    lookup = lookup_of(log_of(tmp_path))
    records = [record for batch in BATCHES for record in batch.records]
    for offset in range(158):
        assert lookup.first(offset).offset == next(each.offset for each in records if each.offset >= offset)
    for time in range(990, 1410, 3):
        found = lookup.first_at(time)
        assert (found and found.offset) == next((each.offset for each in records if each.timestamp >= time), None)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_whoever_listens_changes_no_answer(tmp_path, isolation):
    write_partition(tmp_path, spread(BATCHES, 15))
    log, reported = log_of(tmp_path), list[str]()
    lookup = lookup_of(log, isolation=isolation)
    for offset in range(158):
        assert log.locate(offset, reported.append) == log.locate(offset)
    assert reported
    reported.clear()
    for time in range(990, 1410, 3):
        assert lookup.batch_at(time, reported.append) == lookup.batch_at(time)
        aloud, quietly = lookup.before(time, reported.append), lookup.before(time)
        assert (row(aloud) if isinstance(aloud, Found) else aloud) == (
            row(quietly) if isinstance(quietly, Found) else quietly
        )
    assert reported


def test_the_steps_to_an_offset_name_the_segment_the_index_and_the_batch(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 15))
    reported: list[str] = []
    log_of(tmp_path).locate(70, reported.append)
    segment, index, batch = reported
    assert segment.startswith(f"segment {60:020}.log: the last one with a base offset at or below 70")
    assert index.startswith(f"offset index {60:020}.index: slot 1 of 14: offset 69 -> position")
    assert "to the batch 72..73 at position" in batch


def test_a_point_reads_no_more_than_64_kib():
    """A gigabyte of segment must cost what a small one does."""
    data = Dataset("4.3.1", "stopped")
    log, records = log_of(data.path, "long-index-0"), data.records("long-index")
    assert log.walk_end(log.segments[0]) > 2 * MOST_READ
    log.locate(records[0].offset)  # links the kernels
    for record in random.Random(1).sample(records, 60):
        (_, batch), read = counted(log.locate, record.offset)
        assert batch.last_offset >= record.offset
        assert 0 < read <= MOST_READ
        found, read = counted(lookup_of(log).first_at, record.timestamp_ms)
        assert found is not None
        assert 0 < read <= MOST_READ


def test_who_must_not_wait_asks_the_disk_once(tmp_path):
    """Whoever asks again while the page comes is taken for the beginning of a long read by the kernel."""
    write_partition(tmp_path, {0: [made(0, [5, 6]), made(2, [7, 8])]})
    log = log_of(tmp_path)
    log.locate(0)

    def asks() -> bool:
        """Whether it would wait for a page; the kernel keeps one that is in use when it is told to drop it."""
        for path in tmp_path.rglob("0*"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with non_blocking(), suppress(WouldBlock):
            log.locate(0)
            return False
        return True

    wait_until(asks)
    assert log.locate(0)
