"""The quick way of a lookup against the careful one: the same answer for every offset, on sound and on damaged logs."""

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.native.layout import RECORD_INDEX_INTERVAL
from kafkafs.errors import KafkafsError, NotFound, WouldBlock
from kafkafs.format.batch import Batch
from kafkafs.format.batches import is_transactional
from kafkafs.format.columns import Records
from kafkafs.log import quick_lookup
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.lookup import locate
from kafkafs.log.options import ISOLATIONS, Isolation, ReadOptions
from kafkafs.log.reading import Reader
from kafkafs.log.transactions import OpenTransactions
from kafkafs.log.visible import Visible
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import Made, log_of, made, write_partition
from tests.log.reading import careful, locate_carefully
from tests.mounting import wait_until

FLIPS = 12


def _found(log: Log, offset: int, find=locate) -> object:
    try:
        segment, found = find(log, offset)
    except KafkafsError as error:
        return type(error)
    return segment.base_offset, found


def _carefully_found(log: Log, offset: int) -> object:
    return _found(log, offset, locate_carefully)


def _reader(log: Log, isolation: Isolation = "read_uncommitted") -> Reader:
    return Reader(log, ReadOptions(isolation=isolation), OpenTransactions())


def _at_time(reader: Reader, timestamp: int) -> object:
    """The record at a time and where its batch stands, by the quick way where that can tell."""
    try:
        found = reader.first_at(timestamp)
        place = None if found is None else reader.batch_at(timestamp)
    except KafkafsError as error:
        return type(error)
    return found and (found.offset, found.timestamp, _contents(found.columns), found.batch, place)


def _carefully_at_time(reader: Reader, timestamp: int) -> object:
    """The same by one careful search: where the batch stands is told by the record's own search."""
    try:
        found = careful(reader.log, isolation=reader.visible.options.isolation).first_at(timestamp)
    except KafkafsError as error:
        return type(error)
    return found and (
        found.offset, found.timestamp, _contents(found.columns), found.batch, (found.segment, found.batch)
    )  # fmt: skip


def _contents(columns: Records) -> object:
    return columns.key(0), columns.value(0), columns.headers(0)


def _first(reader: Reader, offset: int) -> object:
    """The first record of a decoded point; `records` takes the careful way."""
    try:
        found = reader.first(offset)
    except KafkafsError as error:
        return type(error)
    return found.offset, found.timestamp, _contents(found.columns)


def _first_of_all(reader: Reader, offset: int) -> object:
    try:
        for columns in reader.records(offset):
            if len(columns):
                return columns.rows["offset"][0], columns.rows["timestamp"][0], _contents(columns)
    except KafkafsError as error:
        return type(error)
    return NotFound


