"""`info.json`: its fields, the states of indexes, and problems where there are some."""

import json
import os
from typing import cast

import pytest

from kafkafs.disk.data_file import LocalFile
from kafkafs.errors import DiskError
from kafkafs.format.batch import CONTROL, TRANSACTIONAL
from kafkafs.view import partition_view
from kafkafs.view.node import FileNode
from tests.log.making import made, spread, write_partition, write_start
from tests.nobody import as_nobody, takes_root
from tests.view.trees import cat, node, tree

FIELDS = [
    "topic", "partition", "topicId", "logStartOffset", "localLogStartOffset", "logEndOffset", "highWatermark",
    "lastStableOffset", "earliestOffset", "latestOffset", "minTimestamp", "maxTimestamp", "sizeBytes", "leaderEpochs",
    "segments", "problems",
]  # fmt: skip
BATCHES = [made(number * 3, [1000 + number] * 3) for number in range(12)]


def refusing(bad):
    """Reads as a disk gives them that has a bad block in that file."""
    read_into = LocalFile.read_into

    def failing(file, buffer, position, **how):
        if file.name.endswith(bad):
            raise DiskError("the disk says no")
        return read_into(file, buffer, position, **how)

    return failing


def info(data, partition="t-0"):
    return json.loads(cat(tree(data), f"{partition}/info.json"))


def test_every_field_of_the_contract_is_reported(tmp_path):
    """Scripts read them; a missing one breaks a script."""
    write_partition(tmp_path, spread(BATCHES, 4))
    write_start(tmp_path, 14)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 30\n")
    (tmp_path / "t-0/partition.metadata").write_text("version: 0\ntopic_id: RHluw4CYQNy8SKtNig78rw")
    (tmp_path / "t-0/leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 20\n")
    reported = info(tmp_path)
    assert set(FIELDS) <= set(reported)
    assert [reported[name] for name in FIELDS[:10]] == ["t", 0, "RHluw4CYQNy8SKtNig78rw", 14, 14, 36, 30, 36, 14, 35]
    assert reported["maxTimestamp"] == 1011
    assert reported["leaderEpochs"] == [{"epoch": 0, "startOffset": 0}, {"epoch": 3, "startOffset": 20}]
    assert reported["sizeBytes"] == sum(len(batch.data) for batch in BATCHES)
    size = sum(len(batch.data) for batch in BATCHES[:4])
    assert reported["segments"][0] == {
        "baseOffset": 0, "file": f"{0:020}.log", "sizeBytes": size, "largestTimestamp": 1003,
        "offsetIndex": "ok", "timeIndex": "ok", "transactionIndex": "missing", "tier": "local",
    }  # fmt: skip
    assert reported["problems"] == []


@pytest.mark.parametrize("kind", ["index", "timeindex"])
@pytest.mark.parametrize(
    ("data", "state"),
    [(None, "missing"), (bytes(4096), "padded"), (b"\xff" * 48, "damaged"), (bytes(7), "damaged"),
     (b"\x01" * 24, "damaged")],
)  # fmt: skip
def test_an_index_that_is_not_whole_is_a_problem_in_a_closed_segment(tmp_path, kind, data, state):
    """It costs time only; but an operator wants to know, and then to run `kafkafs reindex`."""
    file = write_partition(tmp_path, spread(BATCHES, 4)) / f"{12:020}.{kind}"
    file.unlink() if data is None else file.write_bytes(data)
    reported = info(tmp_path)
    name = {"index": "offsetIndex", "timeindex": "timeIndex"}[kind]
    if kind == "timeindex" and state == "padded":
        assert reported["segments"][1][name] in ("padded", "damaged")
    else:
        assert reported["segments"][1][name] == state
    assert any(file.name in problem for problem in reported["problems"])
    assert len(reported["problems"]) == 1


