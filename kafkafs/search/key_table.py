"""Where a key may be in one part of a log: sorted rows, in memory or in a key index on disk, and the search in them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import DiskError
from kafkafs.format.key_index import KEY_PAGE, KEY_PAGE_ROWS, parse_page
from kafkafs.format.key_rows import KeyRows, Numbers, hashed
from kafkafs.log.segment import Segment

_LOW = 0xFFFFFFFF
"""The bits of a row that are an offset; the hash stands above them."""


class KeyTable(NamedTuple):
    """Rows of a part of one segment; of those on disk `rows` are the first one of each page of `file`."""

    segment: Segment
    seed: bytes
    base: int
    rows: Numbers
    row_count: int
    file: DataFile | None = None

    def offsets(self, hash_: int) -> Iterator[int | None]:
        """Those of the records whose key has this hash, the largest first. None where the table is damaged, which then
        tells no more."""
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
    """The rows of a page; None where it cannot be read or is not what was written: an index is a hint."""
    try:
        return parse_page(file.read(KEY_PAGE * (1 + number), KEY_PAGE))
    except DiskError:
        return None


def _offsets_in(rows: Numbers, base: int, hash_: int) -> list[int]:
    """The offsets of the rows with that hash, the largest first."""
    first, stop = rows.searchsorted(hash_ << 32), rows.searchsorted(hash_ << 32 | _LOW, "right")
    return ((rows[first:stop] & _LOW) + base).tolist()[::-1] if first < stop else []


def table_of(segment: Segment, made: KeyRows) -> KeyTable:
    """The table in memory."""
    return KeyTable(segment, made.seed, made.base, made.rows, len(made.rows))


def places(tables: Iterable[KeyTable], key: bytes) -> Iterator[tuple[KeyTable, int | None]]:
    """Where records that may have the key stand, in the order of the tables, of each the last first: table and offset.

    A table on disk that is damaged answers with None, once, and the search goes on behind it.
    """
    hashes: dict[bytes, int] = {}
    for table in tables:
        wanted = hashes.get(table.seed)
        if wanted is None:
            wanted = hashes[table.seed] = hashed(key, table.seed)
        for offset in table.offsets(wanted):
            yield table, offset
