"""What decoding makes of bytes, as plain values."""

from kafkafs.errors import CorruptData
from kafkafs.format.batch import Walk, walk
from kafkafs.format.records import Records, Refusal, decode
from tests.format.golden import Record

LIMIT = 1 << 20


def unpacked(piece: Records) -> list[Record]:
    """A piece as values."""
    found = []
    for i, row in enumerate(piece.rows):
        key, value = piece.key(i), piece.value(i)
        found.append(Record(
            int(row["offset"]), int(row["timestamp"]), int(row["timestamp_type"]),
            None if key is None else bytes(key), None if value is None else bytes(value), tuple(piece.headers(i)),
        ))  # fmt: skip
    return found


def decoded(data: bytes, *, verify: bool = True, limit: int = LIMIT) -> tuple[Walk, list[Record | Refusal]]:
    """All that decoding makes of a buffer."""
    found = walk(data, 0, verify=verify)
    made: list[Record | Refusal] = []
    for piece in decode(data, 0, found.rows, limit):
        made += unpacked(piece) if isinstance(piece, Records) else [piece]
    return found, made


def reason(made: list[Record | Refusal]) -> str:
    """Why the only batch was refused."""
    (refusal,) = made
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, CorruptData)
    return str(refusal.error)
