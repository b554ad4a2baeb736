"""The key indexes of one partition, in the directory that `-o index_dir=` names, found by each segment's identity.

An index counts for a segment only if the log is the one that it was made of: its size, and a fingerprint of four
samples of it. Batches there have checksums and timestamps, so another log differs in them. A damaged index, or an index
of another log, is ignored.

It serves both isolation levels: of a key that has aborted records the last record of all has a row, and the last one
that was not aborted. A segment that is not settled yet, or cannot be read as a whole, has no index: lookups scan it.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE, CorruptData, DiskError, Exhausted
from kafkafs.format.batch import is_transactional
from kafkafs.format.kernels import crc32c
from kafkafs.format.key_index import (
    KEY_PAGE,
    KEY_PAGE_ROWS,
    SAMPLE,
    SUFFIX,
    Identity,
    KeyCollector,
    KeyRows,
    encode,
    hashed,
    new_seed,
    parse_fences,
    parse_header,
    parse_page,
    sample_positions,
)
from kafkafs.format.records import Refusal
from kafkafs.format.tables import Numbers
from kafkafs.log.look import Look, Reader
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Damage, Segment

_LOW = 0xFFFFFFFF
"""The bits of a row that are an offset; the hash is above them."""


class KeyIndex(NamedTuple):
    """The places of keys in one part of a log: sorted rows. For rows on disk, the first of each page."""

    segment: Segment
    seed: bytes
    base: int
    rows: Numbers
    row_count: int
    file: DataFile | None = None

    def offsets(self, hash_: int) -> Iterator[int | None]:
        """The offsets of the records whose key has this hash, the largest first. None if the index is damaged, which
        then has no more information."""
        if self.file is None:
            yield from _offsets_in(self.rows, self.base, hash_)
            return
        number = int(self.rows.searchsorted(hash_ << 32 | _LOW, "right")) - 1
        while number >= 0:
            count = min(KEY_PAGE_ROWS, self.row_count - number * KEY_PAGE_ROWS)
            page = _page(self.file, number)
            if page is None:
                yield None
                return
            yield from _offsets_in(page[:count], self.base, hash_)
            if page[0] >> 32 < hash_:
                return
            number -= 1


def _page(file: DataFile, number: int) -> Numbers | None:
    """The rows of a page; None if it cannot be read or is not what was written: an index is a hint."""
    try:
        return parse_page(file.read(KEY_PAGE * (1 + number), KEY_PAGE))
    except DiskError:
        return None


def _offsets_in(rows: Numbers, base: int, hash_: int) -> list[int]:
    """The offsets of the rows with that hash, the largest first."""
    first, stop = rows.searchsorted(hash_ << 32), rows.searchsorted(hash_ << 32 | _LOW, "right")
    return ((rows[first:stop] & _LOW) + base).tolist()[::-1] if first < stop else []


def index_of(segment: Segment, made: KeyRows) -> KeyIndex:
    """The index in memory."""
    return KeyIndex(segment, made.seed, made.base, made.rows, len(made.rows))


def places(indexes: Iterable[KeyIndex], key: bytes) -> Iterator[tuple[KeyIndex, int | None]]:
    """Return the places of records that may have the key, in the order of the indexes, and the last record first in
    each: (index, offset).

    An index on disk that is damaged answers with None, once, and the search goes on behind it.
    """
    hashes: dict[bytes, int] = {}
    for index in indexes:
        wanted = hashes.get(index.seed)
        if wanted is None:
            wanted = hashes[index.seed] = hashed(key, index.seed)
        for offset in index.offsets(wanted):
            yield index, offset


def build(look: Look, segment: Segment, identity: Identity) -> bytes | None:
    """The key index of a closed segment of that identity; None if lookups have to scan. Vanished if it changes."""
    if segment.next_base is None or look.visible.visible_end < segment.next_base:
        return None
    seed = new_seed()
    try:
        rows, has_transactions = _rows(look.uncommitted, segment, seed)
        if has_transactions:
            committed, _ = _rows(look.visible, segment, seed)
            rows = np.unique(np.concatenate((rows, committed)))
    except CorruptData:
        return None
    return encode(rows, seed, identity)


COMMITTED = ReadOptions(isolation="read_committed")
"""The options of the look that `build` asks: it needs both isolation levels."""


def _rows(reader: Reader, segment: Segment, seed: bytes) -> tuple[Numbers, bool]:
    """The rows of the segment's visible records, and whether it has transactions.

    CorruptData if there is something that cannot be read.
    """
    assert segment.next_base is not None
    collector, has_transactions, end = KeyCollector(segment.base_offset, seed), False, segment.next_base
    for holder, item in reader.batches(segment.base_offset, end):
        if isinstance(item, Damage):
            raise CorruptData(str(item))
        has_transactions = has_transactions or bool(is_transactional(item.rows).any())
        for piece in reader.decoded(holder, item):
            if isinstance(piece, Refusal):
                raise CorruptData(str(piece.error))
            collector.add(piece.between(segment.base_offset, end))
    return collector.finish().rows, has_transactions


logger = logging.getLogger(__name__)

_UNUSABLE = (*UNREADABLE, Exhausted)


def identity(segment: Segment) -> Identity:
    """Return the name of the segment's index. Reads 16 KiB of its log. Vanished if the log was changed."""
    file = segment.log()
    size = file.size
    samples = b"".join(file.read(position, min(SAMPLE, size)) for position in sample_positions(size))
    segment.check(file)
    return Identity(segment.base_offset, size, crc32c(samples))


