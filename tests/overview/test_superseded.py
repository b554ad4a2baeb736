"""Bytes of records that a later one replaces, held against a dictionary; in however few keys of memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.overview.superseded import Superseded

RECORDS = st.lists(st.tuples(st.integers(0, 30) | st.integers(0, 2**63 - 1), st.integers(1, 100)), max_size=60)


def model(records):
    last = {key: number for number, (key, _) in enumerate(records)}
    return sum(size for number, (key, size) in enumerate(records) if last[key] != number)


def counted(records, most, piece):
    """What is counted in pieces; how many passes it took."""
    found, passes, goes_on = Superseded(most), 0, True
    while goes_on:
        for at in range(0, len(records), piece):
            keys, sizes = zip(*records[at : at + piece], strict=True)
            found.add(np.array(keys, np.int64), np.array(sizes, np.int64))
            found._settle()
        goes_on, passes = found.finish(), passes + 1
    return found.size, passes


@given(RECORDS, st.integers(2, 9), st.integers(1, 20))
def test_it_is_that_of_a_dictionary(records, most, piece):
    size, passes = counted(records, most, piece)
    assert size == model(records)
    assert passes <= len({key for key, _ in records}) + 1


def test_what_fits_takes_one_pass():
    records = [(number % 1000, 7) for number in range(5000)]
    assert counted(records, 1000, 512) == (4000 * 7, 1)
    assert counted(records, 300, 512)[0] == 4000 * 7
