"""A last log that may not be read: what it may hold is an error wherever an answer would need it, never left out."""

import json
from typing import cast

import pytest

from kafkafs.errors import Denied
from kafkafs.view.node import LinkNode
from tests.log.making import made, write_partition
from tests.nobody import as_nobody, takes_root
from tests.view.trees import cat, node, tree

BASES = (0, 2, 4)


@pytest.fixture
def data(open_path):
    """Three segments of two records, of which nobody may read the last."""
    write_partition(open_path, {base: [made(base, [1000 + base, 1001 + base])] for base in BASES})
    (open_path / "t-0/00000000000000000004.log").chmod(0)
    return open_path


BEHIND = (
    *(
        f"by-offset/{name}"
        for name in ("0..", "0...jsonl", "0...decoded.jsonl", "3...batches.jsonl", "0...follow.jsonl")
    ),
    *(f"by-offset/{name}" for name in ("0..5", "2..6.jsonl", "4", "5.jsonl", "-1.jsonl", "latest.jsonl", "4.explain")),
    *(
        f"by-time/{name}"
        for name in ("0...jsonl", "1001..1004.jsonl", "1004.jsonl", "1004", "before-1005.jsonl", "0..")
    ),
    *(f"by-key/{name}" for name in ("k0.jsonl", "k4.jsonl", "none.value", "k0.history.jsonl")),
)
TOLD = {
    "by-offset/0..4.jsonl": [0, 1, 2, 3], "by-offset/1..3.jsonl": [1, 2], "by-offset/3.jsonl": [3],
    "by-offset/earliest.jsonl": [0], "by-time/1001.jsonl": [1], "by-time/0..1003.jsonl": [0, 1, 2],
    "by-time/before-1003.jsonl": [2],
}  # fmt: skip


@takes_root
@pytest.mark.parametrize("exact", [0, 8 << 20], ids=["streams", "exact"])
def test_what_may_be_in_it_is_an_error(data, exact):
    """Regression: the log seemed to end before it, and all was exit code 0."""
    with as_nobody():
        root = tree(data, exact=exact)
        for path in (*(f"t-0/{name}" for name in BEHIND), ".topics/t/by-time/0...jsonl"):
            with pytest.raises(Denied, match=r"00000000000000000004\.log' may not be read"):
                cat(root, path)
        assert cat(root, ".topics/t/by-time/0..9.jsonl") == b""
        for path, offsets in TOLD.items():
            assert [json.loads(line)["offset"] for line in cat(root, f"t-0/{path}").splitlines()] == offsets
        with pytest.raises(Denied):
            cast(LinkNode, node(root, "t-0/latest")).target()
        reported = cat(root, "t-0/info.json")
        for field in (b"logEndOffset", b"latestOffset", b"lastStableOffset"):
            assert b'"%s": null' % field in reported
    (data / "t-0/00000000000000000004.log").chmod(0o644)
    assert cat(tree(data, exact=exact), "t-0/by-offset/0...jsonl").count(b"\n") == 6
