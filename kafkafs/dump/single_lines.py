"""The lines of records read one by one; kernels make all others (`rendering`). Source: DumpLogSegments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.entries import NO_SEQUENCE, UnreadableEntry
from kafkafs.dump.kafka_decoders import Decoder
from kafkafs.errors import CorruptData
from kafkafs.format.batch import Batch
from kafkafs.format.strings import java_boolean

NO_TIMESTAMP_TYPE = "NoTimestampType"


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """A record read one by one. `key_size` and `value_size` are as stored: a message of v0 or v1 may be about them."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    key_size: int
    value_size: int
    sequence: int = NO_SEQUENCE
    header_keys: Sequence[bytes] = ()
    crc: int | None = None  # for v0 and v1
    is_valid: bool = True


def optional_long(number: int | None) -> str:
    """How Java prints an OptionalLong."""
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def unreadable_header(entry: UnreadableEntry) -> str:
    """The part of a batch's line that is known."""
    return f"offset: {entry.last_offset} position: {entry.position} size: {entry.size} magic: {entry.magic}"


def timestamp_type(batch: Batch) -> str:
    """The tool's name for the kind of timestamps. Format v0 has none."""
    return batch.timestamp_type or NO_TIMESTAMP_TYPE


def record_line(
    batch: Batch, record: DumpedRecord, options: DumpOptions, control: bytes | None, refused: Callable[[str], object]
) -> bytes:
    """A record's line with its line feed; `control` is what a control record says, None for any other record.

    Kafka's tool ends at bytes that its decoder refuses. Here the line has these bytes in angle brackets, and `refused`
    is called.
    """
    parts: list[bytes] = []
    if not options.skip_record_metadata:
        parts.append(_metadata(batch, record))
        if control is not None:
            parts.append(control)
    if options.print_data_log and control is None:
        contents = _contents(record, options, refused)
        if contents:
            parts += [b"| " if options.skip_record_metadata else b" ", contents]
    return b"".join((*parts, b"\n"))


def _metadata(batch: Batch, record: DumpedRecord) -> bytes:
    front = (
        f"| offset: {record.offset} {timestamp_type(batch)}: {record.timestamp}"
        f" keySize: {record.key_size} valueSize: {record.value_size}"
    )
    if batch.magic >= 2:
        keys = b",".join(record.header_keys)
        return f"{front} sequence: {record.sequence} headerKeys: [".encode() + keys + b"]"
    return f"{front} isValid: {java_boolean(record.is_valid)} crc: {record.crc}".encode()


def _contents(record: DumpedRecord, options: DumpOptions, refused: Callable[[str], object]) -> bytes:
    shown = []
    if options.decode_record is not None:
        try:
            key, payload = options.decode_record(record.offset, record.key, record.value)
        except CorruptData as error:
            refused(str(error))
            key, payload = f"<{error}>", None
        parts = (("key", key), ("payload", payload))
        return " ".join(f"{name}: {text}" for name, text in parts if text is not None).encode()
    if record.key is not None:
        shown.append(b"key: " + _decoded(record.key, options.decode_key, refused))
    if record.value is not None:
        shown.append(b"payload: " + _decoded(record.value, options.decode_value, refused))
    return b" ".join(shown)


def _decoded(data: bytes, decode: Decoder, refused: Callable[[str], object]) -> bytes:
    try:
        return decode(data)
    except CorruptData as error:
        refused(str(error))
        return f"<{error}>".encode()
