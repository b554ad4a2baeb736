"""What is kept of a partition, against what Kafka's consumer read of it: whole, damaged, and as of a moment."""

import shutil

import pytest

from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.producers import ProducerStates
from kafkafs.revive.partitions import as_of_now
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, write_partition, write_start
from tests.revive.scans import SOURCE, damage, scanned


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
    recorded, _ = scanned(tmp_path / "data", "segments-0")
    (tmp_path / "data/segments-0/leader-epoch-checkpoint").unlink()
    reported, _ = scanned(tmp_path / "data", "segments-0")
    assert recorded.tally.epochs == reported.tally.epochs
    assert recorded.tally.epochs


def test_a_first_segment_of_which_compaction_left_nothing_stays(segments):
    """Where the log begins is what a broker calls its earliest offset."""
    log = open_data_directory(segments).partition("segments-0").log()
    first, second = log.segments[:2]
    for kind in ("log", "index", "timeindex"):
        (segments / "segments-0" / first.name_of(kind)).write_bytes(b"")
    scan, kept = scanned(segments, "segments-0")
    assert [each.segment.base_offset for each, _ in kept][:2] == [first.base_offset, second.base_offset]
    assert scan.tally.losses == []


def test_producers_without_an_open_transaction_count_as_of_now():
    states = ProducerStates([ProducerState(1, 0, 5, 9, 0, 100, 0, -1), ProducerState(2, 0, 5, 9, 0, 100, 0, 7)])
    assert [each.timestamp for each in as_of_now(states, 5000).states.values()] == [5000, 100]
