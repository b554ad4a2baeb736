"""JSON objects that columns can hold, by Python's own parser.

It takes a list of values, many at a time. One odd value has all values of its list parsed one at a time.

`pyarrow.json` cannot take the place of that parser. A top-level `null` ends the process, and a hostile value can bring
one in (`{}}null{"v":{}`). `json_column` gives Arrow only values that a kernel has checked.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

_DIGITS = 308  # that every double has room for
_HUGE = re.compile(f"[0-9]{{{_DIGITS + 1}}}")
_DEEPEST = 100  # objects and lists in each other: neither Python nor readers of Parquet go down without end


def parsed(value: bytes | None) -> dict[str, Any] | None:
    """The object that a value holds; None if it holds none, or one that columns cannot hold: with half of a
    surrogate pair, which is no Unicode, with a whole number beyond any double, or too deep."""
    if value is None:
        return None
    try:
        text = value.decode(json.detect_encoding(value))
        found = json.loads(text) if len(text) <= _DIGITS else json.loads(text, parse_int=_whole)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, OverflowError, RecursionError):
        return None
    is_deep = text.count("{") + text.count("[") > _DEEPEST and not _is_within(_DEEPEST, found)
    return found if isinstance(found, dict) and not is_deep else None


def _whole(digits: str) -> int:
    """A whole number; OverflowError for one that is too large for a double."""
    number = int(digits)
    if len(digits) > _DIGITS:
        float(number)
    return number


def _is_within(levels: int, value: Any) -> bool:
    """True if objects and lists are nested no deeper than that."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(_is_within(levels - 1, each) for each in inner))


MANY = 1 << 10  # values that are parsed at once
MARK = 734_918_250_617_395_283
"""Separates values. No other text of JSON is this number: no double is equal to it."""


def all_parsed(values: Sequence[bytes | None], many: int = MANY) -> list[dict[str, Any] | None]:
    """`parsed` of each value."""
    return [each for first in range(0, len(values), many) for each in _parsed_at_once(values[first : first + many])]


def _parsed_at_once(values: Sequence[bytes | None]) -> Sequence[dict[str, Any] | None]:
    plain = [value for value in values if value is not None and _is_plain(value)]
    found = _as_one_list(plain)
    if found is None:
        return [parsed(value) for value in values]
    if len(found) == len(values):
        return found
    documents = iter(found)
    return [next(documents) if value is not None and _is_plain(value) else parsed(value) for value in values]


def _is_plain(value: bytes) -> bool:
    """True if a value can be an object in UTF-8 with nothing around it, and cannot be too deep."""
    if value[:1] != b"{" or value[1:2] == b"\0":
        return False
    return len(value) <= 2 * _DEEPEST or value.count(b"{") + value.count(b"[") <= _DEEPEST


def _as_one_list(values: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The objects that values are, parsed as one list with a mark between any two. None if one of them may be no object
    that columns can hold.

    The list has as many marks as were put in, at each second place. So each value is one element: it neither begins nor
    ends within another's.
    """
    try:
        text = f",{MARK},".encode().join(values).decode()
        if max(map(len, values), default=0) > _DIGITS and _HUGE.search(text):
            return None
        found = json.loads(f"[{text}]")
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    marks = max(len(values) - 1, 0)
    if text.count(str(MARK)) != marks or len(found) != len(values) + marks or found[1::2] != [MARK] * marks:
        return None
    documents = found[::2]
    return documents if set(map(type, documents)) <= {dict} else None
