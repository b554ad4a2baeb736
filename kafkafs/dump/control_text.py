"""What a control record says, as the end of its line. Source: DumpLogSegments, `printControlRecord`."""

import struct

from kafkafs.errors import CorruptData
from kafkafs.format.control import ControlType, control_type, coordinator_epoch

_KRAFT = {  # label and schema
    ControlType.LEADER_CHANGE: ("LeaderChange: ", "LeaderChangeMessage"),  # the only one with a colon
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader ", "SnapshotHeaderRecord"),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter ", "SnapshotFooterRecord"),
    ControlType.KRAFT_VERSION: ("KRaftVersion ", "KRaftVersionRecord"),
    ControlType.KRAFT_VOTERS: ("KRaftVoters ", "VotersRecord"),
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
    if kind not in _KRAFT:
        epoch = coordinator_epoch(value)
        if epoch is None or value[0] >= 0x80:
            raise CorruptData(f"the value of an {kind.name} marker cannot be read")
        return f" endTxnMarker: {kind.name} coordinatorEpoch: {epoch}".encode()
    label, schema = _KRAFT[kind]
    return f" {label}{_kraft_json(kind, schema, value)}".encode()


def _kraft_json(kind: ControlType, schema: str, value: bytes) -> str:
    """The tool reads every version as version 0 and shows it as the version that it claims to be."""
    from kafkafs.format.messages.json_text import fields_json, jackson_string  # with Kafka's schemas, for KRaft only
    from kafkafs.format.messages.records import parse_fields

    fields = parse_fields("clients", schema, 0, value)
    if fields is None:
        raise CorruptData(f"the value of the {kind.name} record cannot be read")
    return fields_json("clients", schema, fields["version"], fields, jackson_string)
