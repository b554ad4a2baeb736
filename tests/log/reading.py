"""What tests ask of a log, as plain values: records as tuples, in bulk."""

from collections.abc import Iterable
from typing import NamedTuple

from kafkafs.errors import KafkafsError
from kafkafs.format.records import Records
from kafkafs.log.log import Log
from kafkafs.log.look import Look, Reader
from kafkafs.log.lookup import Lookup
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.visible import Visible
from tests.kafka.dataset import Record


class Row(NamedTuple):
    """A record without its headers."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def look(log: Log, **options: object) -> Look:
    """A look of its own, with the mount's defaults."""
    return Look(log, ReadOptions(**options), OpenTransactions())  # type: ignore[arg-type]


def reader(log: Log, **options: object) -> Reader:
    """A reader of its own, with the mount's defaults."""
    return look(log, **options).visible


def lookup_of(log: Log, **options: object) -> Lookup:
    """Its points, with the mount's defaults."""
    return Lookup(Visible(log, ReadOptions(**options), OpenTransactions()))  # type: ignore[arg-type]


def rows_of(records: Records) -> list[Row]:
    """The records of a piece; columns are turned to lists at once, since numpy scalars are slow one by one."""
    columns = [records.rows[name].tolist() for name in ("offset", "timestamp", "key_at", "key_size", "value_at",
                                                        "value_size")]  # fmt: skip
    data = records.data.data
    return [
        Row(offset, timestamp, _bytes(data, key, key_size), _bytes(data, value, value_size))
        for offset, timestamp, key, key_size, value, value_size in zip(*columns, strict=True)
    ]


def wanted(records: Iterable[Record]) -> list[Row]:
    """What Kafka's consumer got, in the same form."""
    return [Row(record.offset, record.timestamp_ms, record.key, record.value) for record in records]


def _bytes(data: memoryview, at: int, size: int) -> bytes | None:
    return None if size < 0 else bytes(data[at : at + size])


def rows(pieces: Iterable[Records]) -> list[Row]:
    """All records of all pieces."""
    return [row for piece in pieces for row in rows_of(piece)]


def rows_until_error(pieces: Iterable[Records]) -> tuple[list[Row], type[KafkafsError] | None]:
    """What a reader gets before an error, and the error's type."""
    found: list[Row] = []
    try:
        for piece in pieces:
            found += rows_of(piece)
    except KafkafsError as error:
        return found, type(error)
    return found, None
