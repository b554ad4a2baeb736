"""The last record of a topic before a time, held against the last line of the merged range that ends there."""

import json
import random
from typing import cast

import pytest

from kafkafs.errors import CorruptData, NotFound
from kafkafs.view.node import FileNode
from tests.log.making import made, write_partition
from tests.view.test_merged import partition
from tests.view.trees import cat, node, tree


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_last_line_of_the_range_before(tmp_path, seed):
    """Whatever the times are: equal ones, such as go back, and none at all before it."""
    chance = random.Random(seed)
    count = chance.choice([1, 2, 5])
    for number in range(count):
        log = partition(chance, chance.choice([0, 1, 300]), chance.choice([0, 5, 500]))
        write_partition(tmp_path, log, f"t-{number}")
    root = tree(tmp_path)
    for time_ms in [1, 1000, 10**6, *(chance.randrange(990, 2000) for _ in range(20))]:
        for suffix in (".jsonl", ".decoded.jsonl"):
            lines = cat(root, f".topics/t/by-time/0..{time_ms}{suffix}").splitlines(True)
            name = f".topics/t/by-time/before-{time_ms}{suffix}"
            if lines:
                assert cat(root, name) == lines[-1], (time_ms, suffix)
                about = cast(FileNode, node(root, name)).attributes()
                assert (about.size, about.mtime_ns) == (len(lines[-1]), json.loads(lines[-1])["timestamp"] * 10**6)
            else:
                with pytest.raises(NotFound):
                    cat(root, name)


def test_back_from_the_end_counts_from_the_newest_record_of_all(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1000, 2000])]}, "t-0")
    write_partition(tmp_path, {0: [made(0, [500_000, 600_000])]}, "t-1")
    line = json.loads(cat(tree(tmp_path), ".topics/t/by-time/before-end-1m.jsonl"))
    assert (line["partition"], line["timestamp"]) == (1, 500_000)
    line = json.loads(cat(tree(tmp_path), ".topics/t/by-time/before-end-9m.jsonl"))
    assert (line["partition"], line["timestamp"]) == (0, 2000)


def test_windows_are_names_here_too(tmp_path):
    for number in range(2):
        write_partition(tmp_path, {0: [made(0, [60_000 * minute + number for minute in range(1, 9)])]}, f"t-{number}")
    root = tree(tmp_path)
    for name, same in (("180000..+2m", "180000..300000"), ("240000-2m..+1m", "120000..300000"),
                       ("end-2m..+1m", "360001..420001"), ("60000-5m..+1m", "0..120000")):  # fmt: skip
        text = cat(root, f".topics/t/by-time/{name}.jsonl")
        assert text == cat(root, f".topics/t/by-time/{same}.jsonl"), name
        assert text


def test_an_error_names_its_partition(tmp_path):
    """It is told where damage may hide what decides which partition comes last."""
    write_partition(tmp_path, {0: [made(0, [1400])]}, "t-0")
    batches = [made(0, [2000]), made(1, [1000]), made(2, [1500])]
    log = write_partition(tmp_path, {0: batches}, "t-1") / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[len(batches[0].data) + len(batches[1].data) - 1] ^= 1
    log.write_bytes(bytes(data))
    with pytest.raises(CorruptData, match="t-1"):
        cat(tree(tmp_path), ".topics/t/by-time/before-3000.jsonl")
