"""`segments/<file>.txt` (tests/dump hold the text itself against the real tool)."""

import os
from typing import cast

import pytest

from kafkafs.errors import NotFound, Vanished
from kafkafs.view.exact import ExactContent
from kafkafs.view.node import FileNode
from tests.log.making import made, write_partition
from tests.view.trees import assert_random_access, cat, node, read, tree

LOG = f"{0:020}.log"


def test_a_dump_stands_beside_each_file_that_kafkas_tool_understands(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1, 2])], 2: [made(2, [3])]})
    (directory / "leader-epoch-checkpoint").write_text("0\n0\n")
    root = tree(tmp_path)
    text = cat(root, f"t-0/segments/{LOG}.txt").decode()
    assert text.startswith(f"Dumping t-0/{LOG}\n")
    assert "payload: v1" in text
    for name in (f"{2:020}.timeindex.txt", f"{0:020}.index.txt"):
        assert cat(root, f"t-0/segments/{name}").startswith(b"Dumping ")
    for name in ("leader-epoch-checkpoint.txt", f"{5:020}.log.txt", ".txt", f"{LOG}.txt.txt", f"{LOG}.jsonl"):
        with pytest.raises(NotFound):
            node(root, f"t-0/segments/{name}")


@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
def test_a_small_dump_has_its_true_size_and_stays_as_it_was_opened(tmp_path, kind):
    batches = [made(number, [number + 1] * 1, size=500) for number in range(200)]
    directory = write_partition(tmp_path, {0: batches[:150]})
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    dump = cast(FileNode, node(root, f"t-0/segments/{0:020}.{kind}.txt"))
    about, content = dump.attributes(), dump.open()
    whole = cat(root, f"t-0/segments/{0:020}.{kind}.txt")
    assert (about.size, content.size, read(content) == whole) == (len(whole), len(whole), True)
    with (directory / LOG).open("ab") as log:
        log.write(b"".join(batch.data for batch in batches[150:]))
    for file in directory.iterdir():
        file.rename(file.with_name(file.name + ".deleted"))
    assert isinstance(content, ExactContent)
    assert content.text.release()
    assert content.release()
    assert_random_access(content, whole, reads=20)
    with pytest.raises(NotFound):
        dump.open()


@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
def test_the_dump_of_a_file_that_is_written_is_the_one_that_was_reported(tmp_path, kind):
    """Between `stat` and `open` a busy log has grown: the kernel takes another size for a stale file."""
    batches = [made(number, [number + 1], size=500) for number in range(200)]
    directory = write_partition(tmp_path, {0: batches[:150]})
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    name = f"t-0/segments/{0:020}.{kind}.txt"
    text, dump = cat(root, name), cast(FileNode, node(root, name))
    assert dump.attributes().size == len(text)
    with (directory / LOG).open("ab") as log:
        log.write(b"".join(batch.data for batch in batches[150:]))
    content = dump.open()
    assert read(content) == text
    assert isinstance(content, ExactContent)
    assert content.text.release()
    assert content.release()
    assert_random_access(content, text, reads=20)
    assert (len(cat(root, name)) > len(text)) == (kind == "log")


def test_a_dump_of_another_file_is_not_the_one_that_was_reported(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1, 2])]})
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    dump = cast(FileNode, node(root, f"t-0/segments/{LOG}.txt"))
    about, before = dump.attributes(), dump.open()
    (directory / LOG).write_bytes(made(0, [1]).data)
    assert dump.open().size != about.size
    assert isinstance(before, ExactContent)
    assert before.text.release()
    with pytest.raises(Vanished):
        read(before)


@pytest.mark.parametrize("exact", [0, 100])
def test_the_dump_of_a_large_file_is_a_stream(tmp_path, exact):
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    dump = cast(FileNode, node(tree(tmp_path, exact=exact), f"t-0/segments/{LOG}.txt"))
    assert (dump.attributes().size, dump.open().size) == (0, None)


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_the_holes_of_the_last_segments_index_do_not_make_its_dump_a_stream(tmp_path, kind):
    """Regression: a broker that runs, or has died, leaves it 10 MiB long."""
    directory = write_partition(tmp_path, {0: [made(0, [1, 2])]})
    os.truncate(directory / f"{0:020}.{kind}", 10 << 20)
    dump = cast(FileNode, node(tree(tmp_path), f"t-0/segments/{0:020}.{kind}.txt"))
    assert dump.attributes().size == dump.open().size == len(cat(tree(tmp_path), f"t-0/segments/{0:020}.{kind}.txt"))
