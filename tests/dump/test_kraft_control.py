"""KRaft's control records against an encoder of Kafka's schema; real ones are in the recorded dumps of 4.3.1."""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.text_log import control_text
from kafkafs.errors import CorruptData
from kafkafs.format.control import ControlType
from tests.format.batch_maker import unsigned

int16s, int32s = st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1)
endpoints = st.tuples(st.text(max_size=20), st.text(max_size=200), st.integers(0, 65535))
voters = st.tuples(int32s, st.binary(min_size=16, max_size=16), st.lists(endpoints, max_size=3), int16s, int16s)
tags = st.dictionaries(st.integers(0, 300), st.binary(max_size=200), max_size=2)


def shown(kind: ControlType, value: bytes) -> Any:
    """The fields that the dump tells of a control record."""
    text = control_text(struct.pack(">hh", 0, kind), value)
    return json.loads(text[text.index(b"{") :])


def compact(items: list[bytes]) -> bytes:
    return unsigned(len(items) + 1) + b"".join(items)


def text(value: str) -> bytes:
    return unsigned(len(value.encode()) + 1) + value.encode()


def tagged(fields: dict[int, bytes]) -> bytes:
    return unsigned(len(fields)) + b"".join(unsigned(tag) + unsigned(len(data)) + data for tag, data in fields.items())


@given(st.lists(voters, max_size=4), tags)
def test_voters_are_read_back_with_all_their_endpoints(several: list[tuple], some_tags: dict[int, bytes]) -> None:  # type: ignore[type-arg]
    """Tagged fields of a later Kafka are stepped over wherever they stand."""
    tail = tagged(some_tags)
    value = b"\0\0" + compact([
        struct.pack(">i", voter_id) + directory
        + compact([text(name) + text(host) + struct.pack(">H", port) + tail for name, host, port in places])
        + struct.pack(">hh", lowest, highest) + tail + tail
        for voter_id, directory, places, lowest, highest in several
    ]) + tail  # fmt: skip
    read = shown(ControlType.KRAFT_VOTERS, value)
    assert read == {"version": 0, "voters": [
        {
            "voterId": voter_id,
            "voterDirectoryId": base64.urlsafe_b64encode(directory).decode().rstrip("="),
            "endpoints": [{"name": name, "host": host, "port": port} for name, host, port in places],
            "kRaftVersionFeature": {"minSupportedVersion": lowest, "maxSupportedVersion": highest},
        }
        for voter_id, directory, places, lowest, highest in several
    ]}  # fmt: skip


@given(int32s, st.lists(int32s, max_size=5), st.lists(int32s, max_size=5), st.integers(0, 1))
def test_a_leader_change_is_read_back(leader: int, everybody: list[int], granting: list[int], version: int) -> None:
    """Version 1 would have directory ids; Kafka reads it as version 0 and shows zeros."""
    value = struct.pack(">hi", version, leader)
    value += b"".join(compact([struct.pack(">i", voter) + b"\0" for voter in some]) for some in (everybody, granting))
    extra = {"voterDirectoryId": "A" * 22} if version else {}
    assert shown(ControlType.LEADER_CHANGE, value + b"\0") == {
        "version": version,
        "leaderId": leader,
        "voters": [{"voterId": voter} | extra for voter in everybody],
        "grantingVoters": [{"voterId": voter} | extra for voter in granting],
    }


@pytest.mark.parametrize("kind", [kind for kind in ControlType if kind >= ControlType.LEADER_CHANGE])
@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_an_error(kind: ControlType, value: bytes) -> None:
    """A length of two billion takes no memory."""
    try:
        read = shown(kind, value)
    except CorruptData:
        return
    assert "version" in read
