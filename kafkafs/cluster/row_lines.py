"""Rows as lines of JSON, as decoded records are: no spaces, text as it is, but nothing that a terminal would obey.

And the names in them, of groups and transactional ids: bytes on disk, text in a line, and names of files.
"""

import base64
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from kafkafs.format.strings import shown_json

Json: TypeAlias = "bool | int | float | str | list[Json] | Mapping[str, Json] | None"
Row = dict[str, Json]

_LINES_A_PIECE = 512


def known(number: int) -> int | None:
    """An epoch or a timestamp as rows show it: None if Kafka wrote -1."""
    return None if number == -1 else number


def line(row: Mapping[str, Json]) -> bytes:
    """One row as a line."""
    return shown_json(row) + b"\n"


class PackedLines:
    """Lines that were made once and are read by many, in a tenth of their size."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        waiting = iter(lines)
        self._pieces: list[bytes] = []
        self.size = 0
        """Bytes of all lines."""
        while piece := b"".join(islice(waiting, _LINES_A_PIECE)):
            self.size += len(piece)
            self._pieces.append(zlib.compress(piece, 1))

    def pieces(self, first: int) -> Iterator[tuple[int, bytes]]:
        """The pieces from number `first` on, each with the number of the next."""
        for number in range(first, len(self._pieces)):
            yield number + 1, zlib.decompress(self._pieces[number])


def text_field(name: str, data: bytes) -> Row:
    """A field with those bytes as text; in base64 under its other name where they are no UTF-8."""
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode("ascii")}


LONGEST_NAME = 255
"""Bytes of a file name at most."""

_ENCODED = re.compile(rb"%([0-9A-F]{2})")
_NO_FILE_NAMES = {".": "%2E", "..": "%2E%2E"}


def text_of(name: bytes) -> str:
    """The name as Java reads it: bytes that are no UTF-8 become U+FFFD."""
    return name.decode("utf-8", "replace")


def file_name(name: bytes) -> str | None:
    """The file name of a directory of that name, or None if no file can have it.

    Percent-encoded are `/`, NUL, `%` and bytes that are not UTF-8, in upper case, and the names `.` and `..`.
    """
    text = name.decode("utf-8", "surrogateescape")
    if text in _NO_FILE_NAMES:
        return _NO_FILE_NAMES[text]
    encoded = "".join(_encoded(sign) for sign in text)
    return encoded if 0 < len(encoded.encode()) <= LONGEST_NAME else None


def named_by(path: str) -> bytes | None:
    """The name whose file is called that; None if no name's is."""
    name = _ENCODED.sub(lambda match: bytes((int(match[1], 16),)), os.fsencode(path))
    return name if file_name(name) == path else None


def _encoded(sign: str) -> str:
    if sign in "/\0%":
        return f"%{ord(sign):02X}"
    code = ord(sign)
    return f"%{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else sign
