"""Missing records that a compaction explains: by the cleaner's two rules, and for none without a key."""

from pathlib import Path

import numpy as np

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.log.look import Reader
from kafkafs.search.cleaned import candidates, cleaned_offsets, together
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log import reading
from tests.log.making import Made, log_of, write_partition


def reader(data: Path) -> Reader:
    return reading.reader(log_of(data))


def records(*pairs: tuple[int, bytes | None, bytes | None]) -> tuple[Record, ...]:
    return tuple(Record(offset, 1, 0, key, value) for offset, key, value in pairs)


def piece(*pairs: tuple[int, bytes | None, bytes | None]) -> Records:
    data = v2_batch(records(*pairs))
    (found,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(found, Records)
    return found


def test_a_record_is_cleaned_by_a_later_one_and_a_tombstone_by_nothing_before_it(tmp_path):
    missing = together([candidates(piece((1, b"a", b"1"), (2, b"b", b"1"), (3, b"a", None), (5, None, b"1")))])
    held = records((0, b"b", b"0"), (4, b"a", b"4"), (6, None, b"x"))
    write_partition(tmp_path, {0: [Made(v2_batch(held), held)]})
    assert cleaned_offsets(missing, reader(tmp_path)).tolist() == [1, 3]


def test_a_tombstone_of_a_record_that_is_still_there_is_lost(tmp_path):
    """With it gone, a consumer would bring a deleted key back."""
    held = records((0, b"a", b"0"))
    write_partition(tmp_path, {0: [Made(v2_batch(held), held)]})
    assert cleaned_offsets(candidates(piece((1, b"a", None))), reader(tmp_path)).tolist() == []
    assert cleaned_offsets(candidates(piece((1, b"z", None))), reader(tmp_path)).tolist() == [1]


def test_a_side_without_the_partition_has_cleaned_tombstones_alone():
    assert cleaned_offsets(candidates(piece((1, b"a", b"1"), (2, b"b", None))), None).tolist() == [2]
    assert len(cleaned_offsets(together([]), None)) == 0
    assert together([]).dtype == np.dtype(candidates(piece((1, b"a", b"1"))).dtype)
