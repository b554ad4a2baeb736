"""Control records' keys and markers."""

import struct

import pytest

from kafkafs.format.control import ControlType, control_type, coordinator_epoch


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


def test_a_marker_tells_its_coordinators_epoch():
    assert coordinator_epoch(struct.pack(">hi", 0, 9)) == 9
    assert coordinator_epoch(struct.pack(">hi", 5, 9) + b"more") == 9
    assert coordinator_epoch(b"\0\0\0\0\0") is None
