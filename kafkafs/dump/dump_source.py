"""One file to dump: its bytes, the files beside it, and its name as Java would print it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from kafkafs.errors import NotFound
from kafkafs.format.tiers.tier_names import parse_tier_file

_OFFSET = re.compile(r"[+-]?0*[0-9]{1,19}")
"""Text that Java parses as a long."""


class ReadableFile(Protocol):
    """An open file; `kafkafs.disk.data_file.DataFile` is one."""

    @property
    def size(self) -> int:
        """Bytes in the file."""

    def read(self, position: int, size: int) -> bytes:
        """The bytes at `position`; fewer only at the end."""

    def read_long(self, position: int, size: int) -> bytes | memoryview:
        """The bytes at `position`, a megabyte or more, in memory that is used again."""


@dataclass(frozen=True)
class Source:
    """`path` is printed as it is (see `java_path`); `open_file` opens a file of the same directory, or NotFound."""

    path: str
    absolute_path: str
    open_file: Callable[[str], ReadableFile]

    @cached_property
    def data(self) -> ReadableFile:
        """The file itself, opened when it is first needed. Raises NotFound and the like."""
        return self.open_file(self.name)

    def beside(self, name: str) -> ReadableFile | None:
        """Another file of the same directory, None if it is missing."""
        try:
            return self.open_file(name)
        except NotFound:
            return None

    @property
    def name(self) -> str:
        """The file's name, without the directory."""
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name up to its first dot, in a segment's files the base offset."""
        return self.name.partition(".")[0]

    @property
    def base_offset(self) -> int | None:
        """The offset in the name, or None if it has none. In a remote tier the segment's id follows it."""
        tiered = parse_tier_file(self.name)
        if tiered is not None:
            return tiered.base_offset
        if not _OFFSET.fullmatch(self.stem):
            return None
        offset = int(self.stem)
        return offset if -(2**63) <= offset < 2**63 else None


def java_path(path: str) -> str:
    """How `java.io.File` prints a path: without repeated or trailing slashes."""
    parts = [part for part in path.split("/") if part]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
