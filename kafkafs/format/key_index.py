"""The key index of one closed segment as a file, which `kafkafs reindex --keys` writes; docs/key-index.md defines it.

    a page      header: magic, seed, identity of the segment, number of rows, CRC-32C of the fences; CRC-32C of the page
    pages       511 rows (little-endian) each, four bytes of zeros, CRC-32C of those 4,092 bytes
    fences      the first row of each page

The last page is filled up with rows of the largest number. A lookup searches the fences, which stay in memory, and
reads one page; its checksum is looked at each time, so a damaged file is found out and costs a scan of the segment.

A row is an int64: 31 bits of the key's SipHash-1-3 under a random seed, then the record's offset less a base in 32
bits. If a key occurs more than once, only its last record has a row. Rows are hints: two keys may share 31 bits, so the
finder of a row compares the record's own key. While rows are made, 64 more bits of the same hash, the checks, tell keys
apart. The seed was secret before, so no producer can make two keys alike.
"""

import os
import struct
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.kernels import crc32c
from kafkafs.format.names import OFFSET_DIGITS
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers

SEED_SIZE = 16
_BUCKETS = 1 << 11
FEW = 1 << 18
"""Records that are collected before they are sorted; where more keys are known already, as many as those."""


def new_seed() -> bytes:
    """A seed that was not known before."""
    return os.urandom(SEED_SIZE)


class KeyRows(NamedTuple):
    """Ascending rows, a check beside each, and what their offsets count from."""

    rows: Numbers
    checks: Numbers
    seed: bytes
    base: int


class KeyCollector:
    """Makes rows of records that come in the order of their offsets, in memory for the different keys."""

    def __init__(self, base: int, seed: bytes, few: int = FEW) -> None:
        """`base`: offsets are counted from it, and none is more than 2**32 behind it. `few`: rows collected at once."""
        self._few = few
        self._base, self._seed = base, seed
        self._settled: tuple[Numbers, Numbers] = np.empty(0, np.int64), np.empty(0, np.int64)
        self._pending = np.empty((2, few), np.int64)
        self._count = 0

    @property
    def count(self) -> int:
        """Rows at most."""
        return len(self._settled[0]) + self._count

    def add(self, records: Records) -> None:
        """The keys of more records. CorruptData if an offset is too far from the base."""
        if self._count + len(records) > self._pending.shape[1]:
            self._settle()
            self._pending = np.empty((2, max(self._few, len(records), len(self._settled[0]))), np.int64)
        rows, checks = self._pending[0, self._count :], self._pending[1, self._count :]
        self._count += _hash(records, self._seed, self._base, rows, checks)

    def finish(self) -> KeyRows:
        """The rows of all records so far."""
        self._settle()
        return KeyRows(*self._settled, self._seed, self._base)

    def _settle(self) -> None:
        if self._count:
            rows, checks = self._pending[0, : self._count], self._pending[1, : self._count]
            self._settled = _settled(self._settled, (rows, checks))
            self._count = 0


def key_hashes(records: Records, seed: bytes) -> tuple[Numbers, Numbers]:
    """Return 64 bits for each record that has a key, in order; their first half is a hash. And 64 more bits, all of
    them a hash. CorruptData if the offsets are too far apart."""
    if not len(records):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows, checks = np.empty(len(records), np.int64), np.empty(len(records), np.int64)
    made = _hash(records, seed, int(records.rows["offset"].min()), rows, checks)
    return rows[:made], checks[:made]


def _hash(records: Records, seed: bytes, base: int, rows: Numbers, checks: Numbers) -> int:
    """Fills in the rows and checks, and returns how many there are."""
    table = np.ascontiguousarray(records.rows)
    made = kernels.hash_keys(table, len(table), records.data, seed, base, rows, checks)
    if made < 0:
        raise CorruptData(f"an offset is more than 32 bits above {base}, the first one")
    return made


def merged(earlier: KeyRows, later: KeyRows) -> KeyRows:
    """The rows of both, of the same seed and base; the records of one all are before those of the other."""
    rows, checks = _settled((earlier.rows, earlier.checks), (later.rows, later.checks))
    return KeyRows(rows, checks, earlier.seed, earlier.base)


def _settled(earlier: tuple[Numbers, Numbers], later: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Rows and checks of both, sorted, each key once."""
    rows, checks = (np.concatenate(pair) for pair in zip(earlier, later, strict=True))
    assert len(rows) == len(checks)  # the kernel would write behind them
    spare_rows, spare_checks, counts = np.empty_like(rows), np.empty_like(checks), np.empty(_BUCKETS, np.int64)
    kept = kernels.settle_keys(rows, checks, spare_rows, spare_checks, counts)
    return spare_rows[:kept].copy(), spare_checks[:kept].copy()


def matching(records: Records, key: bytes) -> Numbers:
    """The numbers of the records that have just this key."""
    table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
    made = kernels.match_keys(table, len(table), records.data, key, found)
    return found[:made]


def hashed(key: bytes, seed: bytes) -> int:
    """The 31 bits of a key."""
    return kernels.hash_key(key, seed)


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
    """The log of an index. Compaction and truncation make another one of it."""

    base_offset: int
    size: int
    fingerprint: int

    @property
    def file_name(self) -> str:
        """The name of its file."""
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

    def is_of(self, identity: Identity, offsets: int, size: int) -> bool:
        """True if a file of `size` bytes is the whole index of that log, which has that many offsets."""
        return self.identity == identity and self.rows <= offsets and self.size == size


def sample_positions(size: int) -> list[int]:
    """Return the places of the samples of `SAMPLE` bytes. The CRC-32C over these samples, back to back, is the
    fingerprint of a log."""
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


def _is_whole(page: bytes) -> bool:
    return len(page) == KEY_PAGE and crc32c(page[:KEY_PAGE_CRC]) == _CRC.unpack_from(page, KEY_PAGE_CRC)[0]


def parse_header(page: bytes) -> Header | None:
    """Parse the first page. Return None if it is not one, or has another layout."""
    if not _is_whole(page):
        return None
    magic, seed, base_offset, size, fingerprint, rows, fences_crc = _HEADER.unpack_from(page)
    if magic != MAGIC or rows < 0:
        return None
    return Header(seed, Identity(base_offset, size, fingerprint), rows, fences_crc)


def parse_page(page: bytes) -> Numbers | None:
    """The rows of a page, those that fill up the last one too; None if it is not what was written."""
    if not _is_whole(page):
        return None
    return np.frombuffer(page, "<i8", KEY_PAGE_ROWS)


def parse_fences(data: bytes, header: Header) -> Numbers | None:
    """The first row of each page; None if they are not what was written."""
    if len(data) != 8 * header.pages or crc32c(data) != header.fences_crc:
        return None
    return np.frombuffer(data, "<i8").astype(np.int64)
