"""The history of groups: what a script did with a real broker, and cases that no broker is easily brought to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cluster.group_history import HistoryReplay
from kafkafs.cluster.row_lines import line
from kafkafs.format.batch import walk
from kafkafs.format.messages.topic_records import InternalTopic
from kafkafs.format.records import Records, decode
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster import drawing
from tests.cluster.reading import lines, names
from tests.cluster.writing import Data, batch, commit, marker, metadata, pair
from tests.kafka.history import SLASH, Story
from tests.mounting import wait_until

STORY = Story()
OFFSETS = "__consumer_offsets-0"
FIELDS = (
    "logOffset timestamp event topic partition offset metadata commitTimestamp change logEndThen lagThen transaction"
    " state generation members"
)


def history(path, group):
    return lines(Root([path], ReadOptions()), f"groups/{group}/history.jsonl")


def alike(row, step):
    """What the script knows of a step, as the line tells it; all else is null but for the places and times."""
    return {name: row[name] for name in step if name != "group"}


@pytest.mark.parametrize("group", ["classic", "exact", "exact-too", "expired", SLASH])
def test_each_line_is_what_the_script_did(group):
    rows, steps = history(STORY.path, group.replace("/", "%2F")), STORY.of(group)
    if group == "exact":  # the group of the aborted commit may end before the next one begins
        rows = [row for row in rows if row["event"] != "delete"]
    assert [row["logOffset"] for row in rows] == sorted({row["logOffset"] for row in rows})
    if group == SLASH:
        rows[2:4] = sorted(rows[2:4], key=lambda row: row["topic"])
    assert [alike(row, step) for row, step in zip(rows, steps, strict=True)] == [
        {name: value for name, value in step.items() if name != "group"} for step in steps
    ]
    assert all(" ".join(row) == FIELDS for row in rows)


def test_a_group_of_the_new_protocol_is_counted_record_by_record():
    rows = history(STORY.path, "modern")
    commits = [row for row in rows if row["event"] == "commit"]
    assert [alike(row, step) for row, step in zip(commits, STORY.of("modern"), strict=True)] == [
        {name: value for name, value in step.items() if name != "group"} for step in STORY.of("modern")
    ]
    groups = [row for row in rows if row["event"] == "group"]
    assert len(groups) + len(commits) == len(rows)
    assert {row["state"] for row in groups} == {None}
    members = [row["members"] for row in groups]
    assert (members[0], members[-1], sorted(members, reverse=True)) == (1, 0, members)
    epochs = [row["generation"] for row in groups if row["generation"] is not None]
    assert epochs == sorted(epochs)
    assert epochs[-1] > epochs[0]


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path / "data")


def reported(data, *fields, group="g", root=None):
    rows = lines(root or Root([data.path], ReadOptions()), f"groups/{group}/history.jsonl")
    return [tuple(row[field] for field in fields) for row in rows]


def test_changes_count_from_the_last_commit_that_took_effect(data):
    """An expiry and a deletion between them do not start the count again."""
    data.write(OFFSETS, [commit("g", "t", 0, 5), commit("other", "t", 0, 1), commit("g", "t", 1, 3)])
    data.write(OFFSETS, [commit("g", "t", 0, 9)], producer_id=7)
    data.write(OFFSETS, [commit("g", "t", 0, 2)])
    data.write(OFFSETS, [marker(commits=False)], producer_id=7, is_control=True)
    data.write(OFFSETS, [commit("g", "t", 0, None), pair("GroupMetadata", {"group": "g"}, None)])
    data.write(OFFSETS, [commit("g", "t", 0, 8)], producer_id=7)
    data.write(OFFSETS, [marker()], producer_id=7, is_control=True)
    data.write(OFFSETS, [commit("g", "t", 0, 8)], producer_id=8)
    assert reported(data, "event", "partition", "offset", "change", "transaction") == [
        ("commit", 0, 5, None, None),
        ("commit", 1, 3, None, None),
        ("commit", 0, 9, 4, "aborted"),
        ("commit", 0, 2, -3, None),
        ("expire", 0, None, None, None),
        ("delete", None, None, None, None),
        ("commit", 0, 8, 6, "committed"),
        ("commit", 0, 8, 0, "open"),
    ]


def test_a_group_of_which_an_aborted_commit_is_left_alone_opens(data):
    data.write(OFFSETS, [commit("g", "t", 0, 9, version=3)], producer_id=7)
    data.write(OFFSETS, [marker(commits=False)], producer_id=7, is_control=True)
    assert reported(data, "offset", "transaction") == [(9, "aborted")]
    assert names(Root([data.path], ReadOptions()), "groups") == []


def test_the_log_end_of_then_counts_markers(data):
    for timestamp in (900, 1000):
        data.write("t-0", [(None, b"x")] * 2, timestamp=timestamp, producer_id=3)
    data.write("t-0", [marker()], timestamp=1001, producer_id=3, is_control=True)
    data.write(OFFSETS, [commit("g", "t", 0, 1), commit("g", "t", 0, 9), commit("g", "elsewhere", 0, 1)])
    assert reported(data, "commitTimestamp", "logEndThen", "lagThen") == [
        (1000, 4, 3),
        (1000, 4, 0),
        (1000, None, None),
    ]


def test_what_cannot_be_read_of_a_record_is_null(data):
    key, _ = commit("g", "t", 0, 5)
    head, _ = pair("GroupMetadata", {"group": "g"}, None)
    data.write(OFFSETS, [(key, b"\0\4\0"), (head, b"\0\3"), (b"\0\x63\0\1g", b"x"), commit("g", "t", 0, 6)])
    assert reported(data, "event", "topic", "offset", "change", "members") == [
        ("commit", "t", None, None, None), ("group", None, None, None, None), ("commit", "t", 6, None, None),
    ]  # fmt: skip


def test_of_a_replica_that_got_further_that_one_tells(tmp_path):
    one, two = Data(tmp_path / "one"), Data(tmp_path / "two")
    (two.path / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    one.write(OFFSETS, [commit("g", "t", 0, 5)])
    two.write(OFFSETS, [commit("g", "t", 0, 5), commit("g", "t", 0, 6)])
    for paths in ([one.path, two.path], [two.path, one.path]):
        rows = lines(Root(paths, ReadOptions()), "groups/g/history.jsonl")
        assert [row["offset"] for row in rows] == [5, 6]


TOPIC_ID = "A" * 21 + "Q"
TWO_PARTITIONS = [metadata("TopicRecord", name="__consumer_offsets", topicId=TOPIC_ID)] + [
    metadata("PartitionRecord", 1, topicId=TOPIC_ID, partitionId=number) for number in range(3)
]


def test_leftovers_in_another_partition_are_not_mixed_in(data):
    """`a` belongs to partition 1 of 3."""
    data.write("__cluster_metadata-0", TWO_PARTITIONS)
    data.write("__consumer_offsets-0", [commit("a", "t", 0, 5)])
    data.write("__consumer_offsets-1", [commit("a", "t", 0, 6), commit("a", "t", 0, None)])
    assert reported(data, "event", "offset", group="a") == [("commit", 6), ("expire", None)]


def test_a_history_is_followed_as_the_log_grows(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5)])
    data.write(OFFSETS, [commit("g", "t", 0, 6)], producer_id=7)
    root = Root([data.path], ReadOptions())
    assert reported(data, "offset", "transaction", root=root) == [(5, None), (6, "open")]
    data.write(OFFSETS, [marker()], producer_id=7, is_control=True)
    data.write(OFFSETS, [commit("g", "t", 0, 7)])
    expected = [(5, None, None), (6, 1, "committed"), (7, 1, None)]
    wait_until(lambda: reported(data, "offset", "change", "transaction", root=root) == expected)


def test_after_a_compaction_the_commit_before_is_the_last_one_left(data):
    for offset in (5, 6, 7):
        data.write(OFFSETS, [commit("g", "t", 0, offset)])
    root = Root([data.path], ReadOptions())
    assert reported(data, "change", root=root) == [(None,), (1,), (1,)]
    other = Data(data.path.parent / "cleaned")
    other.write(OFFSETS, [commit("g", "t", 0, 5)])
    other.write(OFFSETS, [commit("g", "t", 0, 7)], at=2)
    (other.path / OFFSETS).rename(data.path / "cleaned-0")
    (data.path / OFFSETS).rename(data.path.parent / "gone")
    (data.path / "cleaned-0").rename(data.path / OFFSETS)
    wait_until(lambda: reported(data, "logOffset", "change", root=root) == [(0, None), (2, 2)])


def test_only_what_has_come_is_read(data, calls):
    """A partition is begun once, however often its groups are asked for."""
    begun = calls(HistoryReplay, "reset")
    data.write(OFFSETS, [commit("g", "t", 0, 5)])
    root = Root([data.path], ReadOptions())
    for offset in (6, 7, 8):
        assert reported(data, "offset", root=root)[0] == (5,)
        data.write(OFFSETS, [commit("g", "t", 0, offset)])
        wait_until(lambda: reported(data, "offset", root=root)[-1] == (offset,))  # noqa: B023
    assert len(begun) == 1


DRAWN = st.one_of(drawing.histories(InternalTopic.OFFSETS), st.lists(drawing.broken(InternalTopic.OFFSETS), max_size=6))


@given(DRAWN, drawing.producers(), st.booleans())
def test_no_records_end_a_history(pairs, producer, commits):
    """Records of every type and version, whole and broken, of each group they name."""
    pieces = [batch([each], number, producer_id=producer) for number, each in enumerate(pairs)]
    pieces.append(batch([marker(commits)], len(pairs), producer_id=producer, is_control=True))
    whole = b"".join(pieces)
    rows = walk(whole, 0).rows
    for group in (b"g", b"t", b"", b"h"):
        replay = HistoryReplay(group)
        for piece in decode(whole, 0, rows, 1 << 20):
            assert isinstance(piece, Records)
            replay.add(piece, rows)
        history = replay.history(lambda topic, number, times: dict.fromkeys(times, 7))
        found = list(history.rows())
        assert b"".join(text for _, text in history.pieces(0)) == b"".join(map(line, found))
        assert len(found) == len(history)
        assert all(" ".join(row) == FIELDS for row in found)
