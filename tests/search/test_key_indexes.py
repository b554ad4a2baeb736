"""Key indexes that are broken, stale or of other logs: they cost time, and no answer."""

import random
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from kafkafs.disk.budget import Budget
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.format.batch import walk
from kafkafs.format.key_index import Identity, encode, hashed
from kafkafs.log.log import Log
from kafkafs.search.key_indexes import KeyIndex, KeyIndexes, build, identity, places
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from tests.counting import counted
from tests.format.batch_maker import v2_around
from tests.kafka.dataset import Dataset
from tests.log.making import Made, partition_of, write_partition
from tests.log.reading import look, reader
from tests.log.transactional import TRANSACTIONAL, data, marker
from tests.search.test_partition_keys import ISOLATIONS, assert_like_a_dictionary, batch, last_of


@pytest.fixture
def log(tmp_path: Path) -> Log:
    write_partition(tmp_path / "data", segments(4))
    found = partition_of(tmp_path / "data").log()
    write_indexes(found, tmp_path / "i")
    return found


def right(log: Log, place: Path, step: int = 1) -> None:
    assert_like_a_dictionary(indexed(log, place), reader(log), step)


def test_any_damage_is_found_out(log, tmp_path):
    """Bits flipped anywhere, files cut anywhere, zeros, nothing: the same answers."""
    chance = random.Random(4)
    for file in (tmp_path / "i" / "t-0").iterdir():
        whole = file.read_bytes()
        for number in range(6):
            broken, at = bytearray(whole), chance.randrange(len(whole))
            if number % 3:
                broken[at] ^= 1 << chance.randrange(8)
            else:
                del broken[at:]
            file.write_bytes(broken)
            right(log, tmp_path / "i", step=7)
        for content in (b"", bytes(len(whole)), whole + b"x"):
            file.write_bytes(content)
            right(log, tmp_path / "i", step=7)
        file.write_bytes(whole)


def test_an_index_under_the_name_of_another_is_not_used(log, tmp_path):
    """Somebody restored a backup the wrong way round."""
    files = sorted((tmp_path / "i" / "t-0").iterdir())
    first = files[0].read_bytes()
    for file, following in pairwise(files):
        shutil.copy(following, file)
    files[-1].write_bytes(first)
    right(log, tmp_path / "i")


def test_an_index_of_another_log_is_not_used(log, tmp_path):
    """The same offsets and sizes, other keys: as another cluster's topic of the same name has them."""
    for base, batches in segments(4).items():
        other = [batch(made.base, [b"%04d" % (each.offset * 13 % 1700) for each in made.records]) for made in batches]
        write_partition(tmp_path / "other", {base: other})
    other_log = partition_of(tmp_path / "other").log()
    right(other_log, tmp_path / "i")
    assert last_of(indexed(other_log, tmp_path / "i"), reader(other_log), b"0013") is not None


def test_what_is_no_file_is_no_index(log, tmp_path):
    for file in (tmp_path / "i" / "t-0").iterdir():
        file.unlink()
        file.mkdir()
    (tmp_path / "i" / "t-0" / "x.keys").write_bytes(b"x")
    (tmp_path / "i" / "t-0" / "\u0665-1-x.keys").write_bytes(b"x")
    right(log, tmp_path / "i")
    shutil.rmtree(tmp_path / "i" / "t-0")
    right(log, tmp_path / "i")


def test_an_index_that_is_cut_while_it_is_in_use(log, tmp_path):
    """What was opened may change under the mount; the next lookup finds out."""
    keys, seen = indexed(log, tmp_path / "i"), reader(log)
    assert last_of(keys, seen, b"none") is None
    for file in (tmp_path / "i" / "t-0").iterdir():
        with open(file, "r+b") as opened:
            opened.truncate(4096)
    assert_like_a_dictionary(keys, seen)


def test_new_indexes_are_found_by_a_mount_that_stands(log, tmp_path):
    """`reindex --keys` runs every night beside it."""
    (tmp_path / "later").mkdir()
    keys = indexed(log, tmp_path / "later")
    assert last_of(keys, reader(log), b"none") is None
    write_indexes(log, tmp_path / "later")
    assert keys.release()
    assert last_of(keys, reader(log), b"none") is None
    assert keys.known[0].has_index


def write_indexes(log: Log, place: Path) -> list[str]:
    """What `kafkafs reindex --keys` leaves of one partition: the names of its files."""
    names = []
    (place / log.name.directory).mkdir(parents=True, exist_ok=True)
    for segment in log.segments:
        own = identity(segment)
        made = build(look(log, isolation="read_committed"), segment, own)
        if made is not None:
            (place / log.name.directory / own.file_name).write_bytes(made)
            names.append(own.file_name)
    return names


def indexed(log: Log, place: Path) -> PartitionKeys:
    return PartitionKeys(Budget(KEY_MEMORY), KeyIndexes(LocalDirectory(str(place)), log.name.directory, fresh_s=0.0))


def test_indexes_of_real_logs_answer_as_a_scan_does(stopped: Dataset, tmp_path):
    """Every format and codec, compaction, transactions: both isolation levels, from one file a segment."""
    for name in stopped.partitions():
        log = partition_of(stopped.path, name.directory).log()
        write_indexes(log, tmp_path)
        for isolation in ISOLATIONS:
            model = {each.key: each.offset for each in stopped.records(*name, isolation) if each.key is not None}
            seen, keys = reader(log, isolation=isolation), indexed(log, tmp_path)
            for key in random.Random(2).sample(sorted(model), min(len(model), 60)):
                assert last_of(keys, seen, key) == model[key], (name, isolation, key)
            assert last_of(keys, seen, b"\0no such key") is None


