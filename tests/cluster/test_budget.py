"""The internal topics are read of the memory that all readers of a tree share."""

import gzip
from pathlib import Path

import pytest

from kafkafs.errors import BatchMemoryFull
from kafkafs.format.memory import Array, Memory, MemoryBudget
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import read
from tests.cluster.writing import CONTROL, Data, batch, marker, message
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

FILES = {"__consumer_offsets-0": "groups.jsonl", "__transaction_state-0": "transactions.jsonl",
         "__cluster_metadata-0": "topics.jsonl", "_schemas-0": "schemas.jsonl"}  # fmt: skip
SIZE = 20 << 20


class Full(Memory):
    """Turns every reader away as long as it `is_full`."""

    is_full = True

    def take(self, size: int) -> Array:
        """`size` bytes, or BatchMemoryFull."""
        if self.is_full:
            raise BatchMemoryFull("full")
        return super().take(size)


def large(base: int) -> bytes:
    """A batch that unpacks to SIZE, of a record that tells nothing."""
    return v2_batch([Record(base, 1, 0, b"", bytes(SIZE))], codec=1, compress=gzip.compress)


def read_in_crowd(path: Path, name: str) -> None:
    """A reader that finds no memory is to ask again, and gets everything then."""
    memory = Full()
    root = Root([path], ReadOptions(memory=memory))
    for _ in range(2):
        with pytest.raises(BatchMemoryFull):
            read(root, name)
    memory.is_full = False
    read(root, name)
    assert b"BatchMemoryFull" not in read(root, "state.json")
    assert b"full" not in read(root, "state.json")


@pytest.mark.parametrize("partition", FILES)
def test_a_large_batch_of_an_internal_topic_takes_its_turn(tmp_path, partition):
    """Beside readers of large batches it took a quarter of a gigabyte that no limit knew of."""
    data = Data(tmp_path / "data")
    (data.path / partition).mkdir()
    (data.path / partition / f"{0:020}.log").write_bytes(large(0))
    read_in_crowd(data.path, FILES[partition])


@pytest.mark.parametrize("partition", FILES)
def test_one_large_batch_is_let_go_of_before_the_next(tmp_path, partition):
    """Two of them at a time would not fit, and such a topic never be read."""
    data = Data(tmp_path / "data")
    (data.path / partition).mkdir()
    (data.path / partition / f"{0:020}.log").write_bytes(large(0) + large(1) + large(2))
    read(Root([data.path], ReadOptions(memory=MemoryBudget(SIZE + (1 << 20)))), FILES[partition])


@pytest.mark.parametrize("where", ["within", "at the end"])
def test_a_large_batch_of_a_snapshot_takes_its_turn(tmp_path, where):
    """A snapshot that could not be read for want of memory was taken for a broken one, and left out."""
    data = Data(tmp_path / "data")
    (data.path / "__cluster_metadata-0").mkdir()
    head = batch([marker()], 0, is_control=True)
    foot = v2_batch([Record(2, 1, 0, b"\0\0\0\4", message("clients", "SnapshotFooterRecord", 0) + bytes(SIZE))],
                    codec=1, compress=gzip.compress, attributes=CONTROL)  # fmt: skip
    small_foot = batch([(b"\0\0\0\4", message("clients", "SnapshotFooterRecord", 0))], 2, is_control=True)
    content = head + (large(1) + small_foot if where == "within" else foot)
    (data.path / "__cluster_metadata-0" / f"{5:020}-0000000003.checkpoint").write_bytes(content)
    read_in_crowd(data.path, "topics.jsonl")
