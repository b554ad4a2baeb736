"""Finding a key in many tables, in memory and on disk, against a walk over all rows."""

import random
from pathlib import Path
from unittest.mock import Mock

import numpy as np

from kafkafs.disk.directory import Directory
from kafkafs.format.key_index import Identity, encode
from kafkafs.format.key_rows import hashed
from kafkafs.search.key_table import KeyTable, places

SEEDS = (bytes(16), bytes(range(16)))


def on_disk(place: Path, table: KeyTable, damage: int | None = None) -> KeyTable:
    """The same rows in a file."""
    name = f"{len(list(place.iterdir()))}.keys"
    data = bytearray(encode(table.rows, table.seed, Identity(0, 0, 0)))
    if damage is not None:
        data[4096 + damage] ^= 1
    (place / name).write_bytes(data)
    file = Directory(str(place)).open_now(name)
    return table._replace(rows=np.ascontiguousarray(table.rows[::511]), file=file)


def test_all_places_of_a_key_newest_first(tmp_path):
    """Pages and tables of all sizes; hashes that hundreds of rows share, as a hostile producer might want."""
    chance = random.Random(7)
    for _ in range(40):
        tables, wanted = [], []
        for number in range(chance.randrange(1, 8)):
            seed = chance.choice(SEEDS)
            own = hashed(b"key", seed)
            count = chance.choice([0, 1, 5, 511, 700, 3000])
            offsets = sorted(chance.sample(range(100_000), count))
            share = chance.choice([0, 0.01, 0.5])
            hashes = [own if chance.random() < share else chance.randrange(2**31) for _ in offsets]
            rows = np.array(sorted(h << 32 | o for h, o in zip(hashes, offsets, strict=True)), np.int64)
            table = KeyTable(Mock(), seed, 1000 * number, rows, count)
            tables.append(on_disk(tmp_path, table) if chance.random() < 0.5 else table)
            mine = sorted((o for h, o in zip(hashes, offsets, strict=True) if h == own), reverse=True)
            wanted += [(tables[-1], 1000 * number + offset) for offset in mine]
        found = list(places(tables, b"key"))
        assert [offset for _, offset in found] == [offset for _, offset in wanted]
        assert all(a is b for (a, _), (b, _) in zip(found, wanted, strict=True))


def test_a_damaged_page_says_so_once(tmp_path):
    rows = np.array(sorted(hashed(b"%d" % number, SEEDS[0]) << 32 | number for number in range(400)), np.int64)
    table = KeyTable(Mock(), SEEDS[0], 0, rows, len(rows))
    tables = [on_disk(tmp_path, table, damage=77), table]
    assert [offset for _, offset in places(tables, b"5")] == [None, 5]
