"""Counts by content: how often each side has a record. The job's own test holds all of it against a model."""

import numpy as np

from kafkafs.format.differences import HASH
from kafkafs.spark.diff.by_content import Excess, Written, excesses, left_over


def table(*pairs: tuple[int, int]):
    return np.array(list(pairs), HASH)


def test_hashes_with_the_same_first_half_are_distinguished():
    """Their counts must not be added up."""
    equal, old, new = excesses(table((1, 1), (1, 2), (1, 1), (3, 0)), table((1, 2), (3, 0), (3, 0)))
    assert (equal, old.hashes.tolist(), old.more.tolist()) == (2, [(1, 1)], [2])
    assert (new.hashes.tolist(), new.more.tolist(), new.all.tolist()) == ([(3, 0)], [1], [2])


def test_of_equal_records_as_many_are_printed_as_one_side_has_more():
    excess = Excess(table((1, 1), (2, 2)), np.array([1, 2]), np.array([3, 2]))
    pieces = [Written(b"a1\nb1\na2\n", np.array([0, 1, 0])), Written(b"a3\nb2\n", np.array([0, 1]))]
    assert b"".join(left_over(iter(pieces), excess)) == b"b1\na3\nb2\n"
