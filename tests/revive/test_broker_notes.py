"""What a broker noted beside a log, held against a log of which a base offset is wrong: no CRC is about it."""

import struct

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.broker_notes import BrokerNotes
from tests.kafka.dataset import Dataset
from tests.revive.scans import SOURCE, scanned


@pytest.fixture
def moved(tmp_path):
    """A function: of a copy of `codec-snappy` the last batch says that it begins so much later."""

    def move(distance, stopped=True):
        SOURCE.copy_to(tmp_path / "data", "codec-snappy-0")
        if not stopped:
            (tmp_path / "data/.kafka_cleanshutdown").unlink()
        log = open_data_directory(tmp_path / "data").partition("codec-snappy-0").log()
        assert log.tail is not None
        last = log.tail.last
        assert last is not None
        with open(tmp_path / "data/codec-snappy-0" / log.segments[-1].log_name, "r+b") as file:
            file.seek(last.position)
            file.write(struct.pack(">q", last.base_offset + distance))
        return tmp_path / "data", last.base_offset, last.last_offset

    return move


@pytest.mark.parametrize(("distance", "stopped"), [(1 << 48, True), (1 << 48, False), (1 << 12, True)])
@pytest.mark.parametrize("way", ["skip", "cut"])
def test_an_offset_where_none_can_be_costs_its_batch_alone(moved, distance, stopped, way):
    """All before it stays, and the next record gets no offset of a time to come."""
    data, first, last = moved(distance, stopped)
    scan, _ = scanned(data, "codec-snappy-0", way)
    assert [(each.first, each.last) for each in scan.tally.losses] == [(first, last)]
    assert scan.tally.records == len([each for each in SOURCE.records("codec-snappy") if each.offset < first])
    assert scan.tally.end_offset == (last + 1 if way == "skip" else first)


def test_where_nothing_contradicts_it_an_offset_stays(moved):
    """A broker that was killed may have noted less than it had."""
    data, first, _ = moved(1 << 12, stopped=False)
    scan, _ = scanned(data, "codec-snappy-0")
    assert scan.tally.losses == []
    assert scan.tally.end_offset > first + (1 << 12)


@pytest.mark.parametrize("state", ["live", "stopped"])
def test_of_sound_logs_every_offset_can_be(state):
    for directory in (open_data_directory(Dataset("4.3.1", state).path),):
        for name, parsed in directory.names().items():
            if not parsed.mark:
                partition = directory.partition(name)
                recorded = BrokerNotes(partition, partition.log())
                assert recorded.end <= partition.log().end_offset
                assert scanned(directory.path, name)[0].refused == []


def test_what_a_cut_takes_is_reported_up_to_the_noted_end(tmp_path):
    """Of a log that is also too short: what would have come behind is lost, too."""
    SOURCE.copy_to(tmp_path, "codec-snappy-0")
    log = open_data_directory(tmp_path).partition("codec-snappy-0").log()
    file = tmp_path / "codec-snappy-0" / log.segments[-1].log_name
    content = bytearray(file.read_bytes()[:-1])
    content[70] ^= 1
    file.write_bytes(content)
    scan, _ = scanned(tmp_path, "codec-snappy-0", "cut")
    assert [(each.first, each.last) for each in scan.tally.losses] == [(0, log.end_offset - 1)]
