"""What is kept of a partition, against what Kafka's consumer read of it: whole, damaged, and as of a moment."""

import shutil

import numpy as np
import pytest

from kafkafs.format.batch import CONTROL, is_control, walk
from kafkafs.format.index import ABORTED
from kafkafs.format.names import segment_file
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.producers import ProducerStates
from kafkafs.revive.broker_notes import brokers_aborts
from kafkafs.revive.job import planned
from kafkafs.revive.kept_parts import Borrowed, KeptSegment
from kafkafs.revive.markers import Marker
from kafkafs.revive.partitions import as_of_now
from kafkafs.revive.plan import Choices
from kafkafs.revive.scanning import PartitionScan
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import Made, write_partition, write_start
from tests.revive import made_logs
from tests.revive.producing import with_largest_timestamp

SOURCE = Dataset("4.3.1", "stopped")


def scanned(path, name, corrupt="refuse", until_ms=None):
    """The scan, when it is over, and what it kept: segments with the bytes of each."""
    partition = open_data_directory(path).partition(name)
    scan = PartitionScan(partition, partition.log(), corrupt, until_ms, 4096)
    kept = [(each, bytes_of(each)) for each in scan.segments()]
    return scan, kept


def bytes_of(kept: KeptSegment) -> bytes:
    log = kept.segment.log()
    return b"".join(
        log.read(*each) if isinstance(each, tuple) else each for each in kept.pieces if not isinstance(each, Borrowed)
    )


@pytest.fixture
def segments(tmp_path):
    """A partition of several segments, to be damaged."""
    SOURCE.copy_to(tmp_path / "data", "segments-0", "transactions-0")
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["segments-0", "transactions-0", "compacted-0"])
def test_of_a_sound_partition_all_is_kept(name):
    """Byte for byte; and as many records as a consumer counts."""
    if not (SOURCE.path / name).is_dir():
        pytest.skip("not among the data")
    scan, kept = scanned(SOURCE.path, name)
    for segment, data in kept:
        assert data == (SOURCE.path / name / segment.segment.log_name).read_bytes()
    topic = name[:-2]
    assert scan.tally.records == len(SOURCE.records(topic))
    assert (scan.tally.start_offset, scan.tally.end_offset) == (
        SOURCE.offsets(topic).earliest,
        SOURCE.offsets(topic).latest,
    )
    assert scan.tally.losses == []


