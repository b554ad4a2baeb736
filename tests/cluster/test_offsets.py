"""Committed offsets at the edges of their partitions: lag, and where the links of a group lead."""

import errno
import os

import pytest

from kafkafs.log.options import ReadOptions, TierSource
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names
from tests.cluster.writing import Data, commit, pair
from tests.kafka import tiered
from tests.mounting import run

OFFSETS = "__consumer_offsets-0"
START, HIGH, END = 3, 9, 10
"""Where the partition t-0 begins, up to where it is replicated, and where it ends."""


@pytest.fixture
def data(tmp_path):
    data = Data(tmp_path / "data")
    data.write("t-0", [(None, b"%d" % number) for number in range(END)])
    data.write("unchecked-0", [(None, b"x")])
    (data.path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {START}\n")
    (data.path / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {HIGH}\n")
    return data


def told(data, group="g"):
    return lines(Root([data.path], ReadOptions()), f"groups/{group}/offsets.jsonl")


@pytest.mark.parametrize(("offset", "lag"), [(5, 4), (HIGH, 0), (END, -1), (50, -41), (0, 9), (-1, None)])
def test_lag_is_what_kafkas_tool_calls_so(data, offset, lag):
    """High watermark less committed offset, whatever is left of the log; none of what a client says it has not."""
    data.write(OFFSETS, [commit("g", "t", 0, offset)])
    (row,) = told(data)
    ends = (row["logStartOffset"], row["highWatermark"], row["logEndOffset"])
    assert (row["offset"], *ends, row["lag"]) == (offset, START, HIGH, END, lag)


def test_no_lag_is_told_of_what_is_pending_or_not_here(data):
    data.write(OFFSETS, [commit("g", "elsewhere", 0, 5), commit("g", "t", 7, 5), commit("g", "unchecked", 0, 0)])
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=7)
    rows = {f"{row['topic']}-{row['partition']}": row for row in told(data)}
    assert {name: row["lag"] for name, row in rows.items()} == dict.fromkeys(rows)
    assert {name: (row["logStartOffset"], row["highWatermark"], row["logEndOffset"]) for name, row in rows.items()} == {
        "elsewhere-0": (None, None, None),
        "t-7": (None, None, None),
        "unchecked-0": (0, None, 1),
        "t-0": (START, HIGH, END),
    }


def test_what_kafka_writes_as_minus_one_is_null(data):
    key = {"group": "g", "topic": "t", "partition": 0}
    data.write(OFFSETS, [pair("OffsetCommit", key, {"offset": 5, "leaderEpoch": -1, "commitTimestamp": -1}, 3)])
    (row,) = told(data)
    assert [row[field] for field in ("topicId", "leaderEpoch", "commitTimestamp", "expireTimestamp")] == [None] * 4
    data.write(OFFSETS, [pair("OffsetCommit", key, {"offset": 5, "commitTimestamp": 8, "expireTimestamp": 9}, 1)])
    (row,) = told(data)
    assert (row["commitTimestamp"], row["expireTimestamp"]) == (8, 9)


def test_offsets_stand_in_the_order_of_topics_and_numbers_of_partitions(data):
    places = [("b", 0), ("a", 10), ("a", 9), ("é", 1), ("B", 2)]
    data.write(OFFSETS, [commit("g", *place, 1) for place in places])
    assert [(row["topic"], row["partition"]) for row in told(data)] == sorted(places)


def test_who_walks_with_sizes_comes_to_the_end(place):
    """Regression: a link that led nowhere ended `os.walk` with `os.path.getsize`, in each group without lag."""
    for directory, _, files in os.walk(place):
        for name in files:
            os.path.getsize(os.path.join(directory, name))


def test_only_offsets_in_effect_of_partitions_that_are_here_have_links(data):
    data.write(OFFSETS, [commit("g", "elsewhere", 0, 5), commit("g", "unchecked", 0, -1), commit("g", "t", 0, 5)])
    data.write(OFFSETS, [commit("g", "unchecked", 0, 1)], producer_id=7)
    root = Root([data.path], ReadOptions())
    assert (names(root, "groups/g/next"), names(root, "groups/g/unread")) == (["t-0"], ["t-0.jsonl"])


@pytest.fixture(scope="module")
def place(mount_for_module, tmp_path_factory):
    """A mount of groups that have committed each of some offsets."""
    data = Data(tmp_path_factory.mktemp("links") / "data")
    data.write("t-0", [(None, b"%d" % number) for number in range(END)])
    (data.path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {START}\n")
    data.write(OFFSETS, [commit(f"at-{offset}", "t", 0, offset) for offset in (0, 2, START, 5, END, 50)])
    return mount_for_module(data.path) / ".cluster/groups"


@pytest.mark.parametrize(("offset", "unread"), [(0, 7), (2, 7), (START, 7), (5, 5), (END, 0), (50, 0)])
def test_unread_is_clamped_to_what_is_there(place, offset, unread):
    path = place / f"at-{offset}/unread/t-0.jsonl"
    assert len(run("cat", path).stdout.splitlines()) == unread
    assert os.readlink(path) == f"../../../../t-0/by-offset/{offset}...jsonl"


@pytest.mark.parametrize(("offset", "is_there"), [(2, False), (START, True), (5, True), (END, False), (50, False)])
def test_next_leads_nowhere_below_the_log_start_and_at_the_log_end(place, offset, is_there):
    path = place / f"at-{offset}/next/t-0"
    assert os.path.lexists(path) is is_there
    assert is_there is ("t-0" in os.listdir(path.parent))
    if is_there:
        assert path.read_bytes()
    else:
        with pytest.raises(OSError) as raised:
            path.open()
        assert raised.value.errno == errno.ENOENT


def test_of_a_log_that_begins_in_a_tier_the_start_is_that_of_the_log():
    """As `kafka-get-offsets.sh --time -2` has it; what the group reads next can be read where the tier is."""
    made = tiered.Tiered()
    for source in (None, TierSource(str(made.tier))):
        root = Root([made.left], ReadOptions(tiered=source))
        (row,) = lines(root, f"groups/{tiered.GROUP}/offsets.jsonl")
        told = {field: row[field] for field in ("offset", "logStartOffset", "logEndOffset", "lag")}
        assert told == {"offset": tiered.COMMITTED, "logStartOffset": 0, "logEndOffset": tiered.RECORDS,
                        "lag": tiered.RECORDS - tiered.COMMITTED}  # fmt: skip
        assert names(root, f"groups/{tiered.GROUP}/next") == ([] if source is None else ["orders-0"])
        assert names(root, f"groups/{tiered.GROUP}/unread") == ["orders-0.jsonl"]
