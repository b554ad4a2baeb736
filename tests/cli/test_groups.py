"""`kafkafs groups`: a table for people, lines of JSON for programs, a sentence where there is nothing to tell."""

import json
import os
import pty
import re
import subprocess
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cli.groups import by_lag, time_span
from kafkafs.cli.main import main
from kafkafs.sample import unpack
from tests.cli.asking import called, in_process
from tests.cluster.writing import Data, commit, metadata, pair
from tests.kafka.clusters import Cluster
from tests.mounting import KAFKAFS, run
from tests.nobody import as_nobody, takes_root

CLUSTER = Cluster("4.3.1", "killed")


def on_a_terminal(*words):
    """What is printed where somebody looks on."""
    master, slave = pty.openpty()
    process = subprocess.Popen([KAFKAFS, "groups", *words], stdin=slave, stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:
            break
        text += piece
    os.close(master)
    assert process.wait(300) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_pipe_gets_the_lines_of_offsets_jsonl():
    rows = [json.loads(line) for line in called("groups", CLUSTER.path, "classic").stdout.splitlines()]
    expected = {each["partition"]: each["offset"] for each in CLUSTER.truth["offsets"] if each["group"] == "classic"}
    assert {f"{row['topic']}-{row['partition']}": row["offset"] for row in rows} == expected
    assert list(rows[0])[:3] == ["group", "topic", "topicId"]


def test_without_a_name_all_groups_are_reported():
    rows = [json.loads(line) for line in called("groups", CLUSTER.path).stdout.splitlines()]
    assert {row["group"] for row in rows} == {each["group"] for each in CLUSTER.truth["offsets"]}


def test_a_terminal_gets_a_table():
    table = [re.split(r"  +", line) for line in on_a_terminal(CLUSTER.path, "classic").splitlines()]
    assert table[0] == ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "BEHIND", "MEMBER"]
    assert table[2][:6] == ["classic", "shop", "0", "3", "10", "7"]
    assert table[2][7].startswith("static-one-")
    assert table[-1] == ["TOTAL", "26"]
    assert "6 (pending)" in on_a_terminal(CLUSTER.path, "moved")
    assert "sharer" not in on_a_terminal(CLUSTER.path, "shared")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("{data}", "nobody"), 1, "there is no group 'nobody' here"),
        (("/nowhere",), 2, "does not exist"),
        (("{data}", "/nowhere"), 1, "there is no data directory '/nowhere', nor a group of that name"),
        (("/nowhere", "{data}"), 2, "'/nowhere' does not exist"),
        (("classic", "{data}"), 2, "'classic' is no directory; a group's name comes last"),
        (("{data}", "classic", "moved"), 2, "does not exist"),
        (("{data}/meta.properties",), 2, "is not a directory"),
        (("{other}",), 1, "no partition of __consumer_offsets"),
    ],
)
def test_bad_input_is_one_sentence(words, code, sentence, tmp_path):
    (tmp_path / "t-0").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\n")
    named = [word.format(data=CLUSTER.path, other=tmp_path) for word in words]
    done = called("groups", *named, check=False)
    assert (done.returncode, done.stdout) == (code, b"")
    assert sentence in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_the_usage_is_one_line():
    done = called("groups", check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines()[0] == b"usage: kafkafs groups [OPTIONS] DATA_DIR... [GROUP]"


def test_a_group_may_be_called_like_a_directory(tmp_path):
    (tmp_path / "classic").mkdir()
    assert run(KAFKAFS, "groups", CLUSTER.path, "classic", cwd=tmp_path).stdout.count(b"\n") == 4


TOPIC_ID = "A" * 21 + "Q"
TOLD = [metadata("TopicRecord", name="__consumer_offsets", topicId=TOPIC_ID)] + [
    metadata("PartitionRecord", 1, topicId=TOPIC_ID, partitionId=number) for number in range(3)
]


@pytest.fixture
def brokers(tmp_path):
    """Two brokers' directories: `a` belongs to partition 1, which both have, the second one further; `b` to 2."""
    one, two = Data(tmp_path / "one"), Data(tmp_path / "two")
    (two.path / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    one.write("__cluster_metadata-0", TOLD)
    for data in (one, two):
        data.write("__consumer_offsets-1", [commit("a", "t", 0, 5)])
    two.write("__consumer_offsets-1", [commit("a", "t", 0, 6)])
    two.write("__consumer_offsets-2", [commit("b", "t", 0, 7)])
    one.write("t-0", [(None, b"x")] * 9)
    (one.path / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    return one.path, two.path


def test_of_several_brokers_the_furthest_replica_is_reported(brokers):
    one, two = brokers
    for words, expected in (
        ((one,), [("a", 5, 4)]),
        ((one, two), [("a", 6, 3), ("b", 7, 2)]),
        ((two, one), [("a", 6, 3), ("b", 7, 2)]),
        ((two, one, "b"), [("b", 7, 2)]),
    ):
        rows = [json.loads(line) for line in called("groups", *words).stdout.splitlines()]
        assert [(row["group"], row["offset"], row["lag"]) for row in rows] == expected
    table = [re.split(r"  +", line) for line in on_a_terminal(one, two).splitlines()]
    assert [row[:6] for row in table[1:3]] == [["a", "t", "0", "6", "9", "3"], ["b", "t", "0", "7", "9", "2"]]


def test_what_is_not_on_these_disks_is_said_beside_the_lines(brokers):
    one, _ = brokers
    done = called("groups", one)
    assert done.stderr.decode() == "kafkafs: of __consumer_offsets partitions 0, 2 of 3 are not on these disks\n"


def test_a_group_left_behind_is_marked_in_the_table(brokers):
    """`a` belongs to partition 1 of 3."""
    one, _ = brokers
    (one / "__consumer_offsets-1").rename(one / "__consumer_offsets-0")
    assert on_a_terminal(one).splitlines()[1].startswith("a (stale)  t ")


def test_options_of_kafkas_own_tool_are_taken():
    """`--describe --group G` is what the fingers type; what is printed is the same by each door."""
    expected = called("groups", CLUSTER.path, "classic").stdout
    assert called("groups", "--describe", "--group", "classic", CLUSTER.path).stdout == expected != b""
    assert called("groups", CLUSTER.path, "--describe", "--group", "classic").stdout == expected
    both = called("groups", CLUSTER.path, "--group", "moved", "--group", "classic").stdout
    assert both == expected + called("groups", CLUSTER.path, "moved").stdout


def test_a_group_that_is_not_there_is_named_beside_one_that_is():
    done = called("groups", CLUSTER.path, "--group", "classic", "--group", "nobody", check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"there is no group 'nobody' here" in done.stderr


def test_a_table_and_json_may_be_asked_for_anywhere():
    """A table into a mail, JSON before the eyes."""
    assert called("groups", "--table", CLUSTER.path).stdout.decode() == on_a_terminal(CLUSTER.path)
    assert on_a_terminal("--json", CLUSTER.path) == called("groups", CLUSTER.path).stdout.decode()


def test_the_furthest_behind_stand_first_and_a_total_below(tmp_path):
    """Groups by the sum of their lags, their partitions by their own; what is unknown last and told."""
    data = Data(tmp_path / "data")
    commits = [("a", "t", 0, 8), ("b", "t", 1, 2), ("b", "t", 0, 6), ("c", "gone", 0, 1)]
    data.write("__consumer_offsets-0", [commit(*each) for each in commits])
    for number in (0, 1):
        data.write(f"t-{number}", [(None, b"x")] * 9)
    (data.path / "replication-offset-checkpoint").write_text("0\n2\nt 0 9\nt 1 9\n")
    table = [line.split() for line in called("groups", "--table", data.path).stdout.decode().splitlines()[1:]]
    assert [(row[0], row[2], row[5]) for row in table[:4]] == [
        ("b", "1", "7"), ("b", "0", "3"), ("a", "0", "1"), ("c", "0", "-"),
    ]  # fmt: skip
    assert table[4] == ["TOTAL", "1", "unknown", "11"]
    by_name = called("groups", "--table", "--sort", "name", data.path).stdout.decode().splitlines()
    assert [line[0] for line in by_name] == ["G", "a", "b", "b", "c", "T"]
    lines = called("groups", "--sort", "lag", data.path).stdout.splitlines()
    assert [json.loads(line)["lag"] for line in lines] == [7, 3, 1, None]


@pytest.fixture
def late(tmp_path):
    """`a` is 3 h behind in `t`, `b` 5 min in `u` and has all of `t`; `c` reads what is elsewhere."""
    data = Data(tmp_path / "data")
    for topic, seconds in (("t", (0, 3 * 3600 + 59)), ("u", (0, 302))):
        for second in seconds:
            data.write(f"{topic}-0", [(None, b"x")], timestamp=1_700_000_000_000 + second * 1000)
    commits = [("a", "t", 0, 0), ("a", "u", 0, 2), ("b", "t", 0, 2), ("b", "u", 0, 0), ("c", "gone", 0, 1)]
    data.write("__consumer_offsets-0", [commit(*each) for each in commits])
    (data.path / "replication-offset-checkpoint").write_text("0\n2\nt 0 2\nu 0 2\n")
    return data.path


def test_the_latest_in_time_come_first_on_request(late):
    table = called("groups", "--table", "--sort", "behind", late).stdout.decode().splitlines()[1:-1]
    assert [(row.split()[0], row.split()[1], row.split()[6]) for row in table] == [
        ("a", "t", "3h0m"), ("b", "u", "5m2s"), ("a", "u", "0s"), ("b", "t", "0s"), ("c", "gone", "-"),
    ]  # fmt: skip
    rows = [json.loads(line) for line in called("groups", "--sort", "behind", late).stdout.splitlines()]
    assert [row["lagMs"] for row in rows] == [10_859_000, 302_000, 0, 0, None]


def test_one_topic_is_reported_alone(late):
    table = called("groups", "--table", "--topic", "u", late).stdout.decode().splitlines()
    assert [line.split()[:3] for line in table[1:-1]] == [["b", "u", "0"], ["a", "u", "0"]]
    assert table[-1].split() == ["TOTAL", "2"]
    for words in ((), ("--sort", "behind"), ("--sort", "lag")):
        lines = called("groups", "--json", *words, "--topic", "u", late).stdout.splitlines()
        assert {(json.loads(line)["group"], json.loads(line)["topic"]) for line in lines} == {("a", "u"), ("b", "u")}
    done = called("groups", "--topic", "nothing", late, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no group here has an offset of a topic 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("lag_ms", "text"),
    [
        (None, "-"), (0, "0s"), (999, "0s"), (59_999, "59s"), (60_000, "1m0s"), (302_000, "5m2s"),
        (3_599_999, "59m59s"),
        (3_600_000, "1h0m"), (8_039_999, "2h13m"), (86_400_000, "1d0h"), (400 * 86_400_000 + 3_600_000, "400d1h"),
    ],
)  # fmt: skip
def test_a_time_is_reported_in_its_two_largest_units(lag_ms, text):
    assert time_span(lag_ms) == text


def test_what_nobody_has_to_read_is_not_in_the_total(brokers):
    """A group left behind in another partition, and offsets of a transaction that is still open."""
    one, _ = brokers
    (one / "__consumer_offsets-1").rename(one / "__consumer_offsets-0")
    assert "TOTAL" not in called("groups", "--table", one).stdout.decode()


def test_all_members_that_share_a_partition_are_reported(tmp_path):
    """A share group's partition has as many readers as it takes; the table named the last of them."""
    data = Data(tmp_path / "data")
    data.write("__cluster_metadata-0", [metadata("TopicRecord", name="t", topicId=TOPIC_ID)])
    data.write("__consumer_offsets-0", [pair("ShareGroupMetadata", {"groupId": "s"}, {"epoch": 2})])
    for name, numbers in (("one", [0, 10, 9]), ("two", [0])):
        key = {"groupId": "s", "memberId": name}
        data.write("__consumer_offsets-0", [
            pair("ShareGroupMemberMetadata", key, {"clientId": "c", "clientHost": "/h"}),
            pair("ShareGroupCurrentMemberAssignment", key,
                 {"memberEpoch": 2, "assignedPartitions": [{"topicId": TOPIC_ID, "partitions": numbers}]}),
        ])  # fmt: skip
    table = [line.split() for line in called("groups", "--table", data.path).stdout.decode().splitlines()[1:]]
    assert [(row[1], row[2], row[7]) for row in table[:-1]] == [
        ("t", "0", "one,two"), ("t", "9", "one"), ("t", "10", "one"),
    ]  # fmt: skip
    assert table[-1][:3] == ["TOTAL", "3", "unknown"]


KEY, VALUE = commit("g", "t", 0, 5)
BROKEN = {
    "a key": ((KEY or b"")[:-1], VALUE),
    "a commit": (KEY, b"\0\4\0"),
    "a group": (pair("GroupMetadata", {"group": "g"}, None)[0], b"\0\3"),
    "a type": (b"\0\x63\0\1g", b"\0\0"),
}  # fmt: skip


@pytest.mark.parametrize("record", BROKEN.values(), ids=BROKEN)
def test_what_is_left_out_is_known_by_the_exit_code(tmp_path, record):
    """A script that moves groups to another cluster must not take a part for all of them."""
    data = Data(tmp_path / "data")
    data.write("__consumer_offsets-0", [commit("known", "t", 0, 5)])
    assert called("groups", data.path).returncode == 0
    data.write("__consumer_offsets-0", [record])
    done = called("groups", data.path, check=False)
    assert done.returncode == 1
    assert b"__consumer_offsets-0: " in done.stderr
    assert [json.loads(line)["group"] for line in done.stdout.splitlines()] == ["known"]


@takes_root
def test_of_a_metadata_log_that_may_not_be_read_no_other_reason_is_reported(open_path, capfd):
    """Regression: a false sentence said that the log is empty."""
    data = Data(open_path / "data")
    data.write("__cluster_metadata-0", [metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)])
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 5)])
    (data.path / "__cluster_metadata-0/00000000000000000000.log").chmod(0)
    with as_nobody():
        assert main(["groups", str(data.path)]) == 0
    reported = capfd.readouterr()
    assert json.loads(reported.out)["group"] == "g"
    assert reported.err.count("\n") == 1
    assert "00000000000000000000.log' may not be read" in reported.err