def damage(data, number=1):
    """One byte of a batch in the middle of a closed segment is another now: which offsets that batch has."""
    log = open_data_directory(data).partition("segments-0").log()
    segment = log.segments[number]
    rows = np.concatenate(
        [item.rows for at, item in log.walk(0, log.end_offset) if at is segment and isinstance(item, BatchRun)]
    )
    row = rows[len(rows) // 2]
    file = data / "segments-0" / segment.log_name
    content = bytearray(file.read_bytes())
    content[int(row["position"]) + int(row["size"]) - 3] ^= 1
    file.write_bytes(content)
    return int(row["base_offset"]), int(row["last_offset"])


def test_skip_leaves_out_the_bad_batch_alone(segments):
    first, last = damage(segments)
    scan, kept = scanned(segments, "segments-0", "skip")
    assert [(each.first, each.last) for each in scan.tally.losses] == [(first, last)]
    wanted = [each for each in SOURCE.records("segments") if not first <= each.offset <= last]
    assert scan.tally.records == len(wanted)
    assert scan.tally.end_offset == SOURCE.offsets("segments").latest
    shutil.rmtree(segments / "segments-0")
    (segments / "segments-0").mkdir()
    for each, data in kept:
        base = each.segment.base_offset
        for kind, content in (
            ("log", data),
            ("index", each.indexes.offset_index),
            ("timeindex", each.indexes.time_index),
        ):
            (segments / "segments-0" / f"{base:020}.{kind}").write_bytes(content)
    again, _ = scanned(segments, "segments-0")
    assert (again.tally.records, again.tally.losses) == (len(wanted), [])


def test_cut_ends_the_partition_before_it(segments):
    first, _ = damage(segments)
    scan, kept = scanned(segments, "segments-0", "cut")
    assert scan.tally.end_offset == first
    assert scan.tally.records == len([each for each in SOURCE.records("segments") if each.offset < first])
    assert len(kept) == 2
    (loss,) = scan.tally.losses
    assert loss.last == SOURCE.offsets("segments").latest - 1


def test_refuse_names_all_of_it(segments):
    borders = [damage(segments, 1), damage(segments, 2)]
    scan, _ = scanned(segments, "segments-0")
    assert [(each.first, each.last) for each in scan.refused] == borders


def test_where_a_marker_is_lost_the_brokers_own_index_tells_of_it(segments):
    """Else an aborted transaction's records would show, for good."""
    directory = segments / "transactions-0"
    log = open_data_directory(segments).partition("transactions-0").log()
    segment = next(each for each in log.segments if "txnindex" in each.listed)
    noted = brokers_aborts(segment)
    (first, *_) = np.frombuffer(noted, ABORTED)
    rows = np.concatenate([
        item.rows for at, item in log.walk(0, log.end_offset) if at is segment and isinstance(item, BatchRun)
    ])  # fmt: skip
    (marker,) = rows[rows["last_offset"] == first["last"]]
    content = bytearray((directory / segment.log_name).read_bytes())
    content[int(marker["position"]) + int(marker["size"]) - 2] ^= 1
    (directory / segment.log_name).write_bytes(content)
    scan, kept = scanned(segments, "transactions-0", "skip")
    assert [(each.first, each.last) for each in scan.tally.losses] == [(int(first["last"]),) * 2]
    (made,) = (each.indexes.transaction_index for each, _ in kept if each.segment.base_offset == segment.base_offset)
    assert made == noted


def destroy_the_end(data):
    """The last bytes of the last batch are others now: the offset where that one begins."""
    log = open_data_directory(data).partition("segments-0").log()
    assert log.tail is not None
    assert log.tail.last is not None
    with open(data / "segments-0" / log.segments[-1].log_name, "r+b") as file:
        file.seek(log.tail.position - 4)
        file.write(b"\xff" * 4)
    return log.tail.last.base_offset


def test_damage_at_the_end_is_named_where_the_broker_stopped_in_order(segments):
    """A broker that was killed leaves half a batch there, which nobody was promised."""
    first, end = destroy_the_end(segments), SOURCE.offsets("segments").latest
    scan, _ = scanned(segments, "segments-0")
    assert [(each.first, each.last) for each in scan.refused] == [(first, end - 1)]
    scan, kept = scanned(segments, "segments-0", "skip")
    last = walk(kept[-1][1], 0).rows[-1]  # which leads consumers to the end
    assert (scan.tally.end_offset, last["base_offset"], last["last_offset"], last["count"]) == (end, first, end - 1, 0)
    scan, _ = scanned(segments, "segments-0", "cut")
    assert (scan.tally.end_offset, scan.tally.is_beyond, scan.tally.lost) == (first, False, 1)
    (segments / f"segments-0/{2**63 - 1:020}.snapshot").write_bytes(b"of another hand")
    scan, _ = scanned(segments, "segments-0", "skip")
    assert scan.tally.end_offset == end
    (segments / ".kafka_cleanshutdown").unlink()
    scan, _ = scanned(segments, "segments-0")
    assert (scan.tally.end_offset, scan.tally.lost, scan.refused) == (first, 1, [])


def test_a_segment_that_is_gone_is_told(segments):
    """Of a topic that was never compacted; whether it was, the plan knows."""
    log = open_data_directory(segments).partition("segments-0").log()
    (segments / "segments-0" / log.segments[1].log_name).unlink()
    told = planned([segments], Choices(to=segments.with_name("new")))["revived"]
    (losses,) = (each["losses"] for each in told if each["topic"] == "segments")
    first, behind = log.segments[1].base_offset, log.segments[2].base_offset
    assert losses == [{"first": first, "last": behind - 1, "reason": "no segment has them"}]


def test_a_segment_that_cannot_be_read_is_damage(segments):
    log = open_data_directory(segments).partition("segments-0").log()
    file = segments / "segments-0" / log.segments[1].log_name
    file.write_bytes(b"\xff" * file.stat().st_size)
    scan, kept = scanned(segments, "segments-0", "skip")
    assert len(kept) == len(log.segments) - 1
    assert scan.tally.losses[0].first == log.segments[1].base_offset


def test_as_of_a_moment_it_ends_before_the_first_later_record():
    records = SOURCE.records("transactions")
    moment = sorted(each.timestamp_ms for each in records)[len(records) // 2]
    scan, _ = scanned(SOURCE.path, "transactions-0", until_ms=moment)
    end = scan.tally.end_offset - len(scan.tally.ended)
    assert 0 < end < SOURCE.offsets("transactions").latest
    assert all(each.timestamp_ms <= moment for each in records if each.offset < end)
    assert scan.refused == []
    assert [(each.last, each.is_damage) for each in scan.tally.losses] == [
        (SOURCE.offsets("transactions").latest - 1, False)
    ]


def test_a_producer_whose_clock_is_ahead_leaves_no_transaction_open(segments):
    """The partition ends before its batch, and the transactions around it had their ends by then, or had not."""
    partition = open_data_directory(segments).partition("transactions-0")
    log = partition.log()
    rows = np.concatenate([item.rows for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun)])
    (ahead,) = rows[rows["base_offset"] == 21]  # a plain one, while a transaction goes on
    (begun,) = rows[rows["base_offset"] == 20]
    behind = rows[(rows["base_offset"] > 21) & is_control(rows) & (rows["producer_id"] == begun["producer_id"])]
    end, file = behind[0], segments / "transactions-0" / log.segments[0].log_name
    content, at = bytearray(file.read_bytes()), int(ahead["position"])
    batch = slice(at, at + int(ahead["size"]))
    content[batch] = with_largest_timestamp(bytes(content[batch]), 2**42)
    file.write_bytes(content)
    moment = int(end["max_timestamp"])
    then, _ = scanned(segments, "transactions-0", until_ms=moment)
    assert [(each.offset, each.producer_id) for each in then.tally.ended] == [(21, end["producer_id"])]
    assert then.tally.end_offset == 22
    before, _ = scanned(segments, "transactions-0", until_ms=moment - 1)
    assert (before.tally.ended, before.tally.end_offset) == ([], 21)


def test_at_each_moment_a_transaction_ends_only_as_it_had_by_then():
    """By its own marker, and not by an earlier one of its producer that stands in the same run of batches."""
    partition = open_data_directory(SOURCE.path).partition("transactions-0")
    log = partition.log()
    rows = [row for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun) for row in item.rows]
    for moment in sorted({int(row["max_timestamp"]) for row in rows}):
        scan, _ = scanned(SOURCE.path, "transactions-0", until_ms=moment)
        end = scan.tally.end_offset - len(scan.tally.ended)
        for marker in scan.tally.ended:
            behind = (row for row in rows if row["producer_id"] == marker.producer_id and row["base_offset"] >= end)
            own = next(row for row in behind if row["attributes"] & CONTROL)
            assert own["max_timestamp"] <= moment, (moment, marker)


