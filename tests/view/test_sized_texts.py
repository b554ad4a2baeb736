"""Every kind of text with a size: reads anywhere, by several readers, while the text is made from a newer look."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from kafkafs.view.exact import ExactContent
from kafkafs.view.node import FileNode
from kafkafs.view.streams import TextLimits
from tests.log.making import made, spread, write_partition
from tests.view.trees import node, opened, read, tree

KINDS = {
    "a range": "t-0/by-offset/0...jsonl",
    "decoded": "t-1/by-time/0...decoded.jsonl",
    "batches": "t-0/by-offset/5..900.batches.jsonl",
    "merged": ".topics/t/by-time/0...jsonl",
    "merged, decoded": ".topics/t/by-time/1..99999.decoded.jsonl",
    "dump of a log": "t-2/segments/00000000000000000000.log.txt",
    "dump of an index": "t-2/segments/00000000000000000000.timeindex.txt",
    "info.json": "t-0/info.json",
}


@pytest.fixture
def root(tmp_path):
    """Three partitions of some hundred kilobytes of text, with a place to begin at every few of them."""
    chance = random.Random(2)
    for number in range(3):
        batches = [
            made(base, [base + chance.randrange(40) for _ in range(10)], size=chance.choice([20, 300]))
            for base in range(0, 1000, 10)
        ]
        write_partition(tmp_path, spread(batches, 70), f"t-{number}")
    return tree(tmp_path, limits=TextLimits(kept=3000, mark_every=3000, small=3000, mark_part=3000, measured=20_000))


@pytest.mark.parametrize("kind", KINDS)
def test_any_read_of_any_reader_gives_the_same_bytes(root, kind):
    """Whoever asks for the size meanwhile has the text made from a newer look at the same log."""
    path = KINDS[kind]
    whole, chance = read(opened(root, path)), random.Random(kind)
    size = cast(FileNode, node(root, path)).attributes().size
    assert size == len(whole)
    contents = []
    for _ in range(100):
        if chance.random() < 0.3:
            file = cast(FileNode, node(root, path))
            assert file.attributes().size == size
            contents.append(file.open())
        content = chance.choice(contents[-6:] or [opened(root, path)])
        if isinstance(content, ExactContent) and chance.random() < 0.1:
            content.text.release()
            content.release()
        at, wanted = chance.randrange(size + 20), chance.choice([1, 700, 9000, 1 << 17])
        assert bytes(content.read(at, wanted)) == whole[at : at + wanted], (at, wanted)
    for content in contents:
        content.close()


@pytest.mark.parametrize("kind", ["a range", "merged", "dump of a log"])
def test_threads_read_and_ask_for_the_size_at_the_same_time(root, kind):
    """A mount does so: its workers share files and texts."""
    path = KINDS[kind]
    whole, file = read(opened(root, path)), cast(FileNode, node(root, path))
    file.attributes()

    def reader(number: int) -> list[tuple[int, int]]:
        chance, content, wrong = random.Random(number), file.open(), []
        for _ in range(25):
            if chance.random() < 0.3:
                cast(FileNode, node(root, path)).attributes()
            at, size = chance.randrange(len(whole)), chance.choice([50, 9000])
            if bytes(content.read(at, size)) != whole[at : at + size]:
                wrong.append((at, size))
        content.close()
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(reader, range(4))] == [[]] * 4
