"""All partitions of a topic in a range of time, held against a naive merge of what each gives by itself."""

import gzip
import heapq
import itertools
import json
import operator
import os
import random
import shutil
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import cast

import pytest

from kafkafs.disk.blocking import time_slice
from kafkafs.disk.budget import DescriptorBudget
from kafkafs.errors import CorruptData, Unfinished, Vanished
from kafkafs.format.names import segment_file
from kafkafs.view import merged
from kafkafs.view.node import Content, FileNode
from kafkafs.view.streams import TextLimits
from kafkafs.view.tree import Root
from tests.disk.descriptors import few_descriptors
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.kafka.jars import RELEASES
from tests.log.making import Made, made, spread, write_partition
from tests.mounting import resident_bytes, wait_until
from tests.view.trees import assert_random_access, cat, node, opened, read, tree


def naive(texts: list[bytes]) -> bytes:
    """The lines of texts, always the first one of all that begin one, by time and then by text."""
    timed = [[(int(json.loads(line)["timestamp"]), line) for line in text.splitlines(True)] for text in texts]
    return b"".join(line for _, line in heapq.merge(*timed, key=operator.itemgetter(0)))


def own(root: Root, topic: str, count: int, name: str) -> list[bytes]:
    """What each partition has under a name by itself."""
    return [cat(root, f"{topic}-{number}/by-time/{name}") for number in range(count)]


def append(directory: Path, *batches: Made) -> None:
    with open(directory / segment_file(0, "log"), "ab") as log:
        log.write(b"".join(batch.data for batch in batches))


def partition(chance: random.Random, count: int, disorder: int) -> dict[int, list[Made]]:
    """A log of so many records, with gaps in its offsets, batches of all sizes and times that go back now and then."""
    batches, offset, time_ms = [], chance.randrange(3), 1000
    while count > 0:
        times = []
        for _ in range(min(count, chance.choice([1, 2, 30, 200]))):
            time_ms += chance.choice([0, 0, 1, 3])
            times.append(max(1, time_ms - chance.randrange(disorder + 1) * (chance.random() < 0.2)))
        how = {"codec": 1, "compress": gzip.compress} if chance.random() < 0.3 else {}
        batches.append(made(offset, times, size=chance.choice([0, 20, 300]), **how))
        offset += len(times) + chance.choice([0, 0, 4])
        count -= len(times)
    return spread(batches, chance.choice([3, 50]))


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_naive_merge_of_the_partitions_own_lines(tmp_path, seed):
    """Each line of each range, whatever the times are: equal ones, and such as go back."""
    chance = random.Random(seed)
    count = chance.choice([1, 2, 5, 9])
    for number in range(count):
        write_partition(tmp_path, partition(chance, chance.choice([0, 1, 700, 4000]), chance.choice([0, 5, 500])),
                        f"t-{number}")  # fmt: skip
    root = tree(tmp_path)
    times = [str(chance.randrange(900, 4000)) for _ in range(6)]
    names = ["0..", "earliest..", "latest..", f"{times[0]}..{times[1]}", f"..{times[2]}"[2:] + "..", "0..1001",
             f"before-{times[3]}..", f"{times[4]}..latest", f"before-{times[5]}..before-3000", "now.."]  # fmt: skip
    for name, suffix in itertools.product(names, (".jsonl", ".decoded.jsonl")):
        assert cat(root, f".topics/t/by-time/{name}{suffix}") == naive(own(root, "t", count, name + suffix)), name


def test_back_from_the_end_counts_from_the_newest_record_of_all(tmp_path):
    """A partition that has been quiet for long has nothing in the last minutes."""
    write_partition(tmp_path, {0: [made(0, [1000, 2000])]}, "t-0")
    write_partition(tmp_path, {0: [made(0, [500_000, 600_000])]}, "t-1")
    root = tree(tmp_path)
    offsets = [json.loads(line)["partition"] for line in cat(root, ".topics/t/by-time/end-2m...jsonl").splitlines()]
    assert offsets == [1, 1]
    assert cat(root, ".topics/t/by-time/0..end-2m.jsonl") == naive(own(root, "t", 2, "0..480000.jsonl"))


@pytest.mark.sampled
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("release", RELEASES)
def test_what_real_brokers_wrote(release, isolation):
    """All topics, internal ones too, records without a time, aborted ones, and whatever else a broker leaves."""
    data = Dataset(release, "stopped")
    root = tree(data.path, isolation=isolation)
    partitions: dict[str, list[int]] = {}
    for entry in root.entries():
        topic, _, number = entry.name.rpartition("-")
        if number.isdigit():
            partitions.setdefault(topic, []).append(int(number))
    assert len(partitions) > 5
    seen = 0
    for topic, numbers in partitions.items():
        for suffix in (".jsonl", ".decoded.jsonl"):
            texts = [_or_error(root, f"{topic}-{number}/by-time/0..{suffix}") for number in sorted(numbers)]
            if None not in texts:
                whole = naive([text for text in texts if text is not None])
                assert cat(root, f".topics/{topic}/by-time/0..{suffix}") == whole, topic
                seen += whole.count(b"\n")
    assert seen > 1000


