"""What a control record says, as the end of its line. Source: DumpLogSegments, `printControlRecord`."""

import json
import struct

from kafkafs.errors import CorruptData
from kafkafs.format.control import ControlType, control_type, coordinator_epoch
from kafkafs.format.kraft_control import parse_kraft_control

_LABELS = {
    ControlType.LEADER_CHANGE: "LeaderChange: ",  # the only one with a colon
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader ",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter ",
    ControlType.KRAFT_VERSION: "KRaftVersion ",
    ControlType.KRAFT_VOTERS: "KRaftVoters ",
}
_KEY = struct.Struct(">hh")


def control_text(key: bytes | None, value: bytes | None) -> bytes:
    """The type of a control record and what its value holds. CorruptData where key or value are too short."""
    if key is None or len(key) < _KEY.size:
        raise CorruptData("the key of a control record is cut")
    version, type_id = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptData(f"the key of a control record has version {version}")
    kind = control_type(key)
    if kind is ControlType.UNKNOWN:
        return f" controlType: UNKNOWN({type_id})".encode()
    if value is None:
        raise CorruptData(f"a {kind.name} record has no value")
    if kind not in _LABELS:
        epoch = coordinator_epoch(value)
        if epoch is None or value[0] >= 0x80:
            raise CorruptData(f"the value of an {kind.name} marker cannot be read")
        return f" endTxnMarker: {kind.name} coordinatorEpoch: {epoch}".encode()
    fields = json.dumps(parse_kraft_control(kind, value), ensure_ascii=False, separators=(",", ":"))
    return f" {_LABELS[kind]}{fields}".encode()
