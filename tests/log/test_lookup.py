"""What a lookup costs, whichever way it takes."""

import random

import pytest

from kafkafs.log.lookup import locate
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