def _or_error(root: Root, path: str) -> bytes | None:
    try:
        return cat(root, path)
    except CorruptData:
        return None


def test_any_read_gives_the_same_bytes(tmp_path):
    """Readers go back and forth; the text is made again from offsets that were remembered every megabyte."""
    chance = random.Random(3)
    for number in range(5):
        batches = [made(base, [base + chance.randrange(9) for _ in range(50)], size=800) for base in range(0, 1500, 50)]
        write_partition(tmp_path, spread(batches, 400), f"t-{number}")
    root = tree(tmp_path)
    whole = naive(own(root, "t", 5, "0...jsonl"))
    assert len(whole) > 6 * TextLimits().mark_every
    content = opened(root, ".topics/t/by-time/0...jsonl")
    assert_random_access(content, whole, reads=80)
    content.release()  # type: ignore[attr-defined]
    assert read(content) == whole


@pytest.mark.parametrize("value", [b"x" * 3_000_000, b"\xff" * 900_000, b'"' * 400_000, b"y" * 700_000])
def test_lines_longer_than_a_block(tmp_path, value):
    """They are not put beside the others, but handed through; and the order stays."""
    for number in range(3):
        records = [Record(offset, 10 * offset + number, 0, b"k", value if offset % 4 == number else b"v%d" % offset)
                   for offset in range(12)]  # fmt: skip
        batches = [Made(v2_batch([record]), (record,)) for record in records]
        write_partition(tmp_path, {0: batches}, f"t-{number}")
    root = tree(tmp_path)
    for suffix in (".jsonl", ".decoded.jsonl"):
        content = opened(root, f".topics/t/by-time/0..{suffix}")
        whole = naive(own(root, "t", 3, f"0..{suffix}"))
        assert read(content) == whole
        assert_random_access(content, whole, reads=12)


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_one_partition_in_error_ends_the_range_with_it(tmp_path, caplog):
    """After every line in front of it, and none behind; the log names the partition. Or it is skipped, as asked."""
    for number in range(3):
        batches = [made(offset, [10 * offset + number]) for offset in range(300)]
        write_partition(tmp_path, {0: batches}, f"t-{number}")
    log = tmp_path / "t-1" / segment_file(0, "log")
    damage(log, sum(len(batch.data) for batch in [made(offset, [10 * offset + 1]) for offset in range(200)]) + 70)
    root = tree(tmp_path)
    before = naive([cat(root, "t-0/by-time/0..1991.jsonl"), cat(root, "t-1/by-offset/0..200.jsonl"),
                    cat(root, "t-2/by-time/0..1991.jsonl")])  # fmt: skip
    content = opened(root, ".topics/t/by-time/0...jsonl")
    assert bytes(content.read(0, 1 << 20)) == before
    assert json.loads(before.splitlines()[-1])["offset"] == 199
    with pytest.raises(CorruptData, match="t-1"):
        content.read(len(before), 100)
    assert "t-1" in caplog.text
    skipping = tree(tmp_path, corrupt_skip=True)
    assert cat(skipping, ".topics/t/by-time/0...jsonl") == naive(own(skipping, "t", 3, "0...jsonl"))


def test_a_partition_that_is_deleted_meanwhile(tmp_path, monkeypatch):
    """What is held open is read to its end, as of one partition; what cannot be is an error, never a shorter text."""
    monkeypatch.setattr(merged, "HELD", 2)
    for number in range(2):
        batches = [made(base, [base + number] * 20, size=3000) for base in range(0, 2000, 20)]
        write_partition(tmp_path, spread(batches, 20), f"t-{number}")
    budget = DescriptorBudget()
    root = tree(tmp_path, descriptors=budget)
    whole = naive(own(root, "t", 2, "0...jsonl"))
    content = opened(root, ".topics/t/by-time/0...jsonl")
    shutil.rmtree(tmp_path / "t-1")
    budget.release()
    got = bytes(content.read(0, len(whole)))
    assert 1_000_000 < len(got) < len(whole)
    assert whole.startswith(got)
    with pytest.raises(Vanished, match="t-1"):
        content.read(len(got), 1)


def reported(root: Root, name: str = "0...jsonl") -> tuple[int, Content]:
    """The size that is told, and what is opened then."""
    file = cast(FileNode, node(root, f".topics/t/by-time/{name}"))
    return file.attributes().size, file.open()