class _Files(NamedTuple):
    """The content of the directory: inodes by name, and the base offsets that may have an index."""

    names: dict[str, int]
    bases: frozenset[int]


class KeyIndexes:
    """The key indexes of one partition, by segment. Nothing is opened before the first question."""

    def __init__(self, directory: Directory, partition: str, fresh_s: float = 1.0) -> None:
        """`fresh_s`: for so long the names in the directory count as those of now."""
        self._directory = directory
        self._partition = partition
        self._files: CachedValue[_Files] = CachedValue(fresh_s, directory.options.clock)

    def of(self, segment: Segment) -> KeyIndex | None:
        """The key index of a closed segment; None if there is no index that can be relied on."""
        names, bases = self._files.fresh() or self._files.store(self._look())
        if segment.next_base is None or segment.base_offset not in bases:
            return None
        own = identity(segment)
        name = own.file_name
        if name not in names or not self._directory.may_hold_more():
            return None
        try:
            file = self._directory.open(f"{self._partition}/{name}", names[name])
            index = _read(segment, own, file)
        except _UNUSABLE as error:
            logger.warning("%s/%s is not used: %s", self._partition, name, error)
            return None
        if index is None:
            logger.warning("%s/%s is damaged and not used; lookups of keys take longer", self._partition, name)
        return index

    def _look(self) -> "_Files":
        names = {}
        with suppress(*_UNUSABLE), self._directory.scan(self._partition) as entries:
            names = {entry.name: entry.inode() for entry in entries if entry.name.endswith(SUFFIX)}
        bases = (name.partition("-")[0] for name in names)
        return _Files(names, frozenset(int(base) for base in bases if base.isascii() and base.isdecimal()))


def offsets_of(segment: Segment) -> int:
    """How many offsets a closed segment has, and so keys at most: it limits what an index of it may claim."""
    return (segment.next_base or segment.base_offset) - segment.base_offset


def _read(segment: Segment, own: Identity, file: DataFile) -> KeyIndex | None:
    """The index of a segment of that identity; None if the file is not what was written."""
    header = parse_header(file.read(0, KEY_PAGE))
    if header is None or not header.is_of(own, offsets_of(segment), file.size):
        return None
    fences = parse_fences(file.read(header.fences_at, 8 * header.pages), header)
    if fences is None:
        return None
    return KeyIndex(segment, header.seed, segment.base_offset, fences, header.rows, file)
