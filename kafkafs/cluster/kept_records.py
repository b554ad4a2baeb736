"""The last value of each key of a coordinator's partition, by the name in the key: see `last_values`.

Millions of them are kept in little memory: in a table of SQLite in this process's memory, sorted by name, which takes
about what keys and values take. Objects of Python took ten times that.
"""

import sqlite3
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

NO_PRODUCER = -1
HEAD = struct.Struct(">hh")
"""The beginning of a key: record type, length of the name."""

_OUTLIVING = -1  # instead of a record type: the name is there even when no record is
_AT_ONCE = 4096  # rows
_ROWS = "SELECT name, kind, rest, offset, value, producer FROM kept"
_ORDER = "ORDER BY name, producer, kind, rest"

_Row = tuple[bytes, int, bytes, int, bytes, int]


class LastValue(NamedTuple):
    """A value, and the offset of its record. `producer_id` is that of a transaction that is still open."""

    offset: int
    value: bytes
    producer_id: int = NO_PRODUCER


Kept = tuple[bytes, LastValue]
"""A key and what is kept of it."""


class KeptRecords:
    """The last value of each key. For one thread at a time, whichever it is."""

    def __init__(self) -> None:
        self._waiting: list[tuple[bytes, int, int, bytes, int, bytes]] = []  # rows that are yet to be put in
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._database.execute(
            "CREATE TABLE kept (name BLOB, producer INTEGER, kind INTEGER, rest BLOB, offset INTEGER, value BLOB,"
            " PRIMARY KEY (name, producer, kind, rest)) WITHOUT ROWID"
        )
        self._database.execute("CREATE INDEX pending ON kept (producer) WHERE producer >= 0")
        self._database.execute("CREATE TABLE gone (name BLOB PRIMARY KEY) WITHOUT ROWID")

    def put(self, key: bytes, kept: LastValue) -> None:
        """The value of that key; of one that is pending, beside the one in effect."""
        kind, name, rest = _parts(key)
        self._put(name, kept.producer_id, kind, rest, kept.offset, kept.value)

    def keep_names(self, name: bytes) -> None:
        """The name stays, whatever becomes of its keys."""
        self._put(name, NO_PRODUCER, _OUTLIVING, b"", 0, b"")

    def end(self, name: bytes) -> None:
        """The name stays no longer than its keys."""
        self._settled().execute("DELETE FROM kept WHERE name = ? AND kind = ?", (name, _OUTLIVING))

    def remove(self, key: bytes) -> None:
        """The key has no value any more, nor a pending one."""
        kind, name, rest = _parts(key)
        self._settled().execute("DELETE FROM kept WHERE name = ? AND kind = ? AND rest = ?", (name, kind, rest))
        self._database.execute("INSERT OR IGNORE INTO gone VALUES (?)", (name,))

    def settle_pending(self, producer: int, take_effect: bool) -> list[bytes]:
        """Values that are pending for that producer take effect, unless something newer has, or are dropped. Return
        their names."""
        rows: list[_Row] = self._settled().execute(f"{_ROWS} WHERE producer = ?", (producer,)).fetchall()
        self._database.execute("DELETE FROM kept WHERE producer = ?", (producer,))
        self._database.executemany("INSERT OR IGNORE INTO gone VALUES (?)", {row[:1] for row in rows})
        if take_effect:
            self._database.executemany(
                "INSERT INTO kept VALUES (?, -1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET offset = excluded.offset,"
                " value = excluded.value WHERE offset < excluded.offset",
                [row[:5] for row in rows],
            )
        return [row[0] for row in rows]

    def names(self) -> list[bytes]:
        """All names, sorted."""
        return [name for (name,) in self._settled().execute("SELECT DISTINCT name FROM kept ORDER BY name")]

    def has(self, name: bytes) -> bool:
        """True if it is one of `names`."""
        return self._settled().execute("SELECT 1 FROM kept WHERE name = ? LIMIT 1", (name,)).fetchone() is not None

    def had(self, name: bytes) -> bool:
        """True if any record was about that name, though nothing may be kept of it."""
        sql = "SELECT 1 FROM gone WHERE name = ?"
        return self.has(name) or self._database.execute(sql, (name,)).fetchone() is not None

    def of(self, name: bytes) -> list[Kept]:
        """Yield the kept values of one name. Pending values come after effective ones."""
        return _records(self._settled().execute(f"{_ROWS} WHERE name = ? {_ORDER}", (name,)))

    def by_name(self) -> Iterator[tuple[bytes, list[Kept]]]:
        """The kept values, by name."""
        rows = self._settled().execute(f"{_ROWS} {_ORDER}")
        return ((name, _records(own)) for name, own in groupby(rows, itemgetter(0)))

    def _put(self, name: bytes, producer: int, kind: int, rest: bytes, offset: int, value: bytes) -> None:
        self._waiting.append((name, producer, kind, rest, offset, value))
        if len(self._waiting) >= _AT_ONCE:
            self._settled()

    def _settled(self) -> sqlite3.Connection:
        """The database, with all that was put in."""
        if self._waiting:
            self._database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?)", self._waiting)
            self._waiting.clear()
        return self._database


def _parts(key: bytes) -> tuple[int, bytes, bytes]:
    """Record type, name and the rest of a key."""
    kind, size = HEAD.unpack_from(key)
    at = HEAD.size + size
    return kind, key[HEAD.size : at], key[at:]


def _records(rows: Iterable[_Row]) -> list[Kept]:
    return [
        (HEAD.pack(kind, len(name)) + name + rest, LastValue(offset, value, producer))
        for name, kind, rest, offset, value, producer in rows
        if kind != _OUTLIVING
    ]
