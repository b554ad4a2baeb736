"""Checkpoint files, by the rules of Kafka's own reader."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.checkpoints import (
    LeaderEpoch,
    leader_epochs_bytes,
    offset_checkpoint_bytes,
    parse_leader_epochs,
    parse_lineage,
    parse_offset_checkpoint,
    parse_partition_metadata,
    partition_metadata_bytes,
)

topics = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)


@given(st.dictionaries(st.tuples(topics, st.integers(0, 2**31 - 1)), st.integers(0, 2**63 - 1)))
def test_an_offset_checkpoint_reads_as_it_is_written(offsets):
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    assert parse_offset_checkpoint("\n".join(["0", str(len(lines)), *lines, ""]).encode()) == offsets


@pytest.mark.parametrize("data", [b"", b"0", b"0\n", b"0\n0\n", b"0\n0"])
def test_an_empty_checkpoint_has_no_entries(data):
    """Kafka creates them empty: normal, and no problem to report."""
    assert parse_offset_checkpoint(data) == {}
    assert parse_leader_epochs(data) == ()


@pytest.mark.parametrize(
    "data",
    [b"1\n0\n", b"x\n", b"\n", b"0\n1\n", b"0\n0\nt 0 1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 1 2\n", b"0\n1\n\n",
     b"0\n1\nt 0 1\n\n", b"0\n1\nt zero 1\n", b"0\n1\nt 0 1e5\n", b"0\n-1\n", b"0\n1\nt 0 \xd9\xa3\n", b"\xff\xfe",
     b"\0" * 20, b"0\n2\nt 0 1\n", b"4294967296\n0\n", b"0\n4294967296\n"],
)  # fmt: skip
def test_a_checkpoint_that_kafka_would_refuse_is_refused(data):
    """Half-read it would move the log start of some partitions and not of others."""
    with pytest.raises(CorruptData):
        parse_offset_checkpoint(data)


@pytest.mark.parametrize("offset", [2**63 - 1, -(2**63)])
def test_numbers_may_be_as_large_as_java_reads_them(offset):
    assert parse_offset_checkpoint(b"0\n1\nt 2147483647 %d\n" % offset) == {("t", 2**31 - 1): offset}
    assert parse_leader_epochs(b"0\n1\n2147483647 %d\n" % offset) == (LeaderEpoch(2**31 - 1, offset),)


@pytest.mark.parametrize("words", [b"t 0 9223372036854775808", b"t 0 -9223372036854775809", b"t 2147483648 0"])
def test_a_number_that_java_cannot_read_is_refused(words):
    """Regression: an offset beyond 64 bits was believed, and every read of the partition "a bug in kafkafs"."""
    with pytest.raises(CorruptData):
        parse_offset_checkpoint(b"0\n1\n" + words)
    with pytest.raises(CorruptData):
        parse_leader_epochs(b"0\n1\n" + words.split(b" ", 1)[1])


@pytest.mark.parametrize("end", ["\v", "\f", "\x1c", "\x85", "\u2028"])
def test_what_ends_a_line_for_python_alone_ends_none(end):
    """Kafka refuses such a file, as one of a flipped bit is: a line feed and a vertical tab differ by one."""
    for data in ("0\n1%s2 0\n", "0%s1\n2 0\n"):
        with pytest.raises(CorruptData):
            parse_leader_epochs((data % end).encode())
    with pytest.raises(CorruptData):
        parse_partition_metadata(f"version: 0{end}topic_id: AAAAAAAAAAAAAAAAAAAAAQ".encode())
    assert parse_leader_epochs(b"0\r1\r\n2 0\n") == (LeaderEpoch(2, 0),)


def test_leader_epochs_in_file_order():
    assert parse_leader_epochs(b"0\n2\n0 0\n3 120\n") == (LeaderEpoch(0, 0), LeaderEpoch(3, 120))
    with pytest.raises(CorruptData):
        parse_leader_epochs(b"0\n1\n0 0 0\n")


def test_a_lineage_ascends():
    """Kafka reads the lines of a checkpoint in any order."""
    assert parse_lineage(b"0\n3\n0 0\n4 60\n2 30\n") == ((0, 0), (2, 30), (4, 60))
    for damaged in (b"0\n2\n5 0\n4 60\n", b"0\n2\n-1 0\n2 60\n", b"0\n2\n0 -5\n2 60\n"):
        with pytest.raises(CorruptData):
            parse_lineage(damaged)


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_the_topic_id_is_kept_as_kafka_prints_it(uuid):
    text = base64.urlsafe_b64encode(uuid).decode().rstrip("=")
    assert parse_partition_metadata(f"version: 0\ntopic_id: {text}".encode()) == text


@pytest.mark.parametrize(
    "data",
    [b"", b"version: 0", b"topic_id: AAAAAAAAAAAAAAAAAAAAAQ", b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
     b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", b"version: 0\ntopic_id: short",
     b"version: 0\ntopic_id: !!!", b"\xff"],
)  # fmt: skip
def test_a_topic_id_that_cannot_be_one_is_refused(data):
    with pytest.raises(CorruptData):
        parse_partition_metadata(data)


def test_every_checkpoint_of_a_real_broker_says_what_the_broker_answers(dataset):
    """Read, and what was read held against what the broker's own clients were told."""
    starts, marks, points = (
        parse_offset_checkpoint((dataset.path / f"{name}-checkpoint").read_bytes())
        for name in ("log-start-offset", "replication-offset", "recovery-point-offset")
    )
    ids = set()
    for place in dataset.partitions():
        reported = dataset.offsets(*place)
        # what a checkpoint does not name begins where its first segment does
        first = min(int(path.stem) for path in dataset.directory(*place).glob("*.log"))
        assert starts.get(place, first) == reported.earliest
        assert marks[place] == reported.latest
        assert 0 <= points[place] <= reported.latest
        file = dataset.directory(*place) / "leader-epoch-checkpoint"
        epochs = parse_leader_epochs(file.read_bytes() if file.exists() else b"")
        assert list(epochs) == sorted(epochs, key=lambda each: (each.epoch, each.start_offset))
        assert all(each.start_offset <= reported.latest for each in epochs)
        metadata = dataset.directory(*place) / "partition.metadata"
        if metadata.exists():
            ids.add((place.topic, parse_partition_metadata(metadata.read_bytes())))
    topics = {place.topic for place in dataset.partitions()} if dataset.release != "2.8.0" else set()  # from 3.1 on
    assert {topic for topic, _ in ids} == topics
    assert len({topic_id for _, topic_id in ids}) == len(ids) == len(topics)


