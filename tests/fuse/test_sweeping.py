"""What is done every moment beside all requests: on each disk by itself, whatever others answer."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pyfuse3
import pytest
import trio
import trio.testing

from kafkafs.errors import DiskError, Vanished
from kafkafs.fuse.serve.inodes import Inodes
from kafkafs.fuse.serve.sweeping import EVERY_S, sweep
from kafkafs.fuse.serve.workers import Workers
from kafkafs.view.node import Attributes, Disk, PagesWhileOpen, SpaceUsage
from tests.fuse.clocks import until
from tests.fuse.shelf import ShelfDirectory

MOMENT_S = EVERY_S / 100
ABOUT = Attributes("file", 0o444, 0, 0, 0, 0, 0.0, 0)


class Swept:
    """A disk that counts how often it was swept, in which threads."""

    is_replaced, known_usage = False, None

    def __init__(self, lane: str, act: Callable[[], object] = lambda: None) -> None:
        self.lane = lane
        self.threads: list[str] = []
        self._act = act

    def usage(self) -> SpaceUsage:
        raise AssertionError

    def sweep(self) -> None:
        self.threads.append(threading.current_thread().name)
        self._act()


class Shelves(ShelfDirectory):
    """A tree over those disks."""

    def __init__(self, path: Any, disks: Sequence[Disk]) -> None:
        super().__init__(path)
        self._disks = disks

    def disks(self) -> Sequence[Disk]:
        return self._disks


async def sweeping_until(
    tree: Shelves, condition: Callable[[], object], begin: Callable[[Inodes], None] = lambda _: None
) -> None:
    """Lets moments pass, each as soon as nothing is left to do in it, until it is true."""
    workers, inodes = Workers(), Inodes(tree, most_leaves=2)
    begin(inodes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sweep, tree, inodes, workers, MOMENT_S)
        await until(condition)
        nursery.cancel_scope.cancel()
    workers.close()


def raising(error: Exception) -> Callable[[], object]:
    def act() -> None:
        raise error

    return act


def test_every_disk_is_swept_again_and_again_by_a_worker(tmp_path):
    """What changed on one is known without a request; the thread that serves everybody waits for none."""
    disks = [Swept("one"), Swept("other")]
    trio.run(sweeping_until, Shelves(tmp_path, disks), lambda: all(len(disk.threads) >= 3 for disk in disks))
    assert {name.partition("-")[0] for disk in disks for name in disk.threads} == {"worker"}


@pytest.mark.parametrize("error", [DiskError("gone"), Vanished("gone"), ZeroDivisionError("bug")])
def test_a_disk_that_fails_is_swept_again_and_only_a_bug_is_reported(tmp_path, caplog, error):
    """An error of the disk is told where somebody asks for it; a bug must not end the sweeping of all."""
    failing, sound = Swept("failing", raising(error)), Swept("sound")
    both = Shelves(tmp_path, [failing, sound])
    trio.run(sweeping_until, both, lambda: len(failing.threads) >= 3 and len(sound.threads) >= 3)
    bugs = [message for message in caplog.messages if message.startswith("bug in sweeping 'failing'")]
    assert (len(bugs) > 0) == isinstance(error, ZeroDivisionError)


def test_a_disk_that_hangs_is_asked_once_and_holds_up_no_other(tmp_path):
    let_go = threading.Event()
    hanging, sound = Swept("hanging", lambda: let_go.wait(300)), Swept("sound")
    try:
        trio.run(_beside, Shelves(tmp_path, [hanging, sound]), sound, let_go)
    finally:
        let_go.set()
    assert len(hanging.threads) <= 1 + len(sound.threads) // 5


async def _beside(tree: Shelves, sound: Swept, let_go: threading.Event) -> None:
    workers = Workers()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sweep, tree, Inodes(tree), workers, MOMENT_S)
        await until(lambda: len(sound.threads) >= 5)
        let_go.set()
        nursery.cancel_scope.cancel()
    workers.close()


def test_the_kernel_forgets_names_that_are_too_many_and_pages_that_passed_by(tmp_path, monkeypatch):
    """Oldest first; that it has forgotten one by itself, or that the mount is ending, is no error."""
    names, pages, read = list[bytes](), list[int](), list[int]()

    def invalidate_entry(parent: int, name: bytes) -> None:
        names.append(name)
        raise OSError

    def invalidate_inode(node_id: int) -> None:
        pages.append(node_id)
        raise OSError

    monkeypatch.setattr(pyfuse3, "invalidate_entry", invalidate_entry)
    monkeypatch.setattr(pyfuse3, "invalidate_inode", invalidate_inode)

    def begin(inodes: Inodes) -> None:
        root = inodes[1]
        leaves = [inodes.refer(root, b"%d" % number, ABOUT, root.node) for number in range(4)]
        for leaf in leaves[1:3]:
            leaf.kept_as = PagesWhileOpen(1)
            inodes.note_read(leaf, 0)
            read.append(leaf.node_id)

    trio.run(sweeping_until, Shelves(tmp_path, []), lambda: len(names) >= 4 and len(pages) >= 2, begin)
    assert set(names) == {b"0", b"1"}
    assert pages == read
