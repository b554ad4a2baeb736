"""A key or value as text: the decoder classes that come with Kafka, by name.

Kafka's tool looks a class up on its class path; kafkafs knows those of Kafka itself, under the names of
`org.apache.kafka.tools.api` and `kafka.serializer`, and the deserializers of the same types. Bytes are shown in
hexadecimal, where Kafka's tool prints the address of a Java object.
"""

import codecs
import math
import struct
from collections.abc import Callable
from decimal import Decimal

from kafkafs.errors import CorruptData, UsageError

Decoder = Callable[[bytes], bytes]
"""Bytes as stored -> UTF-8 text. CorruptData where they are too few."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE_LEAD = 0xED
_LARGEST_PLAIN, _SMALLEST_PLAIN = 10_000_000, 0.001


def as_string(data: bytes) -> bytes:
    """The bytes as Java reads UTF-8: what is malformed becomes U+FFFD, as often as Java would put it."""
    return data.decode("utf-8", "kafkafs-java").encode()


def as_hexadecimal(data: bytes) -> bytes:
    return data.hex().encode()


def as_long(data: bytes) -> bytes:
    return b"%d" % _first(data, ">q", "a long")


def as_integer(data: bytes) -> bytes:
    return b"%d" % _first(data, ">i", "an integer")


def as_double(data: bytes) -> bytes:
    """As Java writes a double: 1.0, 1.0E10, Infinity."""
    value = _first(data, ">d", "a double")
    if not math.isfinite(value):
        return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"
    if value == 0 or _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        return repr(float(value)).encode()
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    tail = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{tail}E{int(exponent) + len(digits) - 1}".encode()


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


def _java_replacement(error: UnicodeError) -> tuple[str, int]:
    """Python replaces as Java does, except that Java takes an encoded surrogate as one character, even a cut one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, at = error.object, error.start
    if data[at] == _SURROGATE_LEAD and at + 1 < len(data) and 0xA0 <= data[at + 1] <= 0xBF:
        is_whole = at + 2 < len(data) and 0x80 <= data[at + 2] <= 0xBF
        return _REPLACEMENT, at + 2 + is_whole
    return _REPLACEMENT, error.end


codecs.register_error("kafkafs-java", _java_replacement)

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
