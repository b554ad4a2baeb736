"""`.batches.jsonl` of points and ranges: every batch once, damage among them, in bounded memory."""

import json
import random
from pathlib import Path

from tests.fuse import model
from tests.kafka.dataset import Dataset
from tests.log.making import made, spread, write_partition
from tests.view.trees import assert_random_access, cat, opened, tree

BATCHES = [made(number * 3, [1000 + number] * 3, size=number) for number in range(12)]


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def lines(root, path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in cat(root, path).splitlines()]


def test_every_batch_has_its_line(stopped):
    """Whoever looks for a batch by position or offset must find each of them, once."""
    root = tree(stopped.path)
    for topic in ("segments", "transactions", "compacted", "codec-zstd", "idempotent"):
        found = lines(root, f"{topic}-0/by-offset/0...batches.jsonl")
        want = model.batches(stopped.path / f"{topic}-0")
        places = [(line["segment"], line["position"], line["size"], line["lastOffset"]) for line in found]
        assert places == [(batch.file.name, batch.position, batch.size, batch.last) for batch in want]
        assert all(line["valid"] for line in found)


def test_ranges_cut_the_whole(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 5))
    root, chance = tree(tmp_path), random.Random(1)
    for _ in range(40):
        start, end = sorted(chance.choices(range(40), k=2))
        found = lines(root, f"t-0/by-offset/{start}..{end}.batches.jsonl")
        assert [line["baseOffset"] for line in found] == [
            batch.base for batch in BATCHES if batch.last >= start and batch.base < end and start < end
        ]
    whole = cat(root, "t-0/by-offset/0...batches.jsonl")
    assert_random_access(opened(root, "t-0/by-offset/0...batches.jsonl"), whole, reads=30)


def test_damage_is_shown_where_it_stands(tmp_path):
    """With its verdict, and what cannot be read as a header as one line."""
    path = write_partition(tmp_path, spread(BATCHES, 6)) / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    at = sum(len(batch.data) for batch in BATCHES[:2])
    data[at + 61] ^= 1
    behind = at + len(BATCHES[2].data) + len(BATCHES[3].data)
    data[behind : behind + len(BATCHES[4].data)] = b"\xff" * len(BATCHES[4].data)
    path.write_bytes(data)
    found = lines(tree(tmp_path), "t-0/by-offset/0...batches.jsonl")
    assert [(line["valid"], line["size"]) for line in found] == [
        (number not in (2, 4), len(batch.data)) for number, batch in enumerate(BATCHES)
    ]
    assert sum(int(str(line["size"])) for line in found) == sum(len(batch.data) for batch in BATCHES)


def test_a_segment_of_noise_takes_no_memory(tmp_path):
    """Regression: all damage was read at once, a gigabyte where a closed segment is lost."""
    directory = write_partition(tmp_path, {0: [], 6: BATCHES[2:]})
    with open(directory / f"{0:020}.log", "r+b") as file:
        file.write(b"\xff" * 100)
        file.truncate(512 << 20)
    root = tree(tmp_path)
    lines(root, "t-0/by-offset/10.batches.jsonl")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = peak()
    found = lines(root, "t-0/by-offset/0...batches.jsonl")
    assert peak() - before < 128 << 20
    assert (found[0]["position"], found[0]["size"], found[0]["valid"]) == (0, 512 << 20, False)
    assert len(found) == 11


def test_old_formats_have_a_line_for_an_outermost_message():
    data = Dataset("2.8.0", "stopped")
    for topic in ("v0-none", "v1-gzip"):
        found = lines(tree(data.path), f"{topic}-0/by-offset/0...batches.jsonl")
        want = model.batches(data.path / f"{topic}-0")
        assert [(line["position"], line["lastOffset"]) for line in found] == [(b.position, b.last) for b in want]
        assert {line["magic"] for line in found} == {int(topic[1])}
        assert {line["producerId"] for line in found} == {None}
