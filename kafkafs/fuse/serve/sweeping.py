"""The work of every moment, asked or not: the tree looks at what its disks hold, and releases files that are not read.

It may wait for a disk, so it runs in a worker thread in the disk's own lane, once at a time. The kernel forgets names
where it has too many. And the C library gives back the memory that two dozen threads keep for later; having
it do so at once makes long reads 1.4 times slower.
"""

import functools
import logging
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

import pyfuse3
import trio

from kafkafs.disk.system_calls import libc
from kafkafs.errors import KafkafsError
from kafkafs.fuse.serve.inodes import Inode, Inodes
from kafkafs.fuse.serve.workers import CallKind, Workers
from kafkafs.view.node import Disk, Tree

EVERY_S = 0.4
MEMORY_EVERY_S = 2.0

logger = logging.getLogger(__name__)


async def sweep(tree: Tree, inodes: Inodes, workers: Workers, every_s: float = EVERY_S) -> None:
    """Sweep as long as the mount exists."""
    async with trio.open_nursery() as nursery:
        for disk in tree.disks():
            nursery.start_soon(_sweep_disk, disk, workers, every_s)
        nursery.start_soon(_have_names_forgotten, inodes, workers, every_s)
        nursery.start_soon(_have_pages_dropped, inodes, workers, every_s)
        nursery.start_soon(_give_memory_back, workers)


async def _sweep_disk(disk: Disk, workers: Workers, every_s: float) -> None:
    """The first time at once: a disk that is not swept yet is waited for by requests, and it may hang."""
    while True:
        try:
            await workers.run(disk.lane, disk.sweep, CallKind.CANARY)
        except KafkafsError:
            pass  # the next request to this disk reports that it does not answer
        except Exception as error:
            logger.error("bug in sweeping %r: %r", disk.lane, error, exc_info=error)
        await trio.sleep(every_s)


async def _have_names_forgotten(inodes: Inodes, workers: Workers, every_s: float) -> None:
    """Tells the kernel to drop names, and waits for no disk that hangs: their directories may be held up by it."""
    while True:
        await trio.sleep(every_s)
        by_lane = defaultdict(list)
        for inode in inodes.surplus():
            by_lane[inode.lane].append(inode)
        for lane, dropped in by_lane.items():
            with suppress(KafkafsError):
                await workers.run(lane, functools.partial(_drop, dropped), CallKind.SHARED)


async def _have_pages_dropped(inodes: Inodes, workers: Workers, every_s: float) -> None:
    """In one thread at a time: a page that is being read is waited for, and its read may wait for a thread. Sooner than
    every moment where they are many: they would push others out of the page cache."""
    while True:
        with trio.move_on_after(every_s):
            await inodes.many_passed.wait()
        if passed := inodes.take_passed():
            with suppress(KafkafsError):
                await workers.run("", functools.partial(_drop_pages, passed))


def _drop_pages(node_ids: Iterable[int]) -> None:
    for node_id in node_ids:
        with suppress(OSError):  # it is forgotten already, or the mount is ending
            pyfuse3.invalidate_inode(node_id)


def _drop(inodes: Iterable[Inode]) -> None:
    for inode in inodes:
        if inode.parent is not None:
            with suppress(OSError):  # it is forgotten already, or the mount is ending
                pyfuse3.invalidate_entry(inode.parent.node_id, inode.name)


async def _give_memory_back(workers: Workers) -> None:
    trim = getattr(libc, "malloc_trim", None)  # glibc
    while trim is not None:
        await trio.sleep(MEMORY_EVERY_S)
        with suppress(KafkafsError):
            await workers.run("", lambda: trim(0))
