"""One mount's life in this process: made, served, ended by a signal or by `umount`.

    session  the kernel's side: mounted before the first answer, ended with this process
    loop     trio: pyfuse3's tasks, the waiting reads' pulse, the watch over slow calls, sweeping, the ear for signals

The order matters. The process drops its rights (`sandbox`) after the mount is made and before any thread starts;
worker threads start before the kernel is answered; waiting reads are ended before the loop, since pyfuse3 would wait
for them for ever. Unmounting is left to the parent process (`supervise`): this one has no right to it any more.
"""

import dataclasses
import functools
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyfuse3
import trio

from kafkafs import __version__  # now: a confined process could not look it up
from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.data_paths import bucket_of
from kafkafs.errors import UsageError
from kafkafs.fuse.life import journal
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.life.watchdog import Watchdog, keep_beating
from kafkafs.fuse.sandbox.confinement import Confinement, confine
from kafkafs.fuse.sandbox.network import Network
from kafkafs.fuse.serve.answering import Metrics
from kafkafs.fuse.serve.operations import Operations
from kafkafs.fuse.serve.sweeping import sweep
from kafkafs.fuse.serve.waiting import LIMIT as WAITING_LIMIT
from kafkafs.fuse.serve.waiting import WaitingReads
from kafkafs.fuse.serve.workers import CallKind, Workers
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.about import AboutDirectory, Top
from kafkafs.view.node import Tree
from kafkafs.view.ownership import Owner

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MIN_TASKS = 4  # idle tasks kept to take requests
MAX_TASKS = WAITING_LIMIT + 4096  # every waiting read occupies one, and others must find theirs
SWITCH_INTERVAL_S = 0.0005  # how long a worker's Python code may keep the trio thread waiting
RECEIVE_RETRIES = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MountSettings:
    """How to mount. `readable` are further directories to read, `network` is what stays open of it.

    A daemon that is root becomes `owner`. `exact`: bytes up to which a file of `.kafkafs/` has a size.
    """

    data_dirs: Sequence[Path]
    claim: MountClaim
    allow_other: bool = True
    readable: Sequence[Path] = ()
    owner: Owner | None = None
    network: Network | None = None
    exact: int = ReadOptions().exact

    @property
    def fsname(self) -> str:
        """The source that `df` and `findmnt` show: the directories, joined by colons."""
        return ":".join(map(str, self.data_dirs))


def serve(tree: Tree, mountpoint: Path, settings: MountSettings, on_ready: Callable[[], None]) -> None:
    """Mounts the tree and serves it until a signal or an unmount; `on_ready` is called when the kernel has asked in."""
    metrics, confinement = Metrics(), None
    about = AboutDirectory(
        {
            "status.json": lambda: metrics.as_status(_about(tree, mountpoint, settings, confinement)),
            "metrics": metrics.as_prometheus,
        },
        settings.exact,
    )
    operations = Operations(Top(tree, about), metrics, on_ready)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    collect_garbage_in_small_steps()
    connection_fd = _mount(operations, mountpoint, settings)
    settings.claim.confirm()
    settings.claim.release()
    logger.info("mounted %r at %r", settings.fsname, str(mountpoint))
    local = [path for path in settings.data_dirs if not bucket_of(path)]
    confinement = confine([*local, *settings.readable], settings.owner, settings.network)
    trio.run(_serve, operations, len(settings.data_dirs), connection_fd)


def _mount(operations: Operations, mountpoint: Path, settings: MountSettings) -> int | None:
    """Makes the session: the descriptor it talks to the kernel through."""
    options = {
        "ro", "nodev", "nosuid", "noexec", "noatime", "default_permissions", "subtype=kafkafs",
        f"fsname={_option_value(settings.fsname)}",
    }  # fmt: skip
    if settings.allow_other:
        options.add("allow_other")  # never without default_permissions: the kernel checks owner and mode for us
    before = _fuse_descriptors()
    try:
        pyfuse3.init(operations, str(mountpoint), options)
    except RuntimeError:
        raise UsageError(
            f"{str(mountpoint)!r} could not be mounted, the line above says why (an ordinary user needs fusermount3, a "
            "mount point of his own and, for -o allow_other, user_allow_other in /etc/fuse.conf; a container --cap-add "
            "SYS_ADMIN); `kafkafs ls`, `cat` and `stat` answer the same without a mount"
        ) from None
    return next(iter(_fuse_descriptors() - before), None)


async def _serve(operations: Operations, lanes: int, connection_fd: int | None) -> None:
    operations.workers, watchdog = (workers := Workers(lanes)), Watchdog()  # their threads, before the mount answers
    operations.waiting = waiting = WaitingReads(
        functools.partial(operations.read_in_worker, kind=CallKind.WAKE), connection_fd
    )
    _add_gauges(operations)
    root = trio.lowlevel.current_root_task()
    signal.signal(signal.SIGUSR1, lambda *_: journal.log_all(root, workers.calls()))
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_beating, watchdog)
            nursery.start_soon(workers.watch)
            nursery.start_soon(waiting.pulse)
            nursery.start_soon(sweep, operations.tree, operations.inodes, workers)
            nursery.start_soon(_end_on_signal, waiting, nursery.cancel_scope)
            with non_blocking(), reads_that_end():  # this thread, and with it every task on it
                await _answer_requests()
            logger.info("unmounted")
            nursery.cancel_scope.cancel()
    finally:
        workers.close()


