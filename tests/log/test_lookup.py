"""What a lookup costs, whichever way it takes."""

import random

import pytest

from kafkafs.log.lookup import Lookup, locate
from kafkafs.log.options import ReadOptions
from kafkafs.log.transactions import OpenTransactions
from tests.counting import counted
from tests.kafka.dataset import Dataset
from tests.log.making import log_of
from tests.log.reading import careful, locate_carefully, reader

MOST_READ = 64 << 10


@pytest.mark.parametrize(("find", "lookup"), [(locate, reader), (locate_carefully, careful)])
def test_a_lookup_reads_pages_of_an_index_and_a_little_of_the_log(find, lookup):
    """A gigabyte of segment must cost what a small one does."""
    data = Dataset("4.3.1", "stopped")
    log, records = log_of(data.path, "long-index-0"), data.records("long-index")
    assert log.end_of(log.segments[0]) > 2 * MOST_READ
    locate(log, records[0].offset)  # links the kernels
    for record in random.Random(1).sample(records, 60):
        (_, batch), read = counted(find, log, record.offset)
        assert batch.last_offset >= record.offset
        assert 0 < read <= MOST_READ
        found, read = counted(lookup(log).first_at, record.timestamp_ms)
        assert found is not None
        assert 0 < read <= MOST_READ


def test_a_lookup_locates_the_quick_way():
    """Inherited, it took the careful one, many times slower, and nobody saw: both answer the same."""
    data, told = Dataset("4.3.1", "stopped"), list[str]()
    log = log_of(data.path, "long-index-0")
    lookup = Lookup(log, ReadOptions(), OpenTransactions(), told.append)
    for record in data.records("long-index")[::100]:
        assert lookup.locate(record.offset) == locate(log, record.offset) == locate_carefully(log, record.offset)
    assert told == []
