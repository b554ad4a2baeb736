"""The values of KRaft's control records: bytes in, plain mappings out, fields in the order of Kafka's own schemas.

Numbers are big-endian. "Compact" arrays and strings begin with their length plus one as an unsigned varint; each
structure ends with tagged fields, of which none is known here. Sources: LeaderChangeMessage.json,
SnapshotHeaderRecord.json, SnapshotFooterRecord.json, KRaftVersionRecord.json, VotersRecord.json (all read as version 0,
as Kafka does), ControlRecordUtils.
"""

import base64
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kafkafs.errors import CorruptData
from kafkafs.format.control import ControlType

Json = int | str | list["Json"] | dict[str, "Json"]


def parse_kraft_control(kind: ControlType, value: bytes) -> dict[str, Json]:
    """The fields of the value of a control record of that type, one of KRaft's. CorruptData where it is cut."""
    try:
        return _READERS[kind](_Fields(value))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise CorruptData(f"the value of the {kind.name} record cannot be read") from error


class _Fields:
    """A position that moves through the bytes of one value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, layout: str) -> int:
        (value,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return int(value)

    def int16(self) -> int:
        return self.number(">h")

    def int32(self) -> int:
        return self.number(">i")

    def raw(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise IndexError(size)
        self._at += size
        return self._data[self._at - size : self._at]

    def unsigned(self) -> int:
        value = shift = 0
        while shift < 35:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise IndexError(shift)

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.raw(16)).decode().rstrip("=")

    def string(self) -> str:
        return self.raw(self._length()).decode()

    def array(self, element: "Callable[[_Fields], Json]") -> list[Json]:
        return [element(self) for _ in range(self._length())]

    def tags(self) -> None:
        for _ in range(self.unsigned()):
            self.unsigned()
            self.raw(self.unsigned())

    def _length(self) -> int:
        length = self.unsigned() - 1
        if not 0 <= length <= len(self._data) - self._at:  # an element takes a byte at least
            raise IndexError(length)
        return length


def _leader_change(fields: _Fields) -> dict[str, Json]:
    version = fields.int16()

    def voter(fields: _Fields) -> Json:
        read: dict[str, Json] = {"voterId": fields.int32()}
        if version >= 1:
            read["voterDirectoryId"] = NO_UUID
        fields.tags()
        return read

    leader, voters, granting = fields.int32(), fields.array(voter), fields.array(voter)
    fields.tags()
    return {"version": version, "leaderId": leader, "voters": voters, "grantingVoters": granting}


def _snapshot_header(fields: _Fields) -> dict[str, Json]:
    read: dict[str, Json] = {"version": fields.int16(), "lastContainedLogTimestamp": fields.number(">q")}
    fields.tags()
    return read


def _snapshot_footer(fields: _Fields) -> dict[str, Json]:
    read: dict[str, Json] = {"version": fields.int16()}
    fields.tags()
    return read


def _kraft_version(fields: _Fields) -> dict[str, Json]:
    read: dict[str, Json] = {"version": fields.int16(), "kRaftVersion": fields.int16()}
    fields.tags()
    return read


def _voters(fields: _Fields) -> dict[str, Json]:
    read: dict[str, Json] = {"version": fields.int16(), "voters": fields.array(_voter)}
    fields.tags()
    return read


def _voter(fields: _Fields) -> Json:
    read: dict[str, Json] = {"voterId": fields.int32(), "voterDirectoryId": fields.uuid()}
    read["endpoints"] = fields.array(_endpoint)
    feature: dict[str, Json] = {"minSupportedVersion": fields.int16(), "maxSupportedVersion": fields.int16()}
    read["kRaftVersionFeature"] = feature
    fields.tags()
    fields.tags()
    return read


def _endpoint(fields: _Fields) -> Json:
    read: dict[str, Json] = {"name": fields.string(), "host": fields.string(), "port": fields.number(">H")}
    fields.tags()
    return read


NO_UUID = "A" * 22
"""The all-zero id, which an older schema leaves a voter with."""

_READERS: Mapping[ControlType, Callable[[_Fields], dict[str, Json]]] = MappingProxyType({
    ControlType.LEADER_CHANGE: _leader_change,
    ControlType.SNAPSHOT_HEADER: _snapshot_header,
    ControlType.SNAPSHOT_FOOTER: _snapshot_footer,
    ControlType.KRAFT_VERSION: _kraft_version,
    ControlType.KRAFT_VOTERS: _voters,
})  # fmt: skip