def segments(count: int = 8) -> dict[int, Sequence[Made]]:
    """Segments of 300 records with some keys of their own and some that all share."""
    made: dict[int, Sequence[Made]] = {}
    for number in range(count):
        base = number * 300
        made[base] = [
            batch(base + at * 100, [b"%d" % ((base + at * 100 + i) * 7 % 1700) for i in range(100)]) for at in range(3)
        ]
    return made


def test_a_lookup_with_indexes_reads_next_to_nothing(tmp_path):
    """Not even the first one: no closed segment is scanned."""
    write_partition(tmp_path / "data", segments())
    log = partition_of(tmp_path / "data").log()
    assert len(write_indexes(log, tmp_path / "indexes")) == 7
    seen, keys = reader(log), indexed(log, tmp_path / "indexes")
    assert last_of(keys, seen, b"none") is None
    assert all(known.has_index for base, known in keys.known.items() if base < 2100)
    _, missing = counted(lambda: last_of(keys, seen, b"none"))
    assert missing <= 7 * 4096
    assert_like_a_dictionary(keys, seen)


def test_a_segment_with_an_open_transaction_has_no_index(tmp_path):
    """What of it will be visible is not settled."""
    path = write_partition(tmp_path, {0: [batch(0, [b"a"]), data(1, 7)], 2: [batch(2, [b"b"])]}, indexed=False)
    assert write_indexes(partition_of(tmp_path).log(), tmp_path / "i") == []
    with open(path / f"{2:020}.log", "ab") as file:
        file.write(marker(3, 7, True).data)
    assert len(write_indexes(partition_of(tmp_path).log(), tmp_path / "i")) == 1


def test_an_aborted_record_does_not_hide_a_committed_one(tmp_path):
    aborted = v2_around(b"\x10\0\0\0\x02a\x02x\0", 1, 1, header=(TRANSACTIONAL, 0, 5, 5, 7, 0, 0, 1))
    assert walk(aborted, 0).rows["valid"][0] == 1
    write_partition(tmp_path, {0: [batch(0, [b"a"]), Made(aborted, ()), marker(2, 7, False)], 3: [batch(3, [b"b"])]})
    log = partition_of(tmp_path).log()
    assert len(write_indexes(log, tmp_path / "i")) == 1
    for isolation, offset in (("read_uncommitted", 1), ("read_committed", 0)):
        assert last_of(indexed(log, tmp_path / "i"), reader(log, isolation=isolation), b"a") == offset


def test_a_corrupt_segment_has_no_index(tmp_path):
    """A scan says what is wrong, and answers what it can."""
    path = write_partition(tmp_path / "data", segments(3))
    content = bytearray((path / f"{300:020}.log").read_bytes())
    content[100] ^= 1
    (path / f"{300:020}.log").write_bytes(content)
    assert [name[:20] for name in write_indexes(partition_of(tmp_path / "data").log(), tmp_path / "i")] == [f"{0:020}"]


SEEDS = (bytes(16), bytes(range(16)))


def on_disk(place: Path, index: KeyIndex, damage: int | None = None) -> KeyIndex:
    """The same rows in a file."""
    name = f"{len(list(place.iterdir()))}.keys"
    data = bytearray(encode(index.rows, index.seed, Identity(0, 0, 0)))
    if damage is not None:
        data[4096 + damage] ^= 1
    (place / name).write_bytes(data)
    file = LocalDirectory(str(place)).open_now(name)
    return index._replace(rows=np.ascontiguousarray(index.rows[::511]), file=file)


def test_all_places_of_a_key_newest_first(tmp_path):
    """Pages and indexes of all sizes; hashes that hundreds of rows share, as a hostile producer might want."""
    chance = random.Random(7)
    for _ in range(40):
        indexes, wanted = [], []
        for number in range(chance.randrange(1, 8)):
            seed = chance.choice(SEEDS)
            own = hashed(b"key", seed)
            count = chance.choice([0, 1, 5, 511, 700, 3000])
            offsets = sorted(chance.sample(range(100_000), count))
            share = chance.choice([0, 0.01, 0.5])
            hashes = [own if chance.random() < share else chance.randrange(2**31) for _ in offsets]
            rows = np.array(sorted(h << 32 | o for h, o in zip(hashes, offsets, strict=True)), np.int64)
            index = KeyIndex(Mock(), seed, 1000 * number, rows, count)
            indexes.append(on_disk(tmp_path, index) if chance.random() < 0.5 else index)
            mine = sorted((o for h, o in zip(hashes, offsets, strict=True) if h == own), reverse=True)
            wanted += [(indexes[-1], 1000 * number + offset) for offset in mine]
        found = list(places(indexes, b"key"))
        assert [offset for _, offset in found] == [offset for _, offset in wanted]
        assert all(a is b for (a, _), (b, _) in zip(found, wanted, strict=True))


def test_a_damaged_page_says_so_once(tmp_path):
    rows = np.array(sorted(hashed(b"%d" % number, SEEDS[0]) << 32 | number for number in range(400)), np.int64)
    index = KeyIndex(Mock(), SEEDS[0], 0, rows, len(rows))
    indexes = [on_disk(tmp_path, index, damage=77), index]
    assert [offset for _, offset in places(indexes, b"5")] == [None, 5]
