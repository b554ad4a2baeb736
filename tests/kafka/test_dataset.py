"""The data that every other test stands on: is each kind of log there, and does each truth agree with the others?"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.dataset import Dataset, TopicPartition

BATCH = re.compile(
    r"^(?:baseOffset: (?P<base>\d+) .*count: (?P<count>\d+) .*isControl: (?P<control>\w+) "
    r"deleteHorizonMs: (?P<horizon>\S+) |offset: ).*magic: (?P<magic>\d) compresscodec: (?P<codec>\w+)"
)
PREALLOCATED_BYTES = 10 * 1024 * 1024


def batches(data: Dataset, topic: str) -> list[dict[str, str]]:
    """DumpLogSegments' batch lines of partition 0 as dictionaries."""
    logs = sorted(file for file in data.dumps("plain") if file.startswith(f"{topic}-0/") and file.endswith(".log"))
    lines = "\n".join(data.dumps("plain")[log] for log in logs).splitlines()
    return [match.groupdict() for line in lines if (match := BATCH.match(line))]


def test_what_the_dump_shows_is_what_the_consumer_got(stopped: Dataset) -> None:
    """Two truths that disagree would make every differential test a coin toss."""
    for topic, partition in stopped.partitions():
        end = stopped.offsets(topic, partition).earliest
        reported = [offset for offset in _dumped_offsets(stopped, topic, partition) if offset >= end]
        assert [record.offset for record in stopped.records(topic, partition)] == reported


def _dumped_offsets(data: Dataset, topic: str, partition: int) -> Iterator[int]:
    for file, output in sorted(data.dumps("deep").items()):
        if Path(file).parent.name == f"{topic}-{partition}":
            for line in output.splitlines():
                if line.startswith("| offset:") and "endTxnMarker" not in line:
                    yield int(line.split()[2])


def test_committed_records_are_a_subset_and_end_at_the_last_stable_offset(stopped: Dataset) -> None:
    """A reader of committed records must never see past the first open transaction."""
    assert stopped.offsets("transactions-open").latest_committed < stopped.offsets("transactions-open").latest
    for topic, partition in stopped.partitions():
        committed = stopped.records(topic, partition, "read_committed")
        assert set(committed) <= set(stopped.records(topic, partition))
        assert all(record.offset < stopped.offsets(topic, partition).latest_committed for record in committed)
    assert len(stopped.records("transactions", 0, "read_committed")) < len(stopped.records("transactions"))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_there(stopped: Dataset, codec: str) -> None:
    """A codec that silently fell back to none would leave its decoder untested."""
    seen = {batch["codec"] for batch in batches(stopped, f"codec-{codec}")}
    assert codec in seen
    assert seen <= {codec, "none"}, "librdkafka leaves a batch alone that would not shrink"
    if codec != "none":
        assert {batch["codec"] for batch in batches(stopped, f"broker-{codec}")} == {codec}


def test_java_and_librdkafka_frame_snappy_differently(stopped: Dataset) -> None:
    """Readers meet both: xerial's stream of blocks, and one bare block."""
    first_records_at = 61
    begins = {
        topic: (stopped.directory(topic) / f"{0:020}.log").read_bytes()[first_records_at:][:8] == b"\x82SNAPPY\0"
        for topic in ("broker-snappy", "codec-snappy")
    }
    assert begins == {"broker-snappy": True, "codec-snappy": False}


def test_2_8_0_mixes_all_three_formats_in_one_log() -> None:
    """The format may change in the middle of a file; every reader has to follow."""
    data = Dataset("2.8.0", "stopped")
    magics = [batch["magic"] for batch in batches(data, "mixed-formats")]
    changes = [magic for magic, before in zip(magics, [None, *magics], strict=False) if magic != before]
    assert changes == ["0", "1", "2", "0", "2", "1"]
    assert {batch["magic"] for batch in batches(data, "v0-lz4")} == {"0"}
    assert {batch["magic"] for batch in batches(data, "v1-append-time")} == {"1"}
    assert {record.timestamp_type for record in data.records("v0-gzip")} == {None}
    assert {record.timestamp_type for record in data.records("v1-append-time")} == {"LogAppendTime"}


def test_compaction_left_gaps_and_empty_batches(stopped: Dataset) -> None:
    """Offsets are not counters: a reader that adds one to the last goes astray here."""
    offsets = [record.offset for record in stopped.records("compacted")]
    assert len(offsets) < offsets[-1] - offsets[0]
    cleaned = batches(stopped, "compacted-transactions")
    assert any(batch["count"] == "0" for batch in cleaned)
    if stopped.release != "2.8.0":
        assert any(batch["horizon"].startswith("OptionalLong[") for batch in batches(stopped, "compacted-tombstones"))