@pytest.mark.parametrize("name", ["0...jsonl", "1200..2000.jsonl", "0...decoded.jsonl", "now...jsonl"])
@pytest.mark.parametrize("limit", [8 << 20, (1 << 63) - 1])
def test_a_small_one_is_a_file(tmp_path, limit, name):
    """Of the size that was told, and any read gives the same bytes."""
    chance = random.Random(7)
    for number in range(3):
        write_partition(tmp_path, partition(chance, 3000, 5), f"t-{number}")
    root = tree(tmp_path, exact=limit)
    size, content = reported(root, name)
    whole = naive(own(root, "t", 3, name))
    assert content.size == size == len(whole)
    assert_random_access(content, whole, reads=40)


def test_small_is_what_all_partitions_together_have_of_log(tmp_path):
    for number in range(2):
        write_partition(tmp_path, {0: [made(0, [10] * 30)]}, f"t-{number}")
    log = (tmp_path / "t-0" / segment_file(0, "log")).stat().st_size
    for limit, is_file in ((2 * log, True), (2 * log - 1, False), (0, False)):
        size, content = reported(tree(tmp_path, exact=limit))
        assert (size > 0, content.size == size) == (is_file, is_file), limit


def test_what_is_reported_is_what_is_opened_while_the_logs_grow(tmp_path):
    """And what comes then may be in the midst of the text."""
    for number in range(2):
        write_partition(tmp_path, {0: [made(0, [10 + number, 50])]}, f"t-{number}")
    root = tree(tmp_path, log_fresh_s=0.0)
    file = cast(FileNode, node(root, ".topics/t/by-time/0...jsonl"))
    before, size = naive(own(root, "t", 2, "0...jsonl")), file.attributes().size
    append(tmp_path / "t-1", made(2, [20]))
    append(tmp_path / "t-0", made(2, [30]))
    content = file.open()
    assert (size, read(content)) == (len(before), before)
    after = naive(own(root, "t", 2, "0...jsonl"))
    size, newer = file.attributes().size, file.open()
    assert (size, read(newer)) == (len(after), after)
    assert read(content) == before
    shutil.rmtree(tmp_path / "t-1")
    wait_until(lambda: file.attributes().size < len(after))
    assert read(file.open()) == cat(root, "t-0/by-time/0...jsonl")


def test_one_that_ends_in_an_error_is_one_byte_longer(tmp_path):
    """Which cannot be read; and what a sound partition gets goes in front of it."""
    for number in range(2):
        write_partition(tmp_path, {0: [made(offset, [10 * offset + number]) for offset in range(9)]}, f"t-{number}")
    damage(tmp_path / "t-1" / segment_file(0, "log"), 4 * len(made(0, [1]).data) + 70)
    root = tree(tmp_path, log_fresh_s=0.0)
    size, content = reported(root)
    assert size == content.size == len(bytes(content.read(0, 1 << 20))) + 1
    with pytest.raises(CorruptData):
        content.read(size - 1, 1)
    append(tmp_path / "t-0", made(9, [5]))
    assert reported(root)[0] == size  # the line of t-0 behind which it stands is behind the damage


def test_the_size_of_a_topic_that_is_written_to_is_found(tmp_path):
    """What takes longer than a part of the work goes on with the logs that it began with."""
    for number in range(2):
        batches = [made(base, [base] * 50, size=2000) for base in range(0, 2000, 50)]
        write_partition(tmp_path, {0: batches}, f"t-{number}")
    root = tree(tmp_path, limits=TextLimits(part_s=0.0), log_fresh_s=0.0, exact=(1 << 63) - 1)
    before, offset, size = len(naive(own(root, "t", 2, "0...jsonl"))), 2000, 0
    while not size:
        assert offset < 2100
        with suppress(Unfinished), time_slice(0.0):
            size, content = reported(root)
        append(tmp_path / "t-1", made(offset, [5]))
        offset += 1
    assert offset > 2002
    assert (size, len(read(content))) == (before, before)


def new(content: Content, at: int) -> list[tuple[int, int]]:
    text = bytes(content.read(at, 1 << 20))
    return [(json.loads(line)["partition"], json.loads(line)["offset"]) for line in text.splitlines()]


