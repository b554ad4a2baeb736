"""Text as JSON strings, escaped as everywhere in lines: what Python's json does, U+007F to U+009F, and surrogates. Text
and numbers as Java reads and writes them, where Kafka's tools print what Java made of bytes.
"""

import codecs
import json
import math
import re
from decimal import Decimal

_SPECIAL = re.compile("[\x7f-\x9f\ud800-\udfff]")


def compact_json(value: object) -> str:
    """JSON on one line without spaces, and text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown_json(value: object) -> bytes:
    """A value as JSON for a terminal: with controls escaped."""
    return escape_controls(compact_json(value)).encode()


def json_object(data: bytes) -> dict[str, object] | None:
    """The JSON object that bytes are; None if they are anything else."""
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_string(text: str) -> str:
    """The text in quotes. A lone half of a surrogate pair is escaped, because UTF-8 cannot hold it."""
    return escape_controls(json.dumps(text, ensure_ascii=False))


def escape_controls(text: str) -> str:
    """JSON text with those characters escaped that are in its strings and that a terminal would obey."""
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE_LEAD = 0xED
_LARGEST_PLAIN, _SMALLEST_PLAIN = 10_000_000, 0.001
_ERRORS = "kafkafs-java"


def java_string(data: bytes) -> str:
    """The bytes as Java reads UTF-8: what is malformed becomes U+FFFD, as often as Java would put it."""
    return data.decode("utf-8", _ERRORS)


def java_boolean(value: bool) -> str:
    """true or false."""
    return "true" if value else "false"


def java_hash(text: str) -> int:
    """Java's hash of a string: over its UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code


def java_double(value: float) -> str:
    """As `Double.toString` writes it: 1.0, 1.0E10, Infinity."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if len(digits) == 1:  # Java takes the nearest of two digits then: 4.9E-324 is its smallest
        sign, digits, exponent = Decimal(f"{value:.1e}").as_tuple()
    tail = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{tail}E{int(exponent) + len(digits) - 1}"


def _java_replacement(error: UnicodeError) -> tuple[str, int]:
    """Python replaces as Java does, except that Java takes an encoded surrogate as one character, even a cut one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, at = error.object, error.start
    if data[at] == _SURROGATE_LEAD and at + 1 < len(data) and 0xA0 <= data[at + 1] <= 0xBF:
        is_whole = at + 2 < len(data) and 0x80 <= data[at + 2] <= 0xBF
        return _REPLACEMENT, at + 2 + is_whole
    return _REPLACEMENT, error.end


codecs.register_error(_ERRORS, _java_replacement)