def test_deleted_records_leave_a_start_inside_a_batch(stopped: Dataset) -> None:
    """The log start checkpoint cuts where no file and no batch does."""
    start = stopped.offsets("deleted").earliest
    assert not (stopped.directory("deleted") / f"{0:020}.log").exists()
    assert (stopped.directory("deleted-late") / f"{0:020}.log").exists()
    for topic in ("deleted", "deleted-late", "deleted-first-batch"):
        start = stopped.offsets(topic).earliest
        assert start not in {int(batch["base"]) for batch in batches(stopped, topic)}
        checkpoint = (stopped.path / "log-start-offset-checkpoint").read_text().splitlines()
        assert f"{topic} 0 {start}" in checkpoint
    assert stopped.records("deleted-all") == ()


def test_a_running_broker_pads_its_indexes_and_a_stopped_one_does_not(dataset: Dataset) -> None:
    """Both states are met in the field: one while the broker runs, the other in every backup."""
    index = dataset.directory("disorder") / f"{0:020}.index"
    assert (index.stat().st_size == PREALLOCATED_BYTES) == (dataset.state == "live")
    assert index.stat().st_blocks * 512 < PREALLOCATED_BYTES // 10, "the copy is not sparse"
    assert (dataset.path / ".kafka_cleanshutdown").exists() == (dataset.state == "stopped")


def test_long_index_reaches_beyond_the_warm_section(stopped: Dataset) -> None:
    """Its search has two arms; only a long index takes both."""
    warm_bytes = 8192
    assert (stopped.directory("long-index") / f"{0:020}.index").stat().st_size > 2 * warm_bytes
    assert (stopped.directory("long-index") / f"{0:020}.timeindex").stat().st_size > 2 * warm_bytes


def test_list_offsets_was_asked_for_hits_and_misses(stopped: Dataset) -> None:
    """Truth that only knows the easy questions proves little."""
    answers = stopped.list_offsets("disorder")
    assert answers is not None
    assert answers[0].offset == 0
    assert answers[max(answers)].offset == -1
    assert len(answers) > 100
    by_offset = {record.offset: record for record in stopped.records("disorder")}
    for asked, found in answers.items():
        if found.offset >= 0:
            assert by_offset[found.offset].timestamp_ms == found.timestamp_ms >= asked


def test_a_topic_deleted_last_left_its_directory(dataset: Dataset) -> None:
    """Such directories keep plain file names inside and have no checkpoints."""
    assert [path.name for path in dataset.path.glob("doomed-0.*-delete")]
    assert TopicPartition("doomed", 0) not in dataset.partitions()


def test_a_copy_is_sparse_and_complete(dataset: Dataset, tmp_path: Path) -> None:
    """Tests damage copies; ten full-size ones of each index would fill a disk."""
    copied = dataset.copy_to(tmp_path, "binary-0", "transactions-0")
    names = sorted(str(file.relative_to(copied)) for file in copied.glob("*-0/*"))
    assert names == sorted(
        str(f.relative_to(dataset.path)) for d in ("binary-0", "transactions-0") for f in (dataset.path / d).iterdir()
    )
    assert (copied / "replication-offset-checkpoint").exists()
    assert sum(file.stat().st_blocks * 512 for file in copied.rglob("*")) < PREALLOCATED_BYTES


def test_a_restart_began_a_new_epoch_and_a_new_count_of_bytes(stopped: Dataset) -> None:
    """Index entries are no fixed distance apart, and `info.json` has more than one epoch to tell."""
    epochs = (stopped.directory("restarted") / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    begins = ["0"] if stopped.release == "2.8.0" else ["0", "39"]  # ZooKeeper let the only replica keep its epoch
    assert [line.split()[1] for line in epochs] == begins
    offsets = re.findall(r"^offset: (\d+)", stopped.dumps("plain")[f"restarted-0/{0:020}.index"], re.M)
    steps = {int(later) - int(earlier) for earlier, later in itertools.pairwise(offsets)}
    assert len(steps) > 1


def test_javas_transactions_are_there(stopped: Dataset) -> None:
    """Since 4.0 a marker bears a newer producer epoch than its records: they must still find each other."""
    batch = re.compile(r"producerEpoch: (\d+) .*isTransactional: true isControl: (\w+)")
    output = stopped.dumps("plain")[f"transactions-java-0/{0:020}.log"]
    epochs: dict[str, list[str]] = {"true": [], "false": []}
    for epoch, is_control in batch.findall(output):
        epochs[is_control].append(epoch)
    assert len(epochs["true"]) > 1
    assert (epochs["true"][0] > epochs["false"][0]) == stopped.release.startswith("4.")
    assert len(stopped.records("transactions-java", 0, "read_committed")) == 300
