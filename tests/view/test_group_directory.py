"""`.cluster/groups/`: what is listed, what opens, and a history of any length."""

import json
import zlib
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.node import FileNode
from kafkafs.view.tree import Root
from tests.cluster.reading import names, node, read
from tests.cluster.writing import Data, commit
from tests.kafka.history import Story

STORY = Story()
OFFSETS = "__consumer_offsets-0"


def test_the_directory_of_a_deleted_group_has_its_history_alone():
    root = Root([STORY.path], ReadOptions())
    listed = names(root, "groups")
    assert "with%2Fslash" not in listed
    assert "classic" in listed
    assert names(root, "groups/classic") == ["group.json", "history.jsonl", "next", "offsets.jsonl", "unread"]
    assert names(root, "groups/with%2Fslash") == ["history.jsonl"]
    with pytest.raises(NotFound):
        read(root, "groups/with%2Fslash/group.json")
    for nobody in ("nobody", "%2F", "expire"):
        with pytest.raises(NotFound):
            node(root, f"groups/{nobody}")


def test_a_history_is_owned_as_all_its_sources_are(tmp_path):
    """Who may not read the partition that a group reads learns nothing of its ends."""
    data = Data(tmp_path / "data")
    data.write("t-0", [(None, b"x")])
    data.write(OFFSETS, [commit("g", "t", 0, 1), commit("h", "u", 0, 1)])
    (data.path / "t-0" / f"{0:020}.log").chmod(0o600)
    for options, modes in ((ReadOptions(), (0o400, 0o444)), (ReadOptions(exact=0), (0o400, 0o400))):
        root = Root([data.path], options)
        found = tuple(node(root, f"groups/{group}/history.jsonl").attributes().mode & 0o777 for group in "gh")
        assert found == modes


def test_a_long_history_is_a_stream_that_can_be_read_anywhere(tmp_path):
    """More lines than are made at once; the bytes are those of the file that has a size."""
    data = Data(tmp_path / "data")
    numbers = [(number * 7) % 1000 for number in range(9000)]
    for first in range(0, len(numbers), 500):
        data.write(OFFSETS, [commit("g", "t", each % 3, each) for each in numbers[first : first + 500]])
    whole = read(Root([data.path], ReadOptions()), "groups/g/history.jsonl")
    assert len(whole.splitlines()) == len(numbers)
    before: dict[int, int] = {}
    for line, offset in zip(map(json.loads, whole.splitlines()), numbers, strict=True):
        last = before.get(offset % 3)
        assert (line["offset"], line["change"]) == (offset, None if last is None else offset - last)
        before[offset % 3] = offset
    stream = cast(FileNode, node(Root([data.path], ReadOptions(exact=0)), "groups/g/history.jsonl"))
    assert stream.attributes().size == 0
    content = stream.open()
    assert content.size is None
    for at in (0, 2 << 20, 1 << 20, len(whole) - 100, 1_500_000, 10):
        assert zlib.crc32(bytes(content.read(at, 50))) == zlib.crc32(whole[at : at + 50]), at
    content.close()
