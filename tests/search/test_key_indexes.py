"""Key indexes that are broken, stale or of other logs: they cost time, and no answer."""

import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from kafkafs.log.log import Log
from tests.log.making import partition_of, write_partition
from tests.log.reading import reader
from tests.search.test_key_building import indexed, segments, write_indexes
from tests.search.test_partition_keys import assert_like_a_dictionary, batch, last_of


@pytest.fixture
def log(tmp_path: Path) -> Log:
    write_partition(tmp_path / "data", segments(4))
    found = partition_of(tmp_path / "data").log()
    write_indexes(found, tmp_path / "i")
    return found


def right(log: Log, place: Path) -> None:
    assert_like_a_dictionary(indexed(log, place), reader(log))


def test_any_damage_is_found_out(log, tmp_path):
    """Bits flipped anywhere, files cut anywhere, zeros, nothing: the same answers."""
    chance = random.Random(4)
    for file in (tmp_path / "i" / "t-0").iterdir():
        whole = file.read_bytes()
        for number in range(24):
            broken, at = bytearray(whole), chance.randrange(len(whole))
            if number % 3:
                broken[at] ^= 1 << chance.randrange(8)
            else:
                del broken[at:]
            file.write_bytes(broken)
            right(log, tmp_path / "i")
        for content in (b"", bytes(len(whole)), whole + b"x"):
            file.write_bytes(content)
            right(log, tmp_path / "i")
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


def test_new_indexes_are_found_by_a_mount_that_stands(log, tmp_path, monkeypatch):
    """`reindex --keys` runs every night beside it."""
    monkeypatch.setattr("kafkafs.search.key_indexes._FRESH_S", 0.0)
    (tmp_path / "later").mkdir()
    keys = indexed(log, tmp_path / "later")
    assert last_of(keys, reader(log), b"none") is None
    write_indexes(log, tmp_path / "later")
    assert keys.release()
    assert last_of(keys, reader(log), b"none") is None
    assert keys._known[0].has_index