def test_what_is_written_is_as_the_broker_writes_it(stopped):
    """Byte for byte, but for the order of an offset checkpoint's lines, which means nothing."""
    for path in stopped.path.rglob("*"):
        if path.name == "leader-epoch-checkpoint":
            assert leader_epochs_bytes(parse_leader_epochs(path.read_bytes())) == path.read_bytes()
        elif path.name == "partition.metadata":
            assert partition_metadata_bytes(parse_partition_metadata(path.read_bytes())) == path.read_bytes()
        elif path.name.endswith("-offset-checkpoint"):
            made = offset_checkpoint_bytes(parse_offset_checkpoint(path.read_bytes()))
            assert sorted(made.splitlines()) == sorted(path.read_bytes().splitlines())


@pytest.mark.parametrize(
    ("first", "nuls", "reported"), [(b"", 4096, "nothing but 4096"), (b"0\n", 94, "among its 96 bytes 94")]
)
def test_nul_bytes_are_counted_and_not_quoted(first, nuls, reported):
    """A file that was allocated when the power went; forty times `\\x00` says nothing."""
    with pytest.raises(CorruptData, match=f"it has {reported} NUL bytes") as refused:
        parse_offset_checkpoint(first + bytes(nuls))
    assert "\\x00" not in str(refused.value)
    with pytest.raises(CorruptData, match=r"it has among its 5 bytes 1 NUL byte$"):
        parse_offset_checkpoint(b"0\n\x001\n")
