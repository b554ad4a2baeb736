"""The key index of one closed segment as a file, which `kafkafs reindex --keys` writes; docs/key-index.md tells it too.

    a page      header: magic, seed, identity of the segment, number of rows, CRC-32C of the fences; CRC-32C of the page
    pages       511 rows (`key_rows`, little-endian) each, four bytes of zeros, CRC-32C of those 4,092 bytes
    fences      the first row of each page

The last page is filled up with rows of the largest number. A lookup searches the fences, which stay in memory, and
reads one page; its checksum is looked at each time, so a damaged file is found out and costs a scan of the segment.
"""

import struct
from typing import NamedTuple

import numpy as np

from kafkafs.format.kernels import crc32c
from kafkafs.format.key_rows import SEED_SIZE, Numbers
from kafkafs.format.names import OFFSET_DIGITS

KEY_PAGE = 4096  # bytes of a page: rows, four bytes of zeros, CRC-32C of all before
KEY_PAGE_ROWS = 511
KEY_PAGE_CRC = 4092

MAGIC = b"kafkafsK"
SUFFIX = ".keys"
_HEADER = struct.Struct(
    f"<8s{SEED_SIZE}s"  # magic with the version of the layout, its last byte; seed of the hash
    "qqI"  # base offset, size and fingerprint of the segment's log
    "qI"  # rows; CRC-32C of the fences
)
_CRC = struct.Struct("<I")
_LARGEST = 2**63 - 1
SAMPLE = 4096
_SAMPLES = 4


class Identity(NamedTuple):
    """Which log an index is of. Compaction and truncation make another one of it."""

    base_offset: int
    size: int
    fingerprint: int

    @property
    def file_name(self) -> str:
        """What its file is called."""
        return f"{self.base_offset:0{OFFSET_DIGITS}}-{self.size}-{self.fingerprint:08x}{SUFFIX}"


class Header(NamedTuple):
    """The first page of a file."""

    seed: bytes
    identity: Identity
    rows: int
    fences_crc: int

    @property
    def pages(self) -> int:
        """How many pages of rows."""
        return -(-self.rows // KEY_PAGE_ROWS)

    @property
    def fences_at(self) -> int:
        """The position of the fences."""
        return KEY_PAGE * (1 + self.pages)

    @property
    def size(self) -> int:
        """The size of the whole file."""
        return self.fences_at + 8 * self.pages


def sample_positions(size: int) -> list[int]:
    """Where the samples of `SAMPLE` bytes begin whose CRC-32C, one behind the other, is a log's fingerprint."""
    last = max(0, size - SAMPLE)
    return [last * number // (_SAMPLES - 1) for number in range(_SAMPLES)]


def encode(rows: Numbers, seed: bytes, identity: Identity) -> bytes:
    """The file for these rows."""
    count = -(-len(rows) // KEY_PAGE_ROWS)
    padded = np.full(count * KEY_PAGE_ROWS, _LARGEST, "<i8")
    padded[: len(rows)] = rows
    pages = np.zeros((count, KEY_PAGE), np.uint8)
    pages[:, : KEY_PAGE_ROWS * 8] = padded.view(np.uint8).reshape(count, KEY_PAGE_ROWS * 8)
    for page in pages:
        page[KEY_PAGE_CRC:] = np.frombuffer(_CRC.pack(crc32c(page[:KEY_PAGE_CRC].data)), np.uint8)
    fences = padded[::KEY_PAGE_ROWS].tobytes()
    header = _HEADER.pack(MAGIC, seed, *identity, len(rows), crc32c(fences)).ljust(KEY_PAGE_CRC, b"\0")
    return b"".join([header, _CRC.pack(crc32c(header)), pages.data, fences])


def parse_header(page: bytes) -> Header | None:
    """What the first page says; None where it is none, or of another layout."""
    if len(page) != KEY_PAGE or crc32c(page[:KEY_PAGE_CRC]) != _CRC.unpack_from(page, KEY_PAGE_CRC)[0]:
        return None
    magic, seed, base_offset, size, fingerprint, rows, fences_crc = _HEADER.unpack_from(page)
    if magic != MAGIC or rows < 0:
        return None
    return Header(seed, Identity(base_offset, size, fingerprint), rows, fences_crc)


def parse_page(page: bytes) -> Numbers | None:
    """The rows of a page, those that fill up the last one too; None where it is not what was written."""
    if len(page) != KEY_PAGE or crc32c(page[:KEY_PAGE_CRC]) != _CRC.unpack_from(page, KEY_PAGE_CRC)[0]:
        return None
    return np.frombuffer(page, "<i8", KEY_PAGE_ROWS)


def parse_fences(data: bytes, header: Header) -> Numbers | None:
    """The first row of each page; None where they are not what was written."""
    if len(data) != 8 * header.pages or crc32c(data) != header.fences_crc:
        return None
    return np.frombuffer(data, "<i8").astype(np.int64)