def test_an_index_that_has_gone_since_the_last_look_is_missing(tmp_path):
    """The directory's time says that nothing changed: it may be as coarse as two changes are close."""
    file = write_partition(tmp_path, spread(BATCHES, 4)) / f"{12:020}.index"
    shown, about = tree(tmp_path), file.parent.stat()
    assert json.loads(cat(shown, "t-0/info.json"))["segments"][1]["offsetIndex"] == "ok"
    file.unlink()
    os.utime(file.parent, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert json.loads(cat(shown, "t-0/info.json"))["segments"][1]["offsetIndex"] == "missing"


@pytest.mark.parametrize("data", [None, b"", bytes(24 * 400_000)])
def test_a_growing_segments_indexes_may_be_missing_empty_or_padded(tmp_path, data):
    """So a running broker leaves them: no problem."""
    directory = write_partition(tmp_path, spread(BATCHES, 4))
    for kind in ("index", "timeindex"):
        file = directory / f"{24:020}.{kind}"
        file.unlink() if data is None else file.write_bytes(data)
    reported = info(tmp_path)
    assert reported["problems"] == []
    assert reported["segments"][2]["offsetIndex"] == ("missing" if data is None else "padded" if data else "ok")


def test_a_transaction_index_that_cannot_be_true_is_damaged(tmp_path):
    file = write_partition(tmp_path, spread(BATCHES, 4)) / f"{12:020}.txnindex"
    file.write_bytes(b"\xff" * 34)
    reported = info(tmp_path)
    assert reported["segments"][1]["transactionIndex"] == "damaged"
    assert file.name in str(reported["problems"])


def test_who_may_read_it_is_known_by_the_look_that_its_text_takes(tmp_path, monkeypatch):
    """There can be 20,000 logs: each is asked once. What one grants by now counts at once."""
    directory = write_partition(tmp_path, {base: [made(base, [1])] for base in range(20)})
    logs = [directory / f"{base:020}.log" for base in range(20)]
    for log in logs:
        log.chmod(0o644)
    shown = cast(FileNode, node(tree(tmp_path), "t-0/info.json"))
    monkeypatch.setattr(partition_view, "attributes_of_logs", None)
    for number, mode in ((0, 0o640), (7, 0o604), (19, 0o644)):
        logs[number].chmod(mode)
        about = shown.attributes()
        assert (about.mode, about.mtime_ns) == (0o440 if number == 0 else 0o400, logs[-1].stat().st_mtime_ns)


def test_who_may_read_it_counts_of_a_log_too_that_a_disk_refuses(tmp_path, monkeypatch):
    directory = write_partition(tmp_path, {base: [made(base, [1])] for base in range(20)})
    for log in directory.glob("*.log"):
        log.chmod(0o600 if log.name == f"{7:020}.log" else 0o644)
    shown = cast(FileNode, node(tree(tmp_path), "t-0/info.json"))
    monkeypatch.setattr(LocalFile, "read_into", refusing(f"{7:020}.log"))
    assert shown.attributes().mode == 0o400


def test_what_changes_beside_the_logs_is_seen(tmp_path):
    """Regression: info was remembered as long as the log stayed the same."""
    directory = write_partition(tmp_path, {0: BATCHES[:1]})
    root = tree(tmp_path)
    assert json.loads(cat(root, "t-0/info.json"))["leaderEpochs"] is None
    (directory / "new").write_text("0\n1\n7 0\n")
    (directory / "new").rename(directory / "leader-epoch-checkpoint")
    assert json.loads(cat(root, "t-0/info.json"))["leaderEpochs"] == [{"epoch": 7, "startOffset": 0}]


def test_the_largest_timestamp_is_null_where_headers_do_not_tell(tmp_path):
    """A batch that the log start cuts may have it in front of the cut."""
    write_partition(tmp_path, {0: [made(0, [900, 100])]})
    write_start(tmp_path, 1)
    assert info(tmp_path)["maxTimestamp"] is None


def largest(reported):
    return [segment["largestTimestamp"] for segment in reported["segments"]]


def test_a_growing_segments_largest_timestamp_is_that_of_its_newest_batch(tmp_path):
    """Regression: it was that of the last time index entry, which lags behind."""
    directory = write_partition(tmp_path, spread(BATCHES, 4))
    index = directory / f"{24:020}.timeindex"
    index.write_bytes(index.read_bytes()[:12])
    reported = info(tmp_path)
    assert (largest(reported), reported["maxTimestamp"]) == ([1003, 1007, 1011], 1011)


def test_a_damaged_time_index_tells_no_largest_timestamp(tmp_path):
    """Regression: a number out of the blue beside "timeIndex": "damaged"."""
    (write_partition(tmp_path, spread(BATCHES, 4)) / f"{12:020}.timeindex").write_bytes(b"\x01" * 24)
    reported = info(tmp_path)
    assert reported["segments"][1]["timeIndex"] == "damaged"
    assert largest(reported) == [1003, 1007, 1011]


def test_a_closed_log_that_a_disk_refuses_is_a_gap(tmp_path, monkeypatch):
    """Regression: one bad block in a thousand segments made the whole file "Input/output error"."""
    write_partition(tmp_path, spread(BATCHES, 4))
    bad = f"{12:020}.log"
    root = tree(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(LocalFile, "read_into", refusing(bad))
        reported = json.loads(cat(root, "t-0/info.json"))
    assert largest(reported) == [1003, None, 1011]
    assert reported["problems"] == [f"{bad} cannot be read: the disk says no"]
    assert (reported["maxTimestamp"], reported["earliestOffset"], reported["latestOffset"]) == (1011, 0, 35)
    healed = json.loads(cat(root, "t-0/info.json"))
    assert (largest(healed), healed["problems"]) == ([1003, 1007, 1011], [])


@pytest.mark.parametrize("entries", [0, 1, 2, 3])
def test_the_largest_timestamp_is_that_of_data_where_markers_are_newer(tmp_path, entries):
    """Regression: null for most transactional partitions, whose newest batch is a marker. With any time index."""
    control = {"attributes": TRANSACTIONAL | CONTROL}
    batches = [made(0, [70]), made(1, [50]), made(2, [90], **control), made(3, [95], **control)]
    index = write_partition(tmp_path, {0: batches}) / f"{0:020}.timeindex"
    index.write_bytes(index.read_bytes()[: 12 * entries])
    reported = info(tmp_path)
    assert (reported["maxTimestamp"], largest(reported)) == (70, [95])


@pytest.mark.parametrize(("text", "epochs"), [(None, None), ("no checkpoint", None), ("", []), ("0\n0\n", [])])
def test_leader_epochs_are_null_where_unknown(tmp_path, text, epochs):
    """`[]` says that there are none; what is missing or broken says nothing."""
    file = write_partition(tmp_path, {0: BATCHES[:1]}) / "leader-epoch-checkpoint"
    if text is not None:
        file.write_text(text)
    assert info(tmp_path)["leaderEpochs"] == epochs


def test_a_checkpoint_beyond_64_bits_is_ignored(tmp_path):
    """Regression: OverflowError, "bug in ...", for everything in the partition."""
    write_partition(tmp_path, {0: BATCHES[:2]})
    write_start(tmp_path, 10**19)
    reported = info(tmp_path)
    assert reported["logStartOffset"] == 0
    assert "log-start-offset-checkpoint is ignored" in str(reported["problems"])
    assert cat(tree(tmp_path), "t-0/by-offset/0..") == b"".join(batch.data for batch in BATCHES[:2])


def test_the_smallest_timestamp_is_reported_where_it_takes_a_moment(tmp_path):
    """It was always null. What the log start has left behind does not count, nor do records without a timestamp."""
    write_partition(tmp_path, {0: [made(0, [900, 100]), made(2, [-1, 700]), made(4, [800])]})
    assert info(tmp_path)["minTimestamp"] == 100
    write_start(tmp_path, 2)
    assert info(tmp_path)["minTimestamp"] == 700


def test_a_time_before_1970_is_the_smallest_and_only_what_stands_for_none_is_none(tmp_path):
    """Regression: it was left out, and 900 told for the smallest."""
    write_partition(tmp_path, {0: [made(0, [900, -5]), made(2, [-1, -1])]})
    assert info(tmp_path)["minTimestamp"] == -5


def test_the_smallest_timestamp_is_null_of_many_segments_and_where_a_batch_is_corrupt(tmp_path):
    """No index tells it, and to read all records is not what a look is for."""
    write_partition(tmp_path / "many", spread([made(number, [5]) for number in range(40)], 2))
    assert info(tmp_path / "many")["minTimestamp"] is None
    directory = write_partition(tmp_path / "corrupt", {0: [made(0, [900]), made(1, [100]), made(2, [800])]})
    log = directory / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert info(tmp_path / "corrupt")["minTimestamp"] is None


def test_no_record_has_no_smallest_timestamp(tmp_path):
    write_partition(tmp_path, {0: []})
    assert info(tmp_path)["minTimestamp"] is None


@takes_root
def test_a_last_log_that_may_not_be_read_has_its_size_all_the_same(open_path):
    """Regression: it had -1 bytes, and the sum was one too small."""
    directory = write_partition(open_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    (last := directory / f"{1:020}.log").chmod(0o600)
    with as_nobody():
        reported = json.loads(cat(tree(open_path), "t-0/info.json"))
    assert reported["segments"][-1]["sizeBytes"] == last.stat().st_size
    assert reported["sizeBytes"] == sum(file.stat().st_size for file in directory.glob("*.log"))


@pytest.mark.parametrize(
    ("times", "units"),
    [
        ([1_700_000_000] * 3, ["seconds"]), ([1_700_000_000_000_000] * 3, ["microseconds"]),
        ([1_700_000_000 * 10**9] * 3, ["nanoseconds"]), ([1_700_000_000_000] * 3, []), ([1000, -1, 2**63 - 1], []),
        ([1_700_000_000, 1_700_000_000_000, 1_700_000_000 * 10**9], ["seconds", "nanoseconds"]),
    ],
)  # fmt: skip
def test_times_in_another_unit_are_a_problem(tmp_path, times, units):
    """Regression: a producer that wrote nanoseconds as milliseconds went unnoticed."""
    write_partition(tmp_path, {0: [made(number, [time]) for number, time in enumerate(times)]}, "t-0")
    reported = info(tmp_path)["problems"]
    assert [each.partition(":")[0] for each in reported] == [f"times look like {unit}" for unit in units]
