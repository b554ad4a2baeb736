"""The records that `kafkafs grep` selects: a pattern, and the fields to search.

A pattern is a fixed string or a regular expression of Python's, text where a field is valid UTF-8, else bytes: there it
stands for its own UTF-8 bytes. A needle, a string that stands in every match, lets batches and records without it be
passed over unread.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Protocol

import numpy as np

from kafkafs.errors import UsageError
from kafkafs.format import kernels
from kafkafs.format.batch import Batches
from kafkafs.format.memory import Bytes
from kafkafs.format.native.layout import NEEDLE_HEADERS, NEEDLE_KEY, NEEDLE_VALUE
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.segment import BatchRun

_CASELESS = frozenset("kKsSiI")
"""Letters that `re.IGNORECASE` takes for others outside of ASCII, too: the Kelvin sign, the long s, the dotted i."""

_ESCAPED_BYTES = re.compile("[\udc80-\udcff]")
"""Bytes of a pattern that are no UTF-8. Text has none of them, its letters are made of such bytes all the same."""


_GLOBAL_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
"""Flags that are at the beginning of an expression, and nowhere else."""


class Needle:
    """The bytes that are sought; letters in either case where `ignore_case`, of ASCII only."""

    def __init__(self, text: bytes, ignore_case: bool = False) -> None:
        """`text` has at least one byte."""
        self._text, self._other = (text.lower(), text.upper()) if ignore_case else (text, text)

    def batches(self, data: Bytes, position: int, batches: Batches) -> Batches:
        """The batches that may hold the needle: all compressed batches are among them. `data` begins at `position` of
        the segment."""
        table, found = np.ascontiguousarray(batches), np.empty(len(batches), np.int64)
        made = kernels.needle_batches(table, len(table), data, position, self._text, self._other, found)
        return chosen(table, found[:made])

    def records(self, records: Records, fields: int) -> Numbers:
        """The numbers of those that hold it in one of the fields; of headers, in all that belongs to them."""
        table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
        made = kernels.needle_records(table, len(table), records.data, fields, self._text, self._other, found)
        return found[:made]


class Pattern:
    """A pattern, compiled; UsageError if it is invalid."""

    def __init__(self, text: str, fixed: bool = False, ignore_case: bool = False, word: bool = False) -> None:
        """`word`: no letter, digit or underscore may be beside a match."""
        source = re.escape(text) if fixed else text
        if word:
            flags_first = _GLOBAL_FLAGS.match(source)
            first = flags_first[0] if flags_first else ""
            source = rf"{first}(?<!\w)(?:{source[len(first) :]})(?!\w)"
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # about `[[]`, meant for programmers
            try:
                self._text = re.compile(source, flags)
                parsed = _parser.parse(source, flags)
            except (re.error, OverflowError, RecursionError) as error:
                sentence = (
                    f"the pattern {text!r} is not a regular expression: {error}; -F searches for it as a plain string"
                )
                raise UsageError(sentence) from None
            try:
                self._bytes: re.Pattern[bytes] | None = re.compile(source.encode("utf-8", "surrogateescape"), flags)
            except re.error:  # only text can match it, such as \u20ac
                self._bytes = None
        caseless = bool(self._text.flags & re.IGNORECASE)
        escaped = not fixed and "\\" in text  # \xe9 stands for a character of text, and for one byte of other fields
        literal = max(_literals(parsed, lambda character: _counts(character, caseless, escaped)), key=len)
        self.needle = Needle(literal.encode("utf-8", "surrogateescape"), caseless) if literal else None
        is_string = all(operation is _constants.LITERAL for operation, _ in parsed)
        is_whole = bool(literal) and is_string and len(literal) == len(parsed)
        self.is_needle = is_whole and not caseless and not _ESCAPED_BYTES.search(literal)
        """True if exactly the fields that contain the needle match."""

    def matches(self, field: bytes | memoryview) -> bool:
        """True if the pattern is in a field."""
        try:
            return self._text.search(str(field, "utf-8")) is not None
        except UnicodeDecodeError:
            return self._bytes is not None and self._bytes.search(field) is not None

    def among(self, data: memoryview, starts: list[int], sizes: list[int]) -> list[bool]:
        """A mask of the fields that hold the pattern. The fields begin there in `data`. A negative size is null, which
        never matches."""
        search, found = self._text.search, []
        for start, size in zip(starts, sizes, strict=True):
            try:
                found.append(size >= 0 and search(str(data[start : start + size], "utf-8")) is not None)
            except UnicodeDecodeError:
                found.append(self._bytes is not None and self._bytes.search(data[start : start + size]) is not None)
        return found


def _literals(parsed: Any, counts: Callable[[str], bool]) -> list[str]:
    """Strings each of which is in every match, of the characters that count."""
    found, literal = [], ""
    for operation, argument in parsed:
        if operation is _constants.LITERAL and counts(chr(argument)):
            literal += chr(argument)
            continue
        found.append(literal)
        literal = ""
        if operation is _constants.SUBPATTERN and not argument[1] and not argument[2]:
            found += _literals(argument[3], counts)
        elif operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
            found += _literals(argument[2], counts)
    return [*found, literal]


def _counts(character: str, caseless: bool, escaped: bool) -> bool:
    """True if a character of the pattern stands for its own bytes, or for a letter of ASCII in both cases."""
    if 0xD800 <= ord(character) < 0xDC80 or 0xDCFF < ord(character) < 0xE000:
        return False
    if escaped and not character.isascii():
        return False
    return not caseless or (character.isascii() and character not in _CASELESS)


class FieldMaker(Protocol):
    """Decodes the fields of one partition's records, see `format.decoding.DecodedLines`."""

    def fields(self, records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Key and value of each record, in order; None for null."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Records with the pattern in one of the fields; without it where `inverted`. `headers` are names.

    With `decoded`, keys and values are the results of their schemas.
    """

    pattern: Pattern
    key: bool = True
    value: bool = True
    headers: tuple[bytes, ...] = ()
    inverted: bool = False
    decoded: bool = False

    def batches(self, run: BatchRun) -> Batches:
        """The batches of a run that may have some."""
        needle = None if self.decoded or self.inverted else self.pattern.needle
        return run.rows if needle is None else needle.batches(run.data, run.position, run.rows)

    def of(self, records: Records, maker: FieldMaker | None = None) -> Records:
        """The selected ones of these records; `maker` decodes if the selection is by decoded fields."""
        if self.decoded:
            assert maker is not None
            numbers = self._decoded(records, maker)
        else:
            numbers = self._standing(records)
        if self.inverted:
            numbers = np.delete(np.arange(len(records)), numbers)
        return Records(records.data, chosen(records.rows, numbers))

    def _standing(self, records: Records) -> Numbers:
        """The numbers of the records that have the pattern, in bytes as they are."""
        needle = self.pattern.needle
        numbers = np.arange(len(records)) if needle is None else needle.records(records, self._fields())
        if (self.pattern.is_needle and not self.headers) or not len(numbers):
            return numbers
        found = np.zeros(len(numbers), bool)
        for is_asked, field in ((self.key, "key"), (self.value, "value")):
            if is_asked:
                left = np.nonzero(~found)[0]
                rows = records.rows[numbers[left]]
                places = rows[f"{field}_at"].tolist(), rows[f"{field}_size"].tolist()
                found[left] = self.pattern.among(records.data.data, *places)
        if self.headers:
            left = np.nonzero(~found)[0]
            found[left] = [self._in_headers(records, number) for number in numbers[left].tolist()]
        return numbers[found]

    def _decoded(self, records: Records, maker: FieldMaker) -> Numbers:
        found = np.zeros(len(records), bool)
        if self.key or self.value:
            for number, (key, value) in enumerate(maker.fields(records)):
                asked = (key if self.key else None, value if self.value else None)
                found[number] = any(self.pattern.matches(field) for field in asked if field is not None)
        if self.headers:
            for number in np.nonzero(~found)[0].tolist():
                found[number] = self._in_headers(records, number)
        return np.nonzero(found)[0]

    def _fields(self) -> int:
        return self.key * NEEDLE_KEY | self.value * NEEDLE_VALUE | bool(self.headers) * NEEDLE_HEADERS

    def _in_headers(self, records: Records, number: int) -> bool:
        contents = (content for name, content in records.headers(number) if name in self.headers)
        return any(self.pattern.matches(content) for content in contents if content is not None)
