"""The table of batches that reach too far: what hides behind them, and where reading has to begin."""

import numpy as np
import pytest

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.log.overlaps import NONE, fresh, overlaps_of
from tests.log.old_clients import batch

TABLE = overlaps_of(*np.array([(0, 10, 10, 14), (90, 11, 11, 12), (200, 30, 31, 33)], np.int64).T)


def test_an_offset_is_hidden_behind_the_furthest_of_all_batches_before() -> None:
    assert TABLE.floors(np.array([5, 10, 11, 12, 20, 30, 31])).tolist() == [-1, -1, 14, 14, 14, 14, 33]
    assert (TABLE.reach, NONE.reach, bool(TABLE), bool(NONE)) == (33, -1, True, False)


@pytest.mark.parametrize(("offset", "begin"), [(5, 5), (10, 10), (12, 10), (14, 10), (15, 15), (32, 30), (34, 34)])
def test_reading_begins_at_the_first_batch_that_has_the_offset(offset: int, begin: int) -> None:
    assert TABLE.start_of(offset) == begin
    assert NONE.start_of(offset) == offset


def test_what_a_log_start_cuts_off_hides_nothing() -> None:
    assert TABLE.since(11).floors(np.array([12, 13])).tolist() == [12, 12]
    assert not TABLE.since(32)


def test_records_are_fresh_where_no_batch_before_has_their_offset() -> None:
    made = batch(10, [10, 12, 14], 0, last=10)
    rows = walk(made.data, 0).rows
    (piece,) = decode(made.data, 0, rows, 1 << 20)
    assert isinstance(piece, Records)
    assert piece.reaches_beyond(rows)
    before = overlaps_of(*np.array([(0, 9, 9, 12)], np.int64).T)
    assert fresh(piece, rows, before).rows["offset"].tolist() == [14]
    assert fresh(piece, rows, NONE) is piece
