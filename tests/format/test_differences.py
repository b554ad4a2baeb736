"""Batches and records of two replicas side by side: what has an equal, and which record is another one."""

import numpy as np

from kafkafs.format.batch import Batches, walk
from kafkafs.format.records import Records, decode
from kafkafs.log.divergence import overlapping, unlike, unlike_record
from tests.log.making import Made, made


def table(*batches: Made) -> Batches:
    return walk(b"".join(each.data for each in batches), 0).rows


def test_each_row_without_an_equal_is_named():
    one, two, three, other = made(0, [1, 2]), made(2, [3]), made(3, [4]), made(2, [3], size=9)
    odd, beside = unlike(table(one, two, three), table(one, other, three))
    assert (odd.tolist(), beside.tolist()) == ([False, True, False], [False, True, False])
    odd, beside = unlike(table(one, three), table(two))
    assert (odd.tolist(), beside.tolist()) == ([True, True], [True])


def test_rows_overlap_ranges_in_which_one_of_their_offsets_lies():
    rows = table(made(0, [1, 2]), made(5, [3, 4, 5]), made(9, [6]))
    firsts, lasts = np.array([1, 8]), np.array([4, 8])
    assert overlapping(rows, firsts, lasts).tolist() == [True, False, False]
    assert overlapping(rows, firsts[:0], lasts[:0]).tolist() == [False] * 3


def test_the_first_record_that_is_another_one():
    def piece(*batches: Made) -> tuple[Records, Batches]:
        (found,) = decode(b"".join(each.data for each in batches), 0, table(*batches), 1 << 20)
        assert isinstance(found, Records)
        return found, table(*batches)

    one = piece(made(0, [1, 2, 3]), made(7, [8, 9, 10]))
    assert unlike_record(*one, *piece(made(1, [2]), made(3, [4, 5]), made(8, [9]))) is None
    assert unlike_record(*one, *piece(made(1, [2]), made(8, [9], size=21))) == 8
    assert unlike_record(*one, *piece(made(1, [3]), made(8, [9], size=21))) == 1
