"""Keys beside transactions that commit, abort and stay open, with key indexes made meanwhile, against a dictionary."""

import random
from pathlib import Path

import pytest

from kafkafs.search.partition_keys import PartitionKeys
from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import Record
from tests.log.making import Made, partition_of, write_partition
from tests.log.transactional import TRANSACTIONAL, marker
from tests.search.test_key_indexes import indexed, write_indexes
from tests.search.test_partition_keys import ISOLATIONS, batch, fresh, grow, history_of, last_of

KEYS = [b"a", b"b", b"c", b"d"]


class Producers:
    """What producers and a coordinator write; what is open, aborted, and under which key, by offset."""

    def __init__(self, path: Path) -> None:
        self.path, self.base, self.end = path, 0, 0
        self.keys: dict[int, bytes] = {}
        self.open: dict[int, list[int]] = {}
        self.aborted: set[int] = set()

    def plain(self, key: bytes) -> None:
        self._write(batch(self.end, [key]), key)

    def within(self, producer: int, key: bytes) -> None:
        """A record of a transaction."""
        self.open.setdefault(producer, []).append(self.end)
        content = record_bytes(Record(self.end, 5, 0, key, b"x"), self.end, 5)
        self._write(Made(v2_around(content, 1, self.end, header=(TRANSACTIONAL, 0, 5, 5, producer, 0, 0, 1)), ()), key)

    def finish(self, producer: int, commit: bool) -> None:
        offsets = self.open.pop(producer)
        if not commit:
            self.aborted.update(offsets)
        self._write(marker(self.end, producer, commit), None)

    def roll(self) -> None:
        self.base = self.end

    def _write(self, made: Made, key: bytes | None) -> None:
        grow(self.path, self.base, made)
        if key is not None:
            self.keys[self.end] = key
        self.end += 1

    def visible(self, isolation: str, key: bytes) -> list[int]:
        """The offsets of the key's records that a consumer gets."""
        committed = isolation == "read_committed"
        stable = min((offsets[0] for offsets in self.open.values()), default=self.end) if committed else self.end
        hidden = self.aborted if committed else set()
        return [
            offset for offset, each in self.keys.items() if each == key and offset < stable and offset not in hidden
        ]


@pytest.mark.parametrize("seed", range(8))
def test_both_isolations_see_what_a_consumer_would(tmp_path, seed):
    """One index serves both, and whoever asked before a transaction ended hears of its end."""
    chance, writer = random.Random(seed), Producers(write_partition(tmp_path / "data", {}, indexed=False))
    writer.plain(b"a")
    partition = partition_of(tmp_path / "data")
    (tmp_path / "indexes").mkdir()
    keys: dict[str, PartitionKeys] = {each: indexed(partition.log(), tmp_path / "indexes") for each in ISOLATIONS}
    for _ in range(60):
        move, producer = chance.random(), chance.randrange(3)
        if move < 0.25:
            writer.plain(chance.choice(KEYS[:3]))
        elif move < 0.6:
            writer.within(producer, chance.choice(KEYS[:3]))
        elif move < 0.85 and producer in writer.open:
            writer.finish(producer, chance.random() < 0.5)
        elif move < 0.92:
            writer.roll()
        else:
            partition.look_again()
            write_indexes(partition.log(), tmp_path / "indexes")
        for isolation in ISOLATIONS:
            seen, key = fresh(partition, isolation), chance.choice(KEYS)
            wanted = writer.visible(isolation, key)
            assert last_of(keys[isolation], seen, key) == (wanted[-1] if wanted else None), (isolation, key)
            assert history_of(keys[isolation], seen, key) == wanted
