"""The end that a broker noted, where the log does not reach it."""

import pytest

from kafkafs.format.batch import walk
from tests.revive.scans import SOURCE, destroy_the_end, scanned


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
