"""Control records: what brokers write between the records of clients. Sources: ControlRecordType, EndTransactionMarker.

The key is int16 version and int16 type, whatever the version; the value depends on the type. Transaction markers stand
alone in their batch. KRaft's own batches hold several and have no producer.
"""

import struct
from enum import IntEnum

import numpy as np

from kafkafs.format.records import Records

CONTROL_KEY = struct.Struct(">hh")  # version, type
_MARKER = struct.Struct(">hi")


class ControlType(IntEnum):
    """The types known since Kafka 3.0; UNKNOWN for any other."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_type(key: bytes | memoryview) -> ControlType:
    """The type that a control record's key names; UNKNOWN where it is cut or names none."""
    if len(key) < CONTROL_KEY.size:
        return ControlType.UNKNOWN
    version, kind = CONTROL_KEY.unpack_from(key)
    if version < 0 or kind not in ControlType._value2member_map_:
        return ControlType.UNKNOWN
    return ControlType(kind)


def control_types(records: Records) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The `ControlType` of each record, by `control_type`."""
    found = np.full(len(records), ControlType.UNKNOWN, np.int16)
    rows = np.flatnonzero(records.rows["key_size"] >= CONTROL_KEY.size)
    if len(rows):
        keys = records.data[records.rows["key_at"][rows, None] + np.arange(CONTROL_KEY.size)]
        version, kind = np.ascontiguousarray(keys).view(">i2").T
        is_known = (version >= 0) & (kind >= 0) & (kind <= max(ControlType))
        found[rows] = np.where(is_known, kind, ControlType.UNKNOWN)
    return found


def coordinator_epoch(value: bytes | memoryview) -> int | None:
    """The coordinator epoch in the value of a transaction marker; None if it is cut."""
    if len(value) < _MARKER.size:
        return None
    _, epoch = _MARKER.unpack_from(value)
    return int(epoch)


def transaction_marker(kind: ControlType, epoch: int) -> tuple[bytes, bytes]:
    """Key and value of the record that ends a transaction, by a coordinator of that epoch."""
    return CONTROL_KEY.pack(0, kind), _MARKER.pack(0, epoch)