def test_a_follower_goes_on_with_whatever_comes(tmp_path):
    """What is there is in the order of time, and a quiet partition holds none back; nothing comes twice."""
    for number in range(3):
        write_partition(tmp_path, {0: [made(0, [10 + number, 20 - number])]}, f"t-{number}")
    root = tree(tmp_path, log_fresh_s=0.0)
    content = opened(root, ".topics/t/by-time/0...follow.jsonl")
    assert content.follows
    assert new(content, 0) == [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)]
    at = len(bytes(content.read(0, 1 << 20)))
    assert new(content, at) == []
    append(tmp_path / "t-2", made(2, [5]))
    assert new(content, at) == [(2, 2)]
    append(tmp_path / "t-0", made(2, [90, 91]))
    append(tmp_path / "t-1", made(2, [80]))
    at += len(bytes(content.read(at, 1 << 20)))
    assert new(content, at) == []
    whole = read(content)
    assert [json.loads(line)["timestamp"] for line in whole.splitlines()][-4:] == [5, 80, 90, 91]
    content.close()


def test_a_follower_of_what_is_to_come(tmp_path):
    """`now..`, and a time that no partition has reached."""
    for number in range(2):
        write_partition(tmp_path, {0: [made(0, [10])]}, f"t-{number}")
    root = tree(tmp_path, log_fresh_s=0.0)
    contents = [opened(root, f".topics/t/by-time/{name}...follow.jsonl") for name in ("now", "50")]
    assert [new(content, 0) for content in contents] == [[], []]
    append(tmp_path / "t-1", made(1, [40, 60, 30]))
    assert [new(content, 0) for content in contents] == [[(1, 1), (1, 2), (1, 3)], [(1, 2), (1, 3)]]


def test_a_follower_makes_the_same_text_again_where_making_it_failed(tmp_path, monkeypatch):
    """Memory may be short for a moment: what was handed out already is neither doubled nor put in another order."""
    chance = random.Random(5)
    for number in range(3):
        write_partition(tmp_path, {0: [made(0, [chance.randrange(99) for _ in range(30)])]}, f"t-{number}")
    root = tree(tmp_path, log_fresh_s=0.0)
    content = opened(root, ".topics/t/by-time/0...follow.jsonl")
    text, offsets = bytes(content.read(0, 1 << 20)), [30, 30, 30]
    for _ in range(40):
        for number in chance.sample(range(3), 2):
            append(tmp_path / f"t-{number}", made(offsets[number], [chance.randrange(99) for _ in range(50)], size=500))
            offsets[number] += 50
        if chance.random() < 0.5:
            with monkeypatch.context() as patched:
                patched.setattr(merged, "MergedLines", _out_of_memory)
                with pytest.raises(MemoryError):
                    content.read(len(text), 1 << 20)
        text += bytes(content.read(len(text), 1 << 22))
    assert len(text) > 2 * TextLimits().mark_every
    lines = [json.loads(line) for line in text.splitlines()]
    for number in range(3):
        assert [line["offset"] for line in lines if line["partition"] == number] == list(range(offsets[number]))


def _out_of_memory(*_: object) -> None:
    raise MemoryError


def test_two_hundred_partitions_take_little_memory_and_few_files(tmp_path):
    """A few MiB of memory each at most, and no more files open than the process may."""
    chance = random.Random(2)
    for number in range(200):
        batches = [made(base, [100 * base + chance.randrange(300) for _ in range(100)], size=100)
                   for base in range(0, 800, 100)]  # fmt: skip
        write_partition(tmp_path, spread(batches, 2), f"t-{number}")
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # this process may have thousands of files open
        fresh.submit(merge_all, tmp_path).result(120)


def merge_all(place: Path) -> None:
    """Reads what the test has written, with few descriptors."""
    root = tree(place)
    before = resident_bytes(os.getpid())
    with few_descriptors(300):
        content = opened(root, ".topics/t/by-time/0...jsonl")
        lines, at, most = [], 0, 0
        while piece := bytes(content.read(at, 1 << 20)):
            at += len(piece)
            lines.append(piece)
            most = max(most, resident_bytes(os.getpid()) - before)
    whole = b"".join(lines)
    assert most - len(whole) < 200 * (1 << 20)
    times = [json.loads(line)["timestamp"] for line in itertools.islice(whole.splitlines(), 0, None, 97)]
    assert whole.count(b"\n") == 160_000
    assert all(later > earlier - 300 for earlier, later in itertools.pairwise(times))


def test_what_all_grant_together(tmp_path):
    """Nobody reads through it what one of the partitions would refuse."""
    for number in range(2):
        write_partition(tmp_path, {0: [made(0, [10])]}, f"t-{number}")
    os.chmod(tmp_path / "t-1" / segment_file(0, "log"), 0o640)
    root = tree(tmp_path)
    about = node(root, ".topics/t/by-time/0...jsonl").attributes()
    assert about.mode == 0o440
    os.chmod(tmp_path / "t-0", 0o700)
    assert node(tree(tmp_path), ".topics/t/by-time/0...jsonl").attributes().mode == 0o400
