"""Needles in fields: found wherever they stand, and nowhere else."""

import numpy as np
import pytest

from kafkafs.format.native.layout import NEEDLE_KEY, NEEDLE_VALUE
from kafkafs.format.records import RECORD, Records
from kafkafs.search.selection import Needle


@pytest.mark.parametrize("fields", [NEEDLE_KEY, NEEDLE_VALUE, NEEDLE_KEY | NEEDLE_VALUE])
def test_a_needle_is_found_wherever_it_stands(fields):
    """At each distance from both ends of a field, of each length; and never across two fields."""
    for size in (1, 2, 3, 15, 16, 17, 40):
        needle = bytes(range(65, 65 + size))
        for before in (0, 1, 14, 15, 16, 31):
            for behind in (0, 1, 15, 17):
                data = np.frombuffer(b"." * before + needle + b"." * behind, np.uint8)
                row = np.zeros(1, RECORD)
                row["key_size"], row["value_at"], row["value_size"] = before + size - 1, before + size - 1, behind + 1
                assert len(Needle(needle).records(Records(data, row), 3)) == (size == 1)
                row["key_size"] = row["value_size"] = len(data)
                row["value_at"] = 0
                assert len(Needle(needle).records(Records(data, row), fields)) == 1
                assert len(Needle(needle.lower(), True).records(Records(data, row), fields)) == 1