def test_before_the_first_record_nothing_is_left():
    scan, kept = scanned(SOURCE.path, "transactions-0", until_ms=1)
    assert (scan.tally.end_offset, scan.tally.records, [data for _, data in kept]) == (0, 0, [])
    assert scan.tally.is_below_start is False or kept == []


def test_what_the_log_start_hides_is_not_counted(tmp_path):
    SOURCE.copy_to(tmp_path / "data", "segments-0")
    start = SOURCE.records("segments")[-3].offset
    (tmp_path / "data/log-start-offset-checkpoint").write_text(f"0\n1\nsegments 0 {start}\n")
    scan, kept = scanned(tmp_path / "data", "segments-0")
    assert (scan.tally.start_offset, scan.tally.records, len(kept)) == (start, 3, 1)


def test_where_the_log_starts_within_a_compacted_batch_what_is_left_of_it_counts(tmp_path):
    """Regression: as many records as offsets, though compaction had left fewer."""
    records = tuple(Record(offset, 1000, 0, b"k", b"v", ()) for offset in (12, 13, 16))
    write_partition(tmp_path / "data", {12: [Made(v2_batch(records), records)]}, "segments-0")
    write_start(tmp_path / "data", 14, "segments")
    scan, _ = scanned(tmp_path / "data", "segments-0")
    assert (scan.tally.start_offset, scan.tally.records) == (14, 1)


def test_a_log_that_ends_before_its_start_is_empty(tmp_path):
    """As a broker takes it: all was deleted."""
    SOURCE.copy_to(tmp_path / "data", "segments-0")
    start = SOURCE.offsets("segments").latest + 100
    (tmp_path / "data/log-start-offset-checkpoint").write_text(f"0\n1\nsegments 0 {start}\n")
    scan, _ = scanned(tmp_path / "data", "segments-0")
    assert (scan.tally.end_offset, scan.tally.records, scan.tally.is_below_start) == (start, 0, True)


def test_epochs_that_the_broker_did_not_note_are_read_from_the_log(tmp_path):
    SOURCE.copy_to(tmp_path / "data", "segments-0")
    noted, _ = scanned(tmp_path / "data", "segments-0")
    (tmp_path / "data/segments-0/leader-epoch-checkpoint").unlink()
    told, _ = scanned(tmp_path / "data", "segments-0")
    assert noted.tally.epochs == told.tally.epochs
    assert noted.tally.epochs


