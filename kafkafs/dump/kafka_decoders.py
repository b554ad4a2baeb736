"""A key or value as text: the decoder classes that come with Kafka, by name.

Kafka's tool looks a class up on its class path; kafkafs knows those of Kafka itself, under the names of
`org.apache.kafka.tools.api` and `kafka.serializer`, and the deserializers of the same types. Bytes are shown in
hexadecimal, where Kafka's tool prints the address of a Java object.
"""

import struct
from collections.abc import Callable

from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.strings import java_double, java_string

Decoder = Callable[[bytes], bytes]
"""Bytes as stored -> UTF-8 text. CorruptData if they are too few."""

RecordDecoder = Callable[[int, bytes | None, bytes | None], tuple[str | None, str | None]]
"""Offset, key and value as stored -> key and payload as text, None for what is not shown (see `internal_records`)."""


def as_string(data: bytes) -> bytes:
    """The bytes as Java reads UTF-8: what is malformed becomes U+FFFD, as often as Java would put it."""
    return java_string(data).encode()


def as_hexadecimal(data: bytes) -> bytes:
    """Two digits a byte, in lower case."""
    return data.hex().encode()


def as_long(data: bytes) -> bytes:
    """Eight bytes, big-endian and signed, as decimal digits."""
    return b"%d" % _first(data, ">q", "a long")


def as_integer(data: bytes) -> bytes:
    """Four bytes, big-endian and signed, as decimal digits."""
    return b"%d" % _first(data, ">i", "an integer")


def as_double(data: bytes) -> bytes:
    """As Java writes a double: 1.0, 1.0E10, Infinity."""
    return java_double(_first(data, ">d", "a double")).encode()


NUMBER_SIZES: dict[Decoder, int] = {as_long: 8, as_integer: 4}
"""The bytes that the numbers take which kernels show, too."""


def decoder(class_name: str) -> Decoder:
    """The decoder of that class name. Raises UsageError for a class that kafkafs does not know."""
    package, _, name = class_name.rpartition(".")
    kind = name.removesuffix("Decoder").removesuffix("Deserializer")
    if package in _PACKAGES and name != kind and kind in _KINDS:
        return _KINDS[kind]
    raise UsageError(
        f"The decoder class {class_name!r} is unknown: kafkafs has {', '.join(f'{kind}Decoder' for kind in _SHOWN)}."
    )


def _first(data: bytes, layout: str, what: str) -> int | float:
    """The number at the front; Kafka's decoders ignore what follows it."""
    size = struct.calcsize(layout)
    if len(data) < size:
        raise CorruptData(f"{len(data)} bytes are too few for {what}")
    number: int | float = struct.unpack_from(layout, data)[0]
    return number


_PACKAGES = ("", "org.apache.kafka.tools.api", "kafka.serializer", "org.apache.kafka.common.serialization")
_KINDS: dict[str, Decoder] = {
    "String": as_string,
    "Long": as_long,
    "Integer": as_integer,
    "Double": as_double,
    "Default": as_hexadecimal,
    "Byte": as_hexadecimal,
    "Bytes": as_hexadecimal,
    "ByteArray": as_hexadecimal,
}
_SHOWN = ("String", "Long", "Integer", "Double", "ByteArray")
