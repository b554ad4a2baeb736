"""Names of groups and transactional ids: bytes on disk, text in a line, and names of files."""

import os
import re

LONGEST_NAME = 255
"""Bytes of a file name at most."""

_ENCODED = re.compile(rb"%([0-9A-F]{2})")
_NO_FILE_NAMES = {".": "%2E", "..": "%2E%2E"}


def text_of(name: bytes) -> str:
    """The name as Java reads it: bytes that are no UTF-8 become U+FFFD."""
    return name.decode("utf-8", "replace")


def file_name(name: bytes) -> str | None:
    """What a directory of that name is called; None where no file can be called so.

    Percent-encoded are `/`, NUL, `%` and bytes that are not UTF-8, in upper case, and the names `.` and `..`.
    """
    text = name.decode("utf-8", "surrogateescape")
    if text in _NO_FILE_NAMES:
        return _NO_FILE_NAMES[text]
    encoded = "".join(_encoded(sign) for sign in text)
    return encoded if 0 < len(encoded.encode()) <= LONGEST_NAME else None


def named_by(path: str) -> bytes | None:
    """The name whose file is called that; None where no name's is."""
    name = _ENCODED.sub(lambda match: bytes((int(match[1], 16),)), os.fsencode(path))
    return name if file_name(name) == path else None


def _encoded(sign: str) -> str:
    if sign in "/\0%":
        return f"%{ord(sign):02X}"
    code = ord(sign)
    return f"%{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else sign
