"""`segments/<file>.txt` (tests/dump hold the text itself against the real tool)."""

import pytest

from kafkafs.errors import NotFound
from tests.log.making import made, write_partition
from tests.view.trees import cat, node, tree

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