def test_a_first_segment_of_which_compaction_left_nothing_stays(segments):
    """Where the log begins is what a broker calls its earliest offset."""
    log = open_data_directory(segments).partition("segments-0").log()
    first, second = log.segments[:2]
    (segments / "segments-0" / first.log_name).write_bytes(b"")
    scan, kept = scanned(segments, "segments-0")
    assert [each.segment.base_offset for each, _ in kept][:2] == [first.base_offset, second.base_offset]
    assert scan.tally.losses == []


def test_producers_without_an_open_transaction_count_as_of_now():
    states = ProducerStates([ProducerState(1, 0, 5, 9, 0, 100, 0, -1), ProducerState(2, 0, 5, 9, 0, 100, 0, 7)])
    assert [each.timestamp for each in as_of_now(states, 5000).states.values()] == [5000, 100]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_log_that_is_empty_where_the_broker_had_noted_more_is_damage(segments, is_there):
    end = SOURCE.offsets("segments").latest
    for log in (segments / "segments-0").glob("*.log"):
        log.write_bytes(b"") if is_there else log.unlink()
    scan, _ = scanned(segments, "segments-0")
    assert scan.refused
    assert scan.refused[-1].last == end - 1
    (segments / ".kafka_cleanshutdown").unlink()
    scan, _ = scanned(segments, "segments-0")
    assert scan.tally.losses[-1].last == end - 1
    assert (scan.tally.records, scan.refused) == (0, [each for each in scan.tally.losses if each.is_damage])


@pytest.mark.parametrize(
    ("story", "damaged", "ended"),
    [
        # the new end is where the next segment began, and a broker noted there what was open
        ("- 1 2 1 | a2 c1 -", 3, [Marker(6, 1, False), Marker(7, 2, True)]),
        # another transaction of the producer is open at the end: the marker behind tells of this one
        ("1 - - c1 1", 1, [Marker(2, 1, False)]),
        ("1 - - a1 1", 1, [Marker(2, 1, True)]),
        # as does what the broker noted where the next segment begins, of a marker that is lost
        ("1 - c1 | 1", 2, [Marker(4, 1, False)]),
        ("1 - | - 1", 1, []),
        # ... and a marker behind that is of a later transaction
        ("1 - c1 | 1 a1", 2, [Marker(4, 1, False)]),
    ],
)
def test_what_is_cut_away_tells_how_transactions_ended(tmp_path, story, damaged, ended):
    made = made_logs.write(tmp_path, "t-0", story)
    made_logs.damage(tmp_path, "t-0", made[damaged])
    scan, _ = scanned(tmp_path, "t-0", "cut")
    assert scan.tally.ended == ended
    still = {each.producer_id for each in scan.tally.producers.states.values() if each.transaction_first_offset >= 0}
    assert still == ({1} if not ended else set())


@pytest.mark.parametrize("size", [0, None])
def test_ends_that_were_in_a_segment_whose_log_is_gone_are_written_anew(tmp_path, size):
    """What the broker noted of it is still there: its index of aborted transactions, and producers where it ended."""
    made_logs.write(tmp_path, "t-0", "1 2 3 | a1 c2 - | - 3 c3")
    log = tmp_path / "t-0" / segment_file(6, "log")
    log.unlink() if size is None else log.write_bytes(b"")
    partition = open_data_directory(tmp_path).partition("t-0")
    scan = PartitionScan(partition, partition.log(), "refuse", None, 4096, is_dense=True)
    kept = [*scan.segments()]
    assert scan.tally.ended == [Marker(6, 1, True), Marker(9, 2, False)]
    assert [(each.first, each.last, each.is_damage) for each in scan.tally.losses] == [(6, 9, False)]
    (aborted,) = np.frombuffer(b"".join(each.indexes.transaction_index for each in kept), ABORTED).tolist()
    assert aborted == (0, 1, 0, 6, 2)


def test_garbage_between_batches_that_follow_one_another_is_no_loss(tmp_path):
    """Nothing is missing, so nothing is cut away, and nobody is asked to say so."""
    made_logs.write(tmp_path, "t-0", "- - | - -")
    log = tmp_path / "t-0" / segment_file(0, "log")
    whole = log.read_bytes()
    for garbage in (b"garbage " * 30, bytes(5000)):
        log.write_bytes(whole + garbage)
        for way in ("refuse", "cut", "skip"):
            scan, kept = scanned(tmp_path, "t-0", way)
            assert (scan.tally.losses, scan.tally.records, kept[0][1]) == ([], 8, whole)
