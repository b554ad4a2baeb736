"""A mount's tree without the mount: nodes by path, and whole contents by reads of any size."""

import random
from pathlib import Path
from typing import Any, cast

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.disks import AMONG_S
from kafkafs.view.node import Content, DirectoryNode, FileNode, LinkNode, Node
from kafkafs.view.streams import USUAL
from kafkafs.view.tree import Root
from tests.mounting import PATIENCE_S


def tree(*data_dirs: Path, **options: Any) -> Root:
    """The tree over some data directories. `limits` are `TextLimits`, all others are of `ReadOptions`. It waits for a
    store as long as a test may: on a busy machine three seconds are over before the store has had a processor."""
    limits = options.pop("limits", USUAL)
    return Root(data_dirs, ReadOptions(**{"glance_s": PATIENCE_S, **options}), limits)


def tree_with_a_hanging_disk(*data_dirs: Path) -> Root:
    """The same in a mount whose sweeper does not come back from the last of the disks."""
    now = [100.0]
    root = tree(*data_dirs, clock=lambda: now[0])
    for disk in root.disks():
        disk.sweep()
    now[0] += AMONG_S
    for disk in root.disks()[:-1]:
        disk.sweep()
    return root


def node(root: Root, path: str) -> Node:
    """What stands at a path from the mount point."""
    found: Node = root
    for name in path.split("/"):
        found = cast(DirectoryNode, found).child(name)
    return found


def opened(root: Root, path: str) -> Content:
    return cast(FileNode, node(root, path)).open()


def read(content: Content, size: int = 1 << 17) -> bytes:
    """All of it, as the kernel would ask for it."""
    parts, at = [], 0
    while part := bytes(content.read(at, size)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def cat(root: Root, path: str) -> bytes:
    return read(opened(root, path))


def latest(root: Root, partition: str) -> int:
    """The offset of the partition's last visible record."""
    return int(cast(LinkNode, node(root, f"{partition}/latest")).target().rpartition("/")[2])


def assert_random_access(content: Content, whole: bytes, seed: int = 0, reads: int = 200) -> None:
    """Reads at any offset, in any order, give the same bytes."""
    chance = random.Random(seed)
    for _ in range(reads):
        at, size = chance.randrange(len(whole) + 20), chance.choice([1, 7, 4096, 1 << 17, 1 << 20])
        assert bytes(content.read(at, size)) == whole[at : at + size], (at, size)