@takes_root
@pytest.mark.parametrize("closed", ["", "00000000000000000000.log"])
@pytest.mark.parametrize("form", ["--table", "--json"])
def test_a_lag_that_may_not_be_read_is_an_error(open_path, capfd, closed, form):
    """Regression: the total was without that partition, in silence and with exit code 0."""
    data = Data(open_path / "data")
    for topic in ("t", "u"):
        data.write(f"{topic}-0", [(b"k", b"v")] * 9)
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 5), commit("g", "u", 0, 2)])
    (data.path / "t-0" / closed).chmod(0)
    with as_nobody():
        assert main(["groups", form, str(data.path)]) == 1
    reported = capfd.readouterr()
    assert "u" in reported.out
    assert reported.err.startswith("kafkafs: t-0: the lag is not certain: 't-0")
    assert (reported.err.count("\n"), "may not be read" in reported.err) == (1, True)


@pytest.mark.parametrize("form", ["--json", "--table"])
def test_an_offset_in_a_damaged_batch_is_named(tmp_path, capfd, form):
    """Regression: its lagMs was null, and nothing said why."""
    data = Data(tmp_path / "data")
    for timestamp in (1000, 2000, 3000):
        data.write("t-0", [(b"k", b"v")] * 3, timestamp=timestamp)
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 4), commit("h", "t", 0, 1)])
    log = data.path / "t-0" / f"{0:020}.log"
    whole = bytearray(log.read_bytes())
    whole[len(whole) // 2] ^= 1
    log.write_bytes(whole)
    assert main(["groups", form, str(data.path)]) == 1
    said = "t-0: the lag is not certain: the record that is read next at offset 4 is damaged or lost"
    assert capfd.readouterr().err == f"kafkafs: {said}\n"


def test_what_is_left_out_of_others_is_said_alone(tmp_path):
    """A record of a newer release in the metadata takes no group away."""
    data = Data(tmp_path / "data")
    data.write("__consumer_offsets-0", [commit("known", "t", 0, 5)])
    data.write("__cluster_metadata-0", [(None, b"\1\x7f\0")])
    done = called("groups", data.path)
    assert b"__cluster_metadata-0" in done.stderr


ITEMS = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(-2, 5)), max_size=9)


@given(ITEMS)
def test_the_worst_group_and_in_it_the_worst_partition_come_first(items):
    """A group's lines stay together, nothing is lost, what is unknown stands last."""
    shown = by_lag(items, lambda item: item)
    assert sorted(shown, key=str) == sorted(items, key=str)
    groups = [(group, [lag for _, lag in lines]) for group, lines in groupby(shown, key=lambda item: item[0])]
    assert len(groups) == len({group for group, _ in items})
    totals = [sum(lag or 0 for lag in lags) for _, lags in groups]
    assert totals == sorted(totals, reverse=True)
    for _, lags in groups:
        known = [lag for lag in lags if lag is not None]
        assert lags == [*sorted(known, reverse=True), *[None] * (len(lags) - len(known))]


def test_a_mistyped_group_or_topic_is_answered_with_the_nearest(tmp_path):
    data = unpack(tmp_path)
    for words, near in (
        (["biling"], "billing"),
        (["--group", "dashbord"], "dashboard"),
        (["--topic", "order"], "orders"),
    ):
        done = in_process("groups", data, *words)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.endswith(f"; did you mean {near}?\n")
