"""Batch headers as JSON lines: `.batches.jsonl` (docs/queries.md, "Suffixes")."""

import json
from collections.abc import Iterator

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batch import Batches

FIELDS = (
    "segment", "position", "size", "magic", "baseOffset", "lastOffset", "count", "partitionLeaderEpoch", "crc", "valid",
    "codec", "timestampType", "baseTimestamp", "maxTimestamp", "isTransactional", "isControl", "deleteHorizonMs",
    "producerId", "producerEpoch", "baseSequence", "lastSequence",
)  # fmt: skip
"""The fields of a line, in their order."""

_ROOM = 1 << 20
"""Bytes of output in one piece, at most."""

_LINE = 1024
"""Bytes that a line takes at most, besides its segment's name."""


def batch_lines(segment: str, batches: Batches) -> Iterator[memoryview]:
    """A line for each row, in pieces of whole lines. `segment` is the file's name; UNCHECKED validity is null.

    Of v0 and v1 messages what only v2 has is null, and of compressed ones `baseOffset` and `count`, which take
    unpacking.
    """
    prefix = f'{{"segment":{json.dumps(segment, ensure_ascii=False)},"position":'.encode("utf-8", "surrogateescape")
    padded, number = prefix + bytes(16), 0
    batches = np.ascontiguousarray(batches)
    while number < len(batches):
        room = np.empty(min(_ROOM, (len(batches) - number + 1) * (_LINE + len(prefix))), np.uint8)
        made, number = kernels.batch_lines(batches, number, len(batches), padded, len(prefix), room)
        yield room.data[:made]


def unreadable_line(segment: str, position: int, size: int) -> bytes:
    """The line of bytes in which no header can be read: their place, and that they are not valid."""
    known = {"segment": segment, "position": position, "size": size, "valid": False}
    line = {field: known.get(field) for field in FIELDS}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape") + b"\n"
