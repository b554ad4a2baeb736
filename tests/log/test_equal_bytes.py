"""Stretches of equal bytes: their ends, their counts, and a comparison that is the same with them and without."""

import os
import random
import shutil
import struct
from pathlib import Path

import pytest

from kafkafs.format.differences import SAME
from kafkafs.log import equal_bytes
from kafkafs.log.look import Reader
from kafkafs.spark.diff.comparison import steps
from tests.log import reading
from tests.log.making import Made, log_of, made, spread, write_partition
from tests.log.old_clients import batch as old_batch

CONTROL = 0x20


def reader(data: Path) -> Reader:
    return reading.reader(log_of(data))


@pytest.fixture
def short(monkeypatch):
    """Every segment is worth it, and is read in pieces of a few batches."""
    monkeypatch.setattr(equal_bytes, "LEAST", 0)
    monkeypatch.setattr(equal_bytes, "READ", 300)


def copies(place: Path, batches: list[Made], most: int = 100) -> tuple[Path, Path]:
    """Two equal data directories."""
    write_partition(place / "old", spread(batches, most))
    shutil.copytree(place / "old", place / "new")
    return place / "old", place / "new"


def change(data: Path, at: int, byte: int, segment: int = 0) -> None:
    log = sorted((data / "t-0").glob("*.log"))[segment]
    content = bytearray(log.read_bytes())
    content[at % len(content)] ^= byte
    log.write_bytes(content)


def stretch(old: Path, new: Path, start: int = 0, end: int = 1 << 40) -> tuple[int, int, int]:
    found = reader(old).equal_stretch(reader(new), start, end)
    return found.start, found.end, found.records


BATCHES = [made(at, [1, 2, 3]) for at in range(0, 60, 3)]
SIZE = len(BATCHES[0].data)


def test_equal_copies_are_passed_to_their_end(tmp_path, short):
    old, new = copies(tmp_path, BATCHES)
    assert stretch(old, new) == (0, 60, 60)
    assert stretch(old, new, 6, 30) == (6, 30, 24)
    assert stretch(old, new, 7, 29) == (9, 27, 18), "the window begins and ends within a batch"


def test_a_stretch_ends_before_the_first_change_and_before_damage_of_both(tmp_path, short):
    old, new = copies(tmp_path, BATCHES)
    change(new, 10 * SIZE - 1, 1)
    start, end, records = stretch(old, new)
    assert start == 0 < end == records <= 27
    change(old, 10 * SIZE - 1, 1)
    assert stretch(old, new) == (0, 27, 27), "the bytes are the same, and a CRC is wrong"


def test_control_batches_are_passed_and_not_counted(tmp_path, short):
    batches = [made(at, [1], attributes=CONTROL if at % 3 == 0 else 0) for at in range(30)]
    assert stretch(*copies(tmp_path, batches), 1) == (1, 30, 20)


def test_copies_may_stand_at_different_positions(tmp_path, short):
    write_partition(tmp_path / "old", {0: BATCHES})
    write_partition(tmp_path / "new", {9: BATCHES[3:]})
    assert stretch(tmp_path / "old", tmp_path / "new", 9) == (9, 60, 51)


def test_large_batches_are_passed(tmp_path, short):
    batches = [made(at, [1] * 3, size=size) for at, size in zip(range(0, 30, 3), [10, 5000] * 5, strict=True)]
    assert stretch(*copies(tmp_path, batches)) == (0, 30, 30)


def test_old_clients_batches_are_left_to_the_walk(tmp_path, short):
    """They hold more offsets than they claim."""
    batches = [old_batch(2, [2, 3, 4], 0, last=2), old_batch(4, [4, 5], 1, last=4), old_batch(5, [5], 2, last=5)]
    assert stretch(*copies(tmp_path, batches)) == (0, 0, 0)


def _differences(old: Path, new: Path, windows: list[tuple[int, int]]) -> tuple[list[int], list[int], int, set[str]]:
    reported: set[str] = set()
    found = [each for window in windows for each in steps(reader(old), reader(new), *window, reported.add)]
    olds = [int(o) for each in found for o in each.old.rows["offset"][each.old_marks != SAME]]
    news = [int(o) for each in found for o in each.new.rows["offset"][each.new_marks != SAME]]
    return olds, news, sum(each.equal for each in found), reported


def trial(place: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that were cut, changed and rolled differently: the same differences, with stretches and without."""
    chance, batches, at = random.Random(seed), list[Made](), 0
    for _ in range(chance.choice([3, 30])):
        count = chance.choice([1, 1, 3, 8])
        control = CONTROL if chance.random() < 0.2 else 0
        batches.append(made(at, [5] * count, chance.choice([0, 30, 30, 900]), attributes=control))
        at += count + chance.choice([0, 0, 0, 2])
    old, new = copies(place, batches, chance.choice([4, 100]))
    if chance.random() < 0.3:
        shutil.rmtree(new)
        first = chance.choice([0, 0, len(batches) // 2])
        write_partition(new, spread(batches[first:], chance.choice([3, 7, 100])))
    for _ in range(chance.choice([0, 1, 1, 2])):
        where, byte, segment = chance.randrange(1 << 20), 1 << chance.randrange(8), 0
        for side in chance.choice([(old,), (new,), (old, new)]):
            change(side, where, byte, segment)
    if chance.random() < 0.2:
        last = sorted((new / "t-0").glob("*.log"))[-1]
        os.truncate(last, chance.randrange(last.stat().st_size + 1))
    if chance.random() < 0.2:
        last = sorted((old / "t-0").glob("*.log"))[-1]
        last.write_bytes(last.read_bytes() + struct.pack(">q", at) + bytes(chance.randrange(80)))
    cut = chance.choice([0, 0, chance.randrange(at)])
    windows = [(0, cut), (cut, 1 << 40)]
    monkeypatch.setattr(equal_bytes, "LEAST", 1 << 60)
    expected = _differences(old, new, windows)
    monkeypatch.setattr(equal_bytes, "LEAST", 0)
    monkeypatch.setattr(equal_bytes, "READ", chance.choice([100, 300, 4000]))
    assert _differences(old, new, windows) == expected, seed


@pytest.mark.parametrize("seed", range(12))
def test_differences_are_those_of_a_walk(tmp_path, monkeypatch, seed):
    trial(tmp_path, seed, monkeypatch)