def _differences(log: Log, offsets: list[int], times: list[int]) -> list[object]:
    """Each is asked twice: the second time its batch is known to be sound.

    Where no transaction is in the log, both isolation levels take the same way: of read_committed a fifth is asked.
    """
    inside = [offset for offset in offsets if log.start_offset <= offset < log.end_offset][:: len(offsets) // 20 + 1]
    found: list[object] = [o for o in offsets if not _found(log, o) == _found(log, o) == _carefully_found(log, o)]
    transactional = any(is_transactional(run.rows).any() for run in _runs(log))
    for isolation in ISOLATIONS:
        reader, step = _reader(log, isolation), 1 if transactional or isolation == "read_uncommitted" else 5
        found += [
            (isolation, "time", t)
            for t in times[::step]
            if not _at_time(reader, t) == _at_time(reader, t) == _carefully_at_time(reader, t)
        ]
        found += [
            (isolation, "record", o)
            for o in inside[::step]
            if not _first(reader, o) == _first(reader, o) == _first_of_all(reader, o)
        ]
    return found


def _runs(log: Log) -> Iterator[BatchRun]:
    for segment in log.segments:
        with suppress(KafkafsError):  # a damaged one
            walked = segment.walk(Start(0, segment.base_offset), log.walk_end(segment))
            yield from (item for item in walked if isinstance(item, BatchRun))


def test_read_committed_has_the_quick_way_too():
    """A mount that hides aborted records answered points many times slower."""
    data = Dataset("4.3.1", "stopped")
    directory = open_data_directory(Path(data.path))
    log = directory.partition("long-index-0").log()
    visible = Visible(log, ReadOptions(isolation="read_committed"), OpenTransactions())
    for record in data.records("long-index")[::100]:
        assert quick_lookup.record_reaching(visible, record.offset)
        segment = next(log.segments_reaching(record.timestamp_ms))
        assert quick_lookup.late_record(visible, segment, record.timestamp_ms)
    log = directory.partition("transactions-0").log()
    visible = Visible(log, ReadOptions(isolation="read_committed"), OpenTransactions())
    for record in data.records("transactions", 0, "read_committed"):
        assert quick_lookup.record_reaching(visible, record.offset), record


def _times(data: Dataset, topic: str, partition: int) -> list[int]:
    records = data.records(topic, partition, "read_uncommitted")
    return sorted({r.timestamp_ms + step for r in records[:: max(1, len(records) // 12)] for step in (-1, 0, 1)})


def test_same_answers_on_sound_logs(dataset):
    directory = open_data_directory(Path(dataset.path))
    for partition in dataset.partitions():
        log = directory.partition(partition.directory).log()
        step = max(1, (log.end_offset - log.start_offset) // 60)
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


@pytest.mark.parametrize("topic", ["codec-none", "segments"])
def test_what_is_known_of_a_batch_ends_with_its_file(stopped, tmp_path, topic):
    """Every batch is found sound, then one bit of each but the last changes in place: no more is believed of them."""
    stopped.copy_to(tmp_path, f"{topic}-0")
    partition = open_data_directory(tmp_path).partition(f"{topic}-0")
    log = partition.log()
    offsets = range(log.start_offset, log.end_offset)
    for _ in range(2):
        places = {(segment.log_name, batch.position) for segment, batch in (locate(log, offset) for offset in offsets)}
        assert all(_reader(log).first(offset) for offset in offsets)
    assert len(places) > 3
    for name, position in sorted(places)[:-1]:
        with (tmp_path / f"{topic}-0" / name).open("r+b") as file:
            file.seek(position + 61)
            byte = file.read(1)[0]
            file.seek(position + 61)
            file.write(bytes([byte ^ 1]))
    assert not isinstance(partition.answer(lambda log: locate(log, offsets[0]))[1], Batch)
    with pytest.raises(KafkafsError):
        partition.answer(lambda log: _reader(log).first(offsets[0]))


@pytest.mark.parametrize("seed", range(4))
def test_same_answers_inside_of_large_batches(tmp_path, seed):
    """Records of all sizes, with holes between their offsets and times that go back: each is asked for three times, so
    that the later ones start at an indexed record."""
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
    assert min(len(batch.data) for batch in batches) > 10 * RECORD_INDEX_INTERVAL
    write_partition(tmp_path, {0: batches})
    reader = _reader(log_of(tmp_path))
    records = [record for batch in batches for record in batch.records]
    for _ in range(3):
        for record in chance.sample(records, 150):
            for asked in (record.offset, record.offset - 1):
                found = next(r for r in records if r.offset >= asked)
                with non_blocking():  # others do not read so much at once
                    first = _first(reader, asked)
                assert first == (found.offset, found.timestamp, (found.key, found.value, []))
            time = record.timestamp + chance.choice((-1, 0, 1))
            late = next((r for r in records if r.timestamp >= time), None)
            with non_blocking():
                at_time = _at_time(reader, time)
            assert at_time == _carefully_at_time(reader, time), time
            expected = (late.offset, late.timestamp) if late else None
            assert (at_time[:2] if isinstance(at_time, tuple) else at_time) == expected


def test_who_must_not_wait_asks_the_disk_once(tmp_path):
    """Else the careful way would ask again while the page comes, and the kernel take that for a long read."""
    write_partition(tmp_path, {0: [made(0, [5, 6]), made(2, [7, 8])]})
    log = log_of(tmp_path)
    segment, _ = locate(log, 0)
    end = log.walk_end(segment)
    assert quick_lookup.batch_reaching(segment, 0, end)

    def asks() -> bool:
        """Whether it would wait for a page; the kernel keeps one that is in use when it is told to drop it."""
        for path in tmp_path.rglob("0*"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with non_blocking(), suppress(WouldBlock):
            quick_lookup.batch_reaching(segment, 0, end)
            return False
        return True

    wait_until(asks)
    assert quick_lookup.batch_reaching(segment, 0, end)
