"""No node waits for a disk on the thread that serves everybody: what would wait is refused there, whatever is cold.

`may_block()` is forgotten easily: all is in memory while one tries it out. So each call that can wait is watched here,
the mount's whole tree is walked on a thread that must not wait, each node in a tree of its own that knows nothing yet,
and what a node refuses is asked once more, as a worker would.
"""

import builtins
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkafs.disk import local_directory
from kafkafs.disk.blocking import is_non_blocking, non_blocking
from kafkafs.disk.system_calls import CACHED
from kafkafs.errors import KafkafsError, NoData, NotFound, WouldBlock
from kafkafs.view.about import AboutDirectory, Top
from tests.kafka.clusters import Cluster
from tests.kafka.dataset import Dataset
from tests.view.trees import tree

POINTS = ["", ".jsonl", ".decoded.jsonl", ".key", ".value", ".batches.jsonl", ".explain"]
RANGES = ["", ".jsonl", ".decoded.jsonl", ".batches.jsonl", ".follow.jsonl"]
PARTITION = [
    "", "info.json", "earliest", "latest", "segments", "by-offset", "by-time", "by-key",
    *(f"segments/{0:020}.{kind}{suffix}" for kind in ("log", "index", "timeindex") for suffix in ("", ".txt")),
    *(f"by-offset/{point}{suffix}" for point in ("20", "latest", "-1") for suffix in POINTS),
    *(f"by-time/{point}{suffix}" for point in ("1", "before-9999999999999", "end-1s") for suffix in POINTS),
    *(f"by-{what}{suffix}" for what in ("offset/5..20", "time/0..9999999999999") for suffix in RANGES[:4]),
    *(f"by-{what}{suffix}" for what in ("offset/5..", "time/5..") for suffix in RANGES),
    *(f"by-key/nobody{suffix}" for suffix in (".jsonl", ".value", ".explain", ".history.jsonl")),
]  # fmt: skip
CLUSTER = [
    *("", "state.json", "groups.jsonl", "groups", "transactions.jsonl", "open-transactions.jsonl", "topics.jsonl"),
    *("partitions.jsonl", "configs.jsonl", "brokers.jsonl", "acls.jsonl", "quotas.jsonl", "users.jsonl"),
    *("features.jsonl", "groups/classic", "groups/classic/group.json", "groups/classic/offsets.jsonl"),
    *("groups/classic/next", "groups/classic/unread"),
]
WAITING: list[tuple[object, str, Callable[..., bool]]] = [
    (os, "pread", lambda *_, **__: True),
    (os, "preadv", lambda _fd, _buffers, _at, flags=0: not flags & os.RWF_NOWAIT),
    (os, "open", lambda *_, **__: True),
    (os, "stat", lambda *_, **__: True),
    (os, "lstat", lambda *_, **__: True),
    (os, "scandir", lambda *_, **__: True),
    (os, "listdir", lambda *_, **__: True),
    (os, "lseek", lambda *_: True),
    (builtins, "open", lambda *_, **__: True),
    (local_directory, "openat2", lambda _root, _name, _flags, resolve=0: not resolve & CACHED),
]
"""Calls that can wait for a disk, and whether they do with these arguments."""


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them fails where the thread must not wait."""
    for holder, name, waits in WAITING:
        monkeypatch.setattr(holder, name, refused(name, getattr(holder, name), waits))


def refused(name: str, call: Callable[..., Any], waits: Callable[..., bool]) -> Callable[..., Any]:
    def watching(*arguments: Any, **named: Any) -> Any:
        if is_non_blocking() and waits(*arguments, **named):
            raise AssertionError(f"{name}{arguments} on the thread that must not wait")
        return call(*arguments, **named)

    return watching


def dropped(files: list[Path]) -> None:
    """The kernel is asked to let go of all their pages."""
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def twice(call: Callable[[], Any]) -> Any:
    """The answer of a call as a mount makes it: on the thread that serves, then in a worker; None where it has none."""
    try:
        with non_blocking():
            return call()
    except WouldBlock:
        pass
    except (NotFound, NoData):
        return None
    try:
        return call()
    except KafkafsError:
        return None


def visit(root: Top, path: str) -> None:
    """All that can be asked of the node at a path, in the order in which the kernel asks."""
    node: Any = root
    for name in filter(None, path.split("/")):
        node = twice(functools.partial(node.child, name))
        if node is None:
            return
    for question in ("attributes", "entries", "target", "xattrs"):
        if hasattr(node, question):
            twice(getattr(node, question))
    content = twice(node.open) if hasattr(node, "open") else None
    if content is None:
        return
    for offset, size in ((0, 4096), (4096, 1 << 17), (1 << 20, 4096)):
        twice(functools.partial(content.read, offset, size))
    with non_blocking():
        assert content.size is None or content.size >= 0
    if hasattr(content, "grow"):
        twice(content.grow)
    content.close()


def visit_cold(data: Path, paths: list[str], **options: Any) -> None:
    files = [path for path in data.rglob("*") if path.is_file()]
    for path in paths:
        dropped(files)
        visit(Top(tree(data, **options), AboutDirectory({})), path)


@pytest.mark.sampled
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("topic", ["codec-none", "broker-lz4", "transactions", "segments", "large", "compacted"])
def test_no_view_of_a_partition_waits(tmp_path, topic, isolation):
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path, f"{topic}-0")
    visit_cold(data, [f"{topic}-0/{path}" for path in PARTITION], isolation=isolation)


def test_nothing_of_a_damaged_partition_waits(tmp_path):
    """To find where a log takes up again is a search through megabytes."""
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path, "codec-none-0")
    log = data / f"codec-none-0/{0:020}.log"
    content = bytearray(log.read_bytes())
    for at in range(70, len(content), 3000):
        content[at] ^= 1
    log.write_bytes(content)
    for index in log.parent.glob("*index"):
        index.write_bytes(b"\0" * 48)
    visit_cold(data, [f"codec-none-0/{path}" for path in PARTITION], corrupt_skip=True)


def test_nothing_at_the_root_waits():
    visit_cold(Dataset("4.3.1", "stopped").path, ["", ".kafkafs", ".kafkafs/README", "nobody", "segments-0"])


def test_nothing_of_the_cluster_waits():
    data = Cluster("4.3.1", "killed").path
    visit_cold(data, [f".cluster/{path}" for path in CLUSTER])