async def _answer_requests() -> None:
    """pyfuse3's loop, taken up again where the kernel was short of memory for a moment."""
    for attempt in range(RECEIVE_RETRIES):
        try:
            return await pyfuse3.main(MIN_TASKS, MAX_TASKS)
        except* OSError as errors:
            logger.error("receiving from the kernel failed: %r", errors.exceptions)
        await trio.sleep(0.05 * attempt)
    return None


async def _end_on_signal(waiting: WaitingReads, scope: trio.CancelScope) -> None:
    for each in ENDING_SIGNALS:  # for the time after trio's own: what a process group is sent comes to us twice
        signal.signal(each, lambda *_: None)
    with trio.open_signal_receiver(*ENDING_SIGNALS) as signals:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDING_SIGNALS, signal.SIGUSR1))
        async for number in signals:
            logger.info("ending on %s", signal.Signals(number).name)
            waiting.close()
            await trio.sleep(0)
            scope.cancel()


def _add_gauges(operations: Operations) -> None:
    workers, waiting = operations.workers, operations.waiting
    operations.metrics.gauges.update(
        inodes=("Paths the kernel knows.", functools.partial(len, operations.inodes)),
        open_files=("Files that are open.", functools.partial(len, operations.files)),
        open_directories=("Directories that are open.", functools.partial(len, operations.directories)),
        waiting_reads=("Reads that wait for the log to grow.", functools.partial(len, waiting)),
        worker_threads=("Threads for calls that wait for disk or processor.", lambda: workers.threads),
        busy_workers=("Of those, at work.", lambda: workers.busy),
        queued_calls=("Calls that wait for a thread.", lambda: workers.waiting),
        stuck_workers=("Threads whose call has not come back in time.", lambda: sum(workers.stuck.values())),
    )


def _about(tree: Tree, mountpoint: Path, settings: MountSettings, confinement: Confinement | None) -> dict[str, object]:
    return {
        "version": __version__,
        "pid": os.getpid(),
        "mountPoint": str(mountpoint),
        "dataDirectories": [str(path) for path in settings.data_dirs],
        "replacedDataDirectories": [disk.lane for disk in tree.disks() if disk.is_replaced],
        "confined": confinement and dataclasses.asdict(confinement),
    }


def _option_value(text: str) -> str:
    """As libfuse reads an option's value: commas and backslashes escaped; pyfuse3 takes ASCII only."""
    return text.replace("\\", "\\\\").replace(",", "\\,").encode("ascii", "replace").decode()


def _fuse_descriptors() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "/dev/fuse":
                found.add(int(name))
        except OSError:
            continue
    return found


_STEPS = (2_000, 10, 3)
"""New objects between two looks at them, and how many such looks between two that go back further."""


def collect_garbage_in_small_steps() -> None:
    """Look for garbage often, and at few objects each time, since everybody waits meanwhile.

    Nearly all goes without being looked for. The names that the kernel knows stay, a quarter of a million objects. A
    look at all of them takes 200 ms of processor time, and a second on a busy machine (measured: a follower woke after
    1.8 s, once in an hour). So what has outlived a look at everything, or stands now, is not looked at again.
    """
    gc.freeze()
    gc.set_threshold(*_STEPS)
    gc.callbacks.append(_keep_the_old)


def _keep_the_old(phase: str, about: dict[str, Any]) -> None:
    if phase == "stop" and about["generation"] == len(_STEPS) - 1:
        gc.freeze()


EVERY_S = 0.2
"""How long such a read lasts at most; and so many wakes of an idle mount, each 0.1 ms."""


@contextmanager
def reads_that_end() -> Iterator[None]:
    """While it lasts, no read of this thread, which must be the process's first, sleeps for longer than `EVERY_S`.

    The kernel can withdraw a request between poll and read: the reader is killed before the request was read, or the
    request is answered while the kernel is about to report an interrupt. So the kernel may say that there is something
    to read, and then there is nothing. pyfuse3 reads from a descriptor that blocks and holds the interpreter's lock
    meanwhile: all threads would stand still, the watchdog with them, until somebody happened to ask for something else.
    (Other users of libfuse report the same: libfuse/libfuse#1194.)

    A clock of the kernel's, which needs no thread of ours, interrupts that read; pyfuse3 takes the interrupt for "look
    again". (A descriptor that does not block is no way out: pyfuse3 would end the mount over the first EAGAIN.)
    """
    before = signal.signal(signal.SIGALRM, lambda *_: None)  # by Python, so that it restarts no system call
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
