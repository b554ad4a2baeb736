"""One segment's keys: parts that are merged, and what a closed segment keeps."""

from kafkafs.search.segment_keys import SegmentKeys
from tests.log.making import partition_of, write_partition
from tests.log.reading import reader
from tests.search.test_partition_keys import batch, grow


def test_many_small_appends_leave_few_parts(tmp_path):
    """Each lookup beside a busy producer scans a little; the parts must not pile up."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"])]}, indexed=False)
    partition = partition_of(tmp_path)
    keys = SegmentKeys(partition.log().segments[0], 0)
    for number in range(1, 200):
        grow(path, 0, batch(number, [b"%d" % number]))
        partition.look_again()
        seen = reader(partition.log())
        keys.scan(seen, seen.visible_end)
    assert len(keys.indexes) <= 8
    assert sum(index.row_count for index in keys.indexes) == 200


def test_a_closed_segment_keeps_eight_bytes_a_key(tmp_path):
    batches = [batch(number * 100, [b"%d" % (number * 100 + at) for at in range(100)]) for number in range(10)]
    write_partition(tmp_path, {0: batches, 1000: [batch(1000, [b"x"])]})
    seen = reader(partition_of(tmp_path).log())
    keys = SegmentKeys(seen.log.segments[0], 0)
    keys.scan(seen, 1000)
    assert (keys.is_closed, len(keys.indexes), keys.size) == (True, 1, 8000)
