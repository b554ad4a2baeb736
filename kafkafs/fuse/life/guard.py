"""Two processes for one mount: a daemon that serves, and its parent, which unmounts whatever way the daemon ends.

A daemon killed by SIGKILL or by the kernel for memory leaves a stale mount behind ("Transport endpoint is not
connected"), and a confined one may not unmount at all (`sandbox`). The parent holds nothing, does nothing but wait, and
then unmounts lazily. Should the parent be the one that is killed, the daemon gets a signal and ends in order; a
guard, which sleeps until both are gone, then unmounts.

With `background` a third process, the one that was called, returns as soon as the mount answers: a byte on a pipe.
"""

import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from kafkafs.disk.system_calls import signal_at_parents_end
from kafkafs.fuse.life.mountpoint import unmount_if_dead

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
READY = b"r"
KILLED = 128
"""More than this is the code of a process that a signal has ended: its number and this, as shells count."""

Daemon = Callable[[Callable[[], None]], int]  # serves, calls its argument when the mount answers, returns an exit code

logger = logging.getLogger(__name__)


def supervise(mountpoint: Path, daemon: Daemon) -> int:
    """Runs the daemon in a child and stays until it ends: the exit code."""
    _post_guard(mountpoint)
    return _stay(mountpoint, _fork(daemon, notifier()))


def supervise_in_background(mountpoint: Path, daemon: Daemon) -> int:
    """Runs the daemon behind the caller's back: 0 once the mount answers, else the code the daemon ended with.

    Until then the daemon shares the caller's standard error, where it says what is wrong. If the caller is interrupted,
    both end, and no mount stays.
    """
    readable, writable = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # a Ctrl-C is the caller's, until we leave its session
    supervisor = os.fork()
    if supervisor == 0:
        os.close(readable)
        os.setsid()
        os.chdir("/")
        _post_guard(mountpoint)
        null = os.open(os.devnull, os.O_RDWR)  # the daemon can open nothing by the time that it needs it
        child = _fork(daemon, lambda: _detach(writable, null))
        os.close(writable)
        _close_standard_streams(null)
        os._exit(_stay(mountpoint, child))
    os.close(writable)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ready = os.read(readable, 1)
    except BaseException:
        os.kill(supervisor, signal.SIGTERM)
        os.waitpid(supervisor, 0)
        raise
    finally:
        os.close(readable)
    if ready == READY:
        return 0
    _, status = os.waitpid(supervisor, 0)
    return _shell_code(os.waitstatus_to_exitcode(status)) or 1


def _post_guard(mountpoint: Path) -> None:
    """Starts a process that unmounts when this one and those it forks from now on have all ended."""
    ended, _alive = os.pipe()  # the second end is held by all of them, and never written to
    if os.fork() != 0:
        os.close(ended)
        return
    try:
        for number in FORWARDED:
            signal.signal(number, signal.SIG_IGN)
        os.dup2(ended, 0)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.read(0, 1)
        unmount_if_dead(mountpoint)
    finally:
        os._exit(0)


def _fork(daemon: Daemon, on_ready: Callable[[], None]) -> int:
    """Starts the daemon as a child that does not outlive this process: its process id."""
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # until either process is ready to take them
    child = os.fork()
    if child == 0:
        _serve(daemon, parent, on_ready)
    return child


def _serve(daemon: Daemon, parent: int, on_ready: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        signal_at_parents_end(signal.SIGTERM)
        if os.getppid() == parent:
            code = daemon(on_ready)
    finally:
        logging.shutdown()
        os._exit(code)


def _stay(mountpoint: Path, child: int) -> int:
    """Waits for the daemon's end, passing signals on, then leaves no stale mount: the exit code."""
    for number in FORWARDED:
        signal.signal(number, lambda number, _: _pass_on(number, child))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    _, status = os.waitpid(child, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # Python's own end undoes handlers: the next would kill us
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        logger.error("the daemon was ended by signal %d", -code)
    try:
        if unmount_if_dead(mountpoint) and code != 0:
            logger.error("unmounted %r in its stead", str(mountpoint))
    except OSError as error:
        logger.error("cannot unmount %r: %s", str(mountpoint), error.strerror)
    return _shell_code(code)


def _shell_code(code: int) -> int:
    return code if code >= 0 else KILLED - code


def _pass_on(number: int, child: int) -> None:
    with suppress(ProcessLookupError):  # it has ended a moment ago
        os.kill(child, number)


def _detach(writable: int, null: int) -> None:
    """The mount answers: says so, and lets the caller's terminal go. If any signal has ended the caller meanwhile, no
    mount stays either."""
    try:
        os.write(writable, READY)
    except BrokenPipeError:
        signal.raise_signal(signal.SIGTERM)
    os.close(writable)
    _close_standard_streams(null)


def _close_standard_streams(null: int) -> None:
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def notifier() -> Callable[[], None]:
    """Return the function to call when the mount answers. It notifies systemd (`Type=notify`, sd_notify(3)). Without
    systemd it does nothing.

    The socket is connected before the daemon is confined, after which it could reach none.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return lambda: None
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        return channel.close

    def notify() -> None:
        """Tells it once, and closes the socket; that nobody listens any more is no error."""
        with suppress(OSError), channel:
            channel.send(b"READY=1\nSTATUS=mounted")

    return notify
