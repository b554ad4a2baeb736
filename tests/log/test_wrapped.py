"""Compressed v0 and v1 messages in ranges: they state their last offset only, and hold others before it."""

import gzip
import random

import pytest

from kafkafs.disk.budget import Budget
from kafkafs.disk.prefetch import MEMORY, Prefetch
from kafkafs.errors import BatchMemoryFull
from kafkafs.format.batch import parse_batch
from kafkafs.format.memory import MemoryBudget
from kafkafs.log.batch_runs import Damage
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.extents import Extent
from kafkafs.log.overlaps import contents
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.batches import batches_between
from tests.format.test_legacy_records import GZIP, Message
from tests.kafka.dataset import Dataset
from tests.log.making import Made, log_of, write_partition
from tests.log.reading import reader, rows, wanted

DATA = Dataset("2.8.0", "stopped")
TOPICS = ("v0-gzip", "v0-lz4", "v1-snappy", "v1-append-time", "mixed-formats")

PREFETCH = Prefetch(Budget(MEMORY))


@pytest.mark.parametrize("topic", TOPICS)
def test_any_range_gives_the_consumers_records(topic):
    """Half of a compressed message set was invisible when a range ended inside it."""
    log, truth, chance = log_of(DATA.path, f"{topic}-0"), wanted(DATA.records(topic)), random.Random(topic)
    for _ in range(40):
        start = chance.randint(0, log.end_offset)
        end = start + chance.choice([0, 1, 2, 10, 100])
        assert rows(reader(log).records(start, end)) == [row for row in truth if start <= row.offset < end]


@pytest.mark.parametrize("topic", TOPICS)
def test_raw_ranges_hold_every_message_that_overlaps(topic):
    """Whoever copies a raw range decodes it elsewhere and must find its first and last record in it."""
    log, chance = log_of(DATA.path, f"{topic}-0"), random.Random(topic)
    whole = (DATA.directory(topic) / f"{0:020}.log").read_bytes()
    for _ in range(40):
        start = chance.randint(0, log.end_offset - 1)
        end = min(start + chance.choice([1, 2, 10, 100]), log.end_offset)
        first, last = log.locate(start)[1], log.locate(end - 1)[1]
        extents = Extent.between(log, start, end)
        got = b"".join(bytes(each.read(each.position, each.end - each.position, PREFETCH)) for each in extents)
        assert got == whole[first.position : last.end], (start, end)
        lines = b"".join(bytes(text) for _, text in batches_between(log, start, end)).splitlines()
        assert f'"position":{first.position},' in lines[0].decode()
        assert f'"position":{last.position},' in lines[-1].decode()


def test_damage_does_not_own_what_the_message_behind_it_holds(tmp_path):
    """Its readers would get an error for records that are fine."""
    DATA.copy_to(tmp_path, "v1-gzip-0")
    log = log_of(tmp_path, "v1-gzip-0")
    first = log.locate(0)[1]
    second = log.locate(first.last_offset + 1)[1]
    path = tmp_path / "v1-gzip-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    log = log_of(tmp_path, "v1-gzip-0")
    assert log.locate(0)[1] == Damage(0, first.size, 0, first.last_offset)
    for offset in range(first.last_offset + 1, second.last_offset + 1):
        assert reader(log).lookup.first(offset).offset == offset


def test_a_large_message_is_unpacked_in_the_memory_that_all_readers_share(tmp_path):
    """Asked for an attribute of it, a mount took a quarter of a gigabyte more than its limit."""
    inner = Message(0, bytes(20 << 20)).encoded() + Message(1, b"").encoded()
    packed = Message(1, gzip.compress(inner), attributes=GZIP).encoded()
    write_partition(tmp_path, {0: [Made(packed, ())]}, indexed=False)
    memory = MemoryBudget(30 << 20)
    log = open_data_directory(tmp_path, ReadOptions(memory=memory)).partition("t-0").log()
    file, batch = log.segments[0].log(), parse_batch(packed, 0, 0)
    assert batch is not None
    held = memory.take(20 << 20)
    with pytest.raises(BatchMemoryFull):
        contents(file, batch)
    del held
    assert contents(file, batch) == (0, 2)
    assert memory.taken == 0
