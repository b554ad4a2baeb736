"""`nextTimestamp` and `lagMs` of committed offsets: the contract's cases one by one, and real partitions by a scan."""

import pytest

from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.progress import GroupProgress
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.view.tree import Root
from tests.cluster.reading import lines
from tests.cluster.writing import Data, batch, commit, marker
from tests.kafka.dataset import Dataset
from tests.log.tier.lives import FIRST_MS
from tests.log.tier.test_lives import one_epoch

OFFSETS = "__consumer_offsets-0"
START, HIGH, END = 2, 13, 14


@pytest.fixture
def data(tmp_path):
    """Records at 0 to 9, three a batch, the newest in the middle; markers at 10 to 12, one record above the high
    watermark."""
    data = Data(tmp_path / "data")
    for number, timestamp in enumerate((1000, 9000, 5000)):
        data.write("t-0", [(b"k", b"v")] * 3, timestamp=timestamp + number)
    data.write("t-0", [(b"k", b"v")], timestamp=6000, producer_id=4)
    for _ in range(3):
        data.write("t-0", [marker()], timestamp=20_000, producer_id=4, is_control=True)
    data.write("t-0", [(b"k", b"v")], timestamp=7000)
    (data.path / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {HIGH}\n")
    (data.path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {START}\n")
    return data


def times(data, *offsets, **options):
    group = [commit(f"g{number}", "t", 0, offset) for number, offset in enumerate(offsets)]
    data.write(OFFSETS, group, **options)
    root = Root([data.path], ReadOptions())
    rows = [lines(root, f"groups/g{number}/offsets.jsonl")[0] for number in range(len(offsets))]
    assert all(list(row)[-3:] == ["lag", "nextTimestamp", "lagMs"] for row in rows)
    return [(row["nextTimestamp"], row["lagMs"]) for row in rows]


def test_of_each_case_the_contract_tells(data):
    reported = times(data, HIGH, 0, START, 4, 9, 10, 50, -1)
    assert reported == [
        (None, 0),  # lag 0
        (1000, None),  # below the log start
        (1000, 8001),
        (9001, 0),
        (6000, 3001),
        (7000, 2001),  # markers follow, then a record
        (None, None),  # past the log end
        (None, None),  # no offset
    ]


def test_where_only_markers_follow_nothing_is_behind(tmp_path):
    data = Data(tmp_path / "data")
    data.write("t-0", [(b"k", b"v")] * 3, timestamp=1000, producer_id=4)
    data.write("t-0", [marker()], timestamp=20_000, producer_id=4, is_control=True)
    (data.path / "replication-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert times(data, 3, 2, 0) == [(None, 0), (1000, 0), (1000, 0)]


def test_without_a_high_watermark_the_log_end_counts(data):
    (data.path / "replication-offset-checkpoint").unlink()
    assert times(data, END, 13, 4) == [(None, 0), (7000, 2001), (9001, 0)]


def test_a_partition_elsewhere_and_a_pending_offset_tell_nothing(data):
    data.write(OFFSETS, [commit("g", "elsewhere", 0, 5), commit("h", "t", 0, 4)])
    data.write(OFFSETS, [commit("h", "t", 0, 5)], producer_id=9)
    root = Root([data.path], ReadOptions())
    rows = [*lines(root, "groups/g/offsets.jsonl"), *lines(root, "groups/h/offsets.jsonl")]
    reported = [(row["pending"], row["nextTimestamp"], row["lagMs"]) for row in rows]
    assert reported == [(False, None, None), (False, 9001, 0), (True, None, None)]


def test_records_without_a_time_tell_none(tmp_path):
    data = Data(tmp_path / "data")
    data.write("t-0", [(b"k", b"v")] * 3, timestamp=-1)
    data.write("t-0", [(b"k", b"v")] * 3, timestamp=1000)
    assert times(data, 1, 4) == [(None, None), (1000, 0)]


def test_a_damaged_batch_leaves_its_offsets_unknown(data):
    log = data.path / "t-0" / f"{0:020}.log"
    whole = bytearray(log.read_bytes())
    whole[3 * len(batch([(b"k", b"v")] * 3, 0)) // 2] ^= 1
    log.write_bytes(whole)
    assert times(data, HIGH, START, 4, 9) == [(None, 0), (1000, 6000), (None, None), (6000, 1000)]


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_lost_last_upload_leaves_the_time_behind_unknown(tmp_path, is_lost):
    """Regression: the newest record of the uploads that are left counted as the partition's newest."""
    past = one_epoch()
    tier = past.write_tier(tmp_path / "tier")
    if is_lost:
        for file in tier.rglob(f"{past.uploads[-1].stem}*"):
            file.unlink()
    data = Data(past.write_disk(tmp_path / "disk", has_local=False, has_metadata=True))
    data.write(OFFSETS, [commit("g", "t", 0, 15)])
    root = Root([data.path], ReadOptions(tiered=TierSource(str(tier))))
    row = lines(root, "groups/g/offsets.jsonl")[0]
    newest = past.uploads[-1].stop - 1
    assert row["logEndOffset"] == newest + 1
    assert (row["nextTimestamp"], row["lagMs"]) == (FIRST_MS + 15_000, None if is_lost else 1000 * (newest - 15))


DATASET = Dataset("4.3.1", "stopped")


def test_real_partitions_tell_what_a_scan_finds():
    """Every partition of a real broker, at some offsets of it; what consumers got is the truth."""
    directory = open_data_directory(DATASET.path)
    progress = GroupProgress(lambda topic, number: directory.partition(f"{topic}-{number}"), ReadOptions())
    checked = 0
    for name in DATASET.partitions():
        records, ends = DATASET.records(*name), progress.ends(*name)
        newest = max((each.timestamp_ms for each in records), default=-1)
        start, end = ends.log_start or 0, ends.log_end or 0
        offsets = [*range(start, end + 1, max(1, (end - start) // 20))]
        commits = [Commit(*name, offset, None, None, "", None, None, None) for offset in offsets]
        for offset, standing in zip(offsets, progress.of(commits), strict=True):
            following = next((each.timestamp_ms for each in records if each.offset >= offset), None)
            if offset == ends.high_watermark:
                following = None
            expected = None if following in (None, -1) else following
            assert standing.next_timestamp == expected, (name, offset)
            lag = 0 if following is None else None if expected is None else newest - following
            assert standing.lag_ms == lag, (name, offset)
            checked += 1
    assert checked > 200
