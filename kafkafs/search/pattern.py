"""What `kafkafs grep` looks for: a fixed string or a regular expression of Python's, and what it surely has in it.

A pattern is text where a field is valid UTF-8, else bytes: there it stands for its own UTF-8 bytes. A needle, a string
that stands in every match, lets batches and records without it be passed over unread.
"""

import re
from collections.abc import Callable
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from kafkafs.errors import UsageError
from kafkafs.format import kernels
from kafkafs.format.batch import Batches, Bytes
from kafkafs.format.records import Records

_CASELESS = frozenset("kKsSiI")
"""Letters that `re.IGNORECASE` takes for others outside of ASCII, too: the Kelvin sign, the long s, the dotted i."""


Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


class Needle:
    """The bytes that are sought; letters in either case where `ignore_case`, of ASCII only."""

    def __init__(self, text: bytes, ignore_case: bool = False) -> None:
        """`text` has at least one byte."""
        self._text, self._other = (text.lower(), text.upper()) if ignore_case else (text, text)

    def batches(self, data: Bytes, position: int, batches: Batches) -> Batches:
        """Those that may hold it: the compressed ones all. `data` begins at `position` of the segment."""
        table, found = np.ascontiguousarray(batches), np.empty(len(batches), np.int64)
        made = kernels.needle_batches(table, len(table), data, position, self._text, self._other, found)
        return table[found[:made]]

    def records(self, records: Records, fields: int) -> Numbers:
        """The numbers of those that hold it in one of the fields; of headers, in all that belongs to them."""
        table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
        made = kernels.needle_records(table, len(table), records.data, fields, self._text, self._other, found)
        return found[:made]


class Pattern:
    """A pattern, compiled; UsageError where it is none."""

    def __init__(self, text: str, fixed: bool = False, ignore_case: bool = False) -> None:
        source = re.escape(text) if fixed else text
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        try:
            self._text = re.compile(source, flags)
            parsed = _parser.parse(source, flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"the pattern {text!r} is no regular expression: {error}; -F takes it as it is") from None
        try:
            self._bytes: re.Pattern[bytes] | None = re.compile(source.encode("utf-8", "surrogateescape"), flags)
        except re.error:  # what only text can have, as \u20ac
            self._bytes = None
        caseless = bool(self._text.flags & re.IGNORECASE)
        escaped = not fixed and "\\" in text  # \xe9 stands for a character of text, and for one byte of other fields
        literal = max(_literals(parsed, lambda character: _counts(character, caseless, escaped)), key=len)
        self.needle = Needle(literal.encode("utf-8", "surrogateescape"), caseless) if literal else None
        is_string = all(operation is _constants.LITERAL for operation, _ in parsed)
        self.is_needle = bool(literal) and is_string and len(literal) == len(parsed) and not caseless
        """Whether what has the needle in it matches, and nothing else does."""

    def matches(self, field: bytes | memoryview) -> bool:
        """Whether it stands in a field."""
        try:
            return self._text.search(str(field, "utf-8")) is not None
        except UnicodeDecodeError:
            return self._bytes is not None and self._bytes.search(field) is not None

    def among(self, data: memoryview, starts: list[int], sizes: list[int]) -> list[bool]:
        """Whether it stands in each of the fields that begin there in `data`; a negative size is null: it does not."""
        search, found = self._text.search, []
        for start, size in zip(starts, sizes, strict=True):
            try:
                found.append(size >= 0 and search(str(data[start : start + size], "utf-8")) is not None)
            except UnicodeDecodeError:
                found.append(self._bytes is not None and self._bytes.search(data[start : start + size]) is not None)
        return found


def _literals(parsed: Any, counts: Callable[[str], bool]) -> list[str]:
    """Strings each of which stands in every match, of the characters that count."""
    found, run = [], ""
    for operation, argument in parsed:
        if operation is _constants.LITERAL and counts(chr(argument)):
            run += chr(argument)
            continue
        found.append(run)
        run = ""
        if operation is _constants.SUBPATTERN and not argument[1] and not argument[2]:
            found += _literals(argument[3], counts)
        elif operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
            found += _literals(argument[2], counts)
    return [*found, run]


def _counts(character: str, caseless: bool, escaped: bool) -> bool:
    """Whether a character of the pattern stands for its own bytes, or for a letter of ASCII in both cases."""
    if 0xD800 <= ord(character) < 0xDC80 or 0xDCFF < ord(character) < 0xE000:
        return False
    if escaped and not character.isascii():
        return False
    return not caseless or (character.isascii() and character not in _CASELESS)
