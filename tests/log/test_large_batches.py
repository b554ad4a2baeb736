"""Batches of which only the header is needed are checked in pieces: the same answers as if they were read whole."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import KafkafsError
from kafkafs.log import batch_runs, large_batches
from tests.log.making import made, write_partition
from tests.view.trees import cat, node, tree

SMALL = 20_000
PATHS = [
    *(f"t-0/by-offset/{offset}{suffix}" for offset in (0, 3, 5, 9, 12, 14)
      for suffix in ("", ".jsonl", ".batches.jsonl", ".explain", ".value")),
    *(f"t-0/by-offset/{name}{suffix}" for name in ("0..", "4..11", "9..")
      for suffix in ("", ".jsonl", ".batches.jsonl")),
    *(f"t-0/by-time/{name}.jsonl" for name in ("1003", "1009", "0..", "1004..1010", "latest", "before-1012")),
    "t-0/by-key/k5.jsonl", "t-0/by-key/nobody.jsonl", "t-0/info.json", "t-0/latest", "t-0/earliest",
]  # fmt: skip


def log(chance: random.Random) -> bytes:
    """Small and large batches, plain and packed, one of format v1."""
    batches, offset = [], 0
    for number in range(8):
        size = chance.choice([20, 30_000, 60_000])
        how = {"codec": 1, "compress": gzip.compress} if chance.random() < 0.3 else {}
        batches.append(made(offset, [1000 + offset, 1001 + offset], size=size, **how))
        offset += 2
        assert number >= 0
    return b"".join(batch.data for batch in batches)


def answers(place: Path, **options: Any) -> list[tuple[str, object]]:
    root, found = tree(place, **options), []
    for path in PATHS:
        try:
            at = node(root, path)
            found.append((path, at.target() if hasattr(at, "target") else cat(root, path)))
        except KafkafsError as error:
            found.append((path, (type(error), str(error))))
    return found


@pytest.mark.parametrize("max_batch", [50_000, 1 << 28])
@pytest.mark.parametrize("seed", range(4))
def test_a_check_in_pieces_finds_what_a_whole_one_does(tmp_path, monkeypatch, seed, max_batch):
    """Sound batches, damaged ones, cut ones, and such as claim too much."""
    chance = random.Random(seed)
    directory = write_partition(tmp_path, {0: []}, indexed=False)
    path, data = directory / f"{0:020}.log", bytearray(log(chance))
    for change in ("none", "byte", "byte", "cut", "size"):
        changed = bytearray(data)
        if change == "byte":
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        elif change == "cut":
            del changed[chance.randrange(len(changed)) :]
        elif change == "size":
            changed[8:12] = chance.randrange(70_000).to_bytes(4, "big")
        path.write_bytes(changed)
        whole = answers(tmp_path, max_batch=max_batch)
        with monkeypatch.context() as patch:
            patch.setattr(batch_runs, "IN_PIECES", SMALL)
            patch.setattr(large_batches, "PIECE", 16 << 10)
            assert answers(tmp_path, max_batch=max_batch) == whole, change


def test_no_read_takes_the_memory_of_a_large_batch(tmp_path, monkeypatch, calls):
    """Regression: a batch of a gigabyte took a gigabyte for each raw point, `info.json`, `.batches.jsonl` and key."""
    monkeypatch.setattr(batch_runs, "IN_PIECES", 1 << 20)
    batches = [made(0, [1000]), made(1, [1001], size=9 << 20), made(2, [1002])]
    write_partition(tmp_path, {0: batches})
    reads = calls(DataFile, "read_long")
    root = tree(tmp_path, max_batch=4 << 20)
    lines = cat(root, "t-0/by-offset/0...batches.jsonl").splitlines()
    assert [b'"valid":true' in line for line in lines] == [True] * 3
    assert cat(root, "t-0/by-offset/1.batches.jsonl").splitlines() == lines[1:2]
    assert b'"latestOffset": 2' in cat(root, "t-0/info.json")
    assert cat(root, "t-0/by-offset/2.jsonl")
    for path in ("t-0/by-offset/1.jsonl", "t-0/by-key/k.jsonl", "t-0/by-offset/0...jsonl"):
        with pytest.raises(KafkafsError, match="max_batch"):
            cat(root, path)
    node(root, "t-0/by-offset/1").attributes()
    assert max(size for _, _, size in reads) <= 2 << 20
