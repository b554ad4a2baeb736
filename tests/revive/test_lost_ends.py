"""Ends of transactions that a scan lost, written again as coordinators and brokers' notes tell."""

import numpy as np
import pytest

from kafkafs.format.batch import CONTROL, is_control
from kafkafs.format.names import segment_file
from kafkafs.format.transaction_index import ABORTED
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.broker_notes import brokers_aborts
from kafkafs.revive.markers import Marker
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan
from tests.revive import made_logs
from tests.revive.producing import with_largest_timestamp
from tests.revive.scans import SOURCE, scanned


def test_where_a_marker_is_lost_the_brokers_own_index_tells_of_it(segments):
    """Else an aborted transaction's records would show, for good."""
    directory = segments / "transactions-0"
    log = open_data_directory(segments).partition("transactions-0").log()
    segment = next(each for each in log.segments if "txnindex" in each.listed)
    recorded = brokers_aborts(segment)
    (first, *_) = np.frombuffer(recorded, ABORTED)
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
    assert made == recorded


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
def test_ends_that_were_in_a_segment_whose_log_is_gone_are_written_again(tmp_path, size):
    """What the broker noted of it is still there: its index of aborted transactions, and producers where it ended."""
    made_logs.write(tmp_path, "t-0", "1 2 3 | a1 c2 - | - 3 c3")
    log = tmp_path / "t-0" / segment_file(6, "log")
    log.unlink() if size is None else log.write_bytes(b"")
    partition = open_data_directory(tmp_path).partition("t-0")
    scan = PartitionScan(partition, partition.log(), Rules(dense_from=0))
    kept = [*scan.segments()]
    assert scan.tally.ended == [Marker(6, 1, True), Marker(9, 2, False)]
    assert [(each.first, each.last, each.is_damage) for each in scan.tally.losses] == [(6, 9, False)]
    (aborted,) = np.frombuffer(b"".join(each.indexes.transaction_index for each in kept), ABORTED).tolist()
    assert aborted == (0, 1, 0, 6, 2)
