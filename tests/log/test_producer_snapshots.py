"""Producer snapshots as they are looked for: at an offset, and back from a segment."""

from kafkafs.log.producer_snapshots import newest_open, open_at, producers_at
from tests.log.making import made, partition_of, producer_snapshot, write_partition
from tests.nobody import as_nobody, takes_root


@takes_root
def test_what_is_open_where_a_segment_begins_stands_in_its_snapshot(open_path):
    """Before the first offset nothing is; where nothing can be read, nothing is known, whoever asks."""
    directory = write_partition(open_path, {base: [made(base, [1])] for base in (0, 9, 10, 12, 13)})
    (directory / f"{9:020}.snapshot").write_bytes(producer_snapshot((7, 3), (8, -1)))
    (directory / f"{10:020}.snapshot").write_bytes(producer_snapshot((7, 3))[:-1])
    (directory / f"{12:020}.snapshot").mkdir()
    (directory / f"{13:020}.snapshot").write_bytes(producer_snapshot((7, 3)))
    (directory / f"{13:020}.snapshot").chmod(0)
    with as_nobody():
        partition = partition_of(open_path)
        segments = partition.log().segments
        assert [open_at(partition, offset) for offset in (0, 9, 10, 11, 12, 13)] == [{}, {7: 3}, *[None] * 4]
        assert [each.producer_id for each in producers_at(segments[-1], 9) or ()] == [7, 8]
        assert [newest_open(segments, number) for number in range(5)] == [(0, {}), *[(1, {7: 3})] * 4]
