"""Names in a data directory, as Kafka spells them and as nobody does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.names import (
    PartitionName,
    SegmentFile,
    is_of_data_directory,
    is_of_partition,
    is_topic_name,
    parse_partition_name,
    parse_segment_file,
    parse_transitional_file,
    segment_file,
)

UUID = "0123456789abcdef0123456789abcdef"


@given(
    topic=st.from_regex(r"[A-Za-z0-9._-]{1,249}", fullmatch=True).filter(lambda topic: topic not in (".", "..")),
    partition=st.integers(0, 2**31 - 1),
    mark=st.sampled_from(["", "delete", "future", "stray"]),
)
def test_every_partition_that_kafka_can_name_is_found(topic, partition, mark):
    """A partition not recognised is data that nobody sees."""
    name = f"{topic}-{partition}" + (f".{UUID}-{mark}" if mark else "")
    assert parse_partition_name(name) == PartitionName(name, topic, partition, mark)


@pytest.mark.parametrize(
    "name",
    ["", "-", "-0", "t", "t-", "t-00", "t-01", "t-+1", "t--", "t-1 ", " t-1", "t-2147483648", ".-0", "..-0", "t-٣",
     "té-0", "t/0", "t-0\n", "a b-0", "foo-delete", f"t-0.{UUID}-deleted", f"t-0.{UUID[:-1]}-delete",
     f"t-0.{UUID.upper()}-stray", f"t.{UUID}-delete", f"{'x' * 250}-0", "meta.properties", ".lock",
     "remote-log-index-cache", "t-0\udcff"],
)  # fmt: skip
def test_what_kafka_never_writes_is_foreign(name):
    """Other directories beside the partitions are ignored, never an error."""
    assert parse_partition_name(name) is None


@given(st.integers(0, 2**63 - 1), st.sampled_from(["log", "index", "timeindex", "txnindex", "snapshot"]))
def test_a_segment_file_reads_as_it_is_written(offset, kind):
    name = segment_file(offset, kind)
    assert parse_segment_file(name) == SegmentFile(name, offset, kind)
    assert parse_segment_file(name + ".deleted") is None
    for state in ("swap", "deleted", "cleaned"):
        found = None if kind == "snapshot" else (SegmentFile(f"{name}.{state}", offset, kind), state)
        assert parse_transitional_file(f"{name}.{state}") == found


@pytest.mark.parametrize(
    "name",
    ["0.log", "00000000000000000000", f"{0:020}.logs", f"{0:020}.LOG", f"{0:021}.log", f"{2**63}.log".zfill(24),
     f" {0:020}.log", f"{0:020}.log ", f"-{0:019}.log", f"{0:020}.log\n", f"{0:020}.log.swap", "٠" * 20 + ".log"],
)  # fmt: skip
def test_other_files_are_no_segments(name):
    assert parse_segment_file(name) is None


def test_every_directory_of_a_real_broker_is_understood(dataset):
    directories = [path.name for path in dataset.path.iterdir() if path.is_dir()]
    names = [name for name in map(parse_partition_name, directories) if name]
    assert len(names) == len(directories)
    assert {(name.topic, name.partition) for name in names if not name.mark} >= {*dataset.partitions()}
    assert any(name.mark == "delete" for name in names)


@pytest.mark.parametrize(
    "name",
    ["meta.properties", "meta.properties.tmp", "bootstrap.checkpoint", "bootstrap.checkpoint.tmp", ".lock",
     ".kafka_cleanshutdown", ".kafka_cleanshutdown.tmp", "recovery-point-offset-checkpoint",
     "replication-offset-checkpoint.tmp", "cleaner-offset-checkpoint", "log-start-offset-checkpoint",
     "_rlmm_committed_offsets", "_rlmm_committed_offsets.tmp"],
)  # fmt: skip
def test_what_brokers_make_in_a_data_directory(name):
    """Beside its partitions, of 2.8 to 4.4. What is foreign there an operator has to look at, and nothing else."""
    assert is_of_data_directory(name)
    assert not is_of_data_directory(f"{name}~")
    assert not is_of_data_directory(f"0{name}")


@pytest.mark.parametrize(
    "name",
    [f"{5:020}.log", f"{5:020}.timeindex", f"{5:020}.txnindex.cleaned", f"{5:020}.log.swap", f"{5:020}.index.deleted",
     f"{5:020}.snapshot", f"{5:020}.snapshot.deleted", "leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp",
     "partition.metadata", "partition.metadata.tmp", "quorum-state", "quorum-state.tmp", ".kafka_cleanshutdown",
     f"{7:020}-{2:010}.checkpoint", f"{7:020}-{2:010}.checkpoint.deleted", f"{7:020}-{2:010}-x12.checkpoint.part",
     "remote_log_snapshot", "remote_log_snapshot.tmp", f"{0:020}.tierstate", f"{0:020}.tierstate.mutable",
     f"{0:020}.tierstate.adler", f"{0:020}.tierstate.mutable.adler", f"{0:020}.snapshot.adler",
     "leader-epoch-checkpoint.adler"],
)  # fmt: skip
def test_what_brokers_make_in_a_partition(name):
    """Tiered storage's and Confluent Server's too."""
    assert is_of_partition(name)
    assert not is_of_partition(f"{name}~")
    assert not is_of_partition(f"my{name}")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "x" * 250, "a/b", "../../evil", "a b", "a\0", "a\n", "\u00e9", "a:b", "a\\b"]
)
def test_names_that_kafka_allows_no_topic(name):
    assert not is_topic_name(name)


@pytest.mark.parametrize("name", ["a", "...", "..evil", "__consumer_offsets", "x" * 249, "A.b_c-9"])
def test_names_that_kafka_allows(name):
    assert is_topic_name(name)
