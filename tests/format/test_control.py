"""Control records' keys and markers."""

import itertools
import struct

import numpy as np
import pytest

from kafkafs.format.control import ControlType, control_type, control_types, coordinator_epoch
from kafkafs.format.records import RECORD, Records


@pytest.mark.parametrize("kind", [kind for kind in ControlType if kind >= 0])
def test_a_key_names_its_type_whatever_its_version(kind):
    for version in (0, 1, 7):
        assert control_type(struct.pack(">hh", version, kind)) is kind
        assert control_type(struct.pack(">hh", version, kind) + b"more") is kind


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\0\0", struct.pack(">hh", -1, 0), struct.pack(">hh", 0, 7),
                                 struct.pack(">hh", 0, -1)])  # fmt: skip
def test_a_key_that_names_none_is_unknown(key):
    """A marker taken for an abort would hide a transaction."""
    assert control_type(key) is ControlType.UNKNOWN


def test_the_types_of_many_keys_are_those_of_each():
    shorts = (-(1 << 15), -1, *range(9), 255, 256, (1 << 15) - 1)
    whole = [struct.pack(">hh", *pair) for pair in itertools.product(shorts, shorts)]
    cut = [key[:size] for key in whole for size in range(4)]
    keys: list[bytes | None] = [None, b"", *whole, *cut, whole[0] + b"more"]
    rows = np.zeros(len(keys), RECORD)
    rows["key_size"] = [-1 if key is None else len(key) for key in keys]
    rows["key_at"] = np.cumsum([0, *(len(key or b"") for key in keys)])[:-1]
    records = Records(np.frombuffer(b"".join(key or b"" for key in keys), np.uint8), rows)
    assert control_types(records).tolist() == [control_type(key or b"") for key in keys]
    assert control_types(Records(records.data, rows[:2])).tolist() == [ControlType.UNKNOWN] * 2


def test_a_marker_tells_its_coordinators_epoch():
    assert coordinator_epoch(struct.pack(">hi", 0, 9)) == 9
    assert coordinator_epoch(struct.pack(">hi", 5, 9) + b"more") == 9
    assert coordinator_epoch(b"\0\0\0\0\0") is None
