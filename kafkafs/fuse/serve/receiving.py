"""How the next request is waited for: busily for a moment, and never in a read that does not end.

The kernel can withdraw a request between poll and read: the reader is killed before the request was read, or the
request is answered while the kernel is about to report an interrupt. So the kernel may say that there is something to
read, and then there is nothing. pyfuse3 reads from a descriptor that blocks and holds the interpreter's lock meanwhile:
all threads would stand still, the watchdog with them, until somebody happened to ask for something else. (The same is
told of libfuse's other users: libfuse/libfuse#1194.)

A clock of the kernel's, which needs no thread of ours, interrupts that read; pyfuse3 takes the interrupt for "look
again". (A descriptor that does not block is no way out: pyfuse3 would end the mount over the first EAGAIN.)
"""

import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import SimpleNamespace

import pyfuse3
import trio

EVERY_S = 0.2
"""How long such a read lasts at most; and so many wakes of an idle mount, each 0.1 ms."""


@contextmanager
def reads_that_end() -> Iterator[None]:
    """While it lasts, no read of this thread, which must be the process's first, sleeps for longer than `EVERY_S`."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)  # by Python, so that it restarts no system call
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


MOMENT_S = 30e-6
_TURNS = 16


def poll_busily(is_free: Callable[[], bool]) -> None:
    """From now on pyfuse3 looks for the kernel's next request for a moment, before the thread goes to sleep over it;
    `is_free` tells whether the thread has nothing else to do.

    A program that has got an answer asks the next question a few microseconds later: `cat` looks up, opens, reads and
    closes. To sleep and to be woken, by way of trio, takes longer than most answers (measured: open, read and close of
    a point 240 us, of which 70 went there). Every sixteenth wait goes to trio all the same, so that whatever else it
    has to do is done. Without it open, read and close of an offset point take 1.84 times what they take on the floor
    of `scripts/bench points` (147 us), however quick the lookup is, and 1.7 times is the goal.

    pyfuse3's tasks take turns at that, and pass a lock from one to the next, which takes a round of trio's loop for
    each request. Here the task that has answered goes on itself, and another takes over when it has to wait (with
    trio's lock open, read and close of a point take 137 us instead of 85, on one processor 176 instead of 138).

    pyfuse3 lets its `trio` be replaced, as `pyfuse3.asyncio` does. Only how it waits for the kernel is another here.
    """
    lowlevel = SimpleNamespace(**{**vars(trio.lowlevel), "wait_readable": _BusyWait(is_free).wait_readable})
    changed = {**vars(trio), "lowlevel": lowlevel, "Lock": BargingLock}
    pyfuse3.trio = SimpleNamespace(**changed)  # type: ignore[attr-defined]


class _BusyWait:
    """Waits for one descriptor, the session's."""

    def __init__(self, is_free: Callable[[], bool]) -> None:
        self._is_free = is_free
        self._poll: Callable[[int], object] | None = None
        self._turn = 0

    async def wait_readable(self, descriptor: int) -> None:
        """As `trio.lowlevel.wait_readable`, but not always a checkpoint."""
        self._turn = (self._turn + 1) % _TURNS
        if self._turn and self._is_free():
            poll = self._poll or self._poller(descriptor)
            until = perf_counter() + MOMENT_S
            while perf_counter() < until:
                if poll(0):
                    return
        await trio.lowlevel.wait_readable(descriptor)

    def _poller(self, descriptor: int) -> Callable[[int], object]:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        self._poll = poller.poll
        return poller.poll


class BargingLock:
    """A lock that its last holder may take again before those that wait for it, and no checkpoint while it is free.

    One of those that wait is woken when it is laid down, and takes it if it still lies there by then.
    """

    def __init__(self) -> None:
        self._held = False
        self._woken = False
        self._waiting = trio.lowlevel.ParkingLot()

    async def __aenter__(self) -> None:
        while self._held:
            try:
                await self._waiting.park()
            finally:
                self._woken = False
        self._held = True

    async def __aexit__(self, *_: object) -> None:
        self._held = False
        if not self._woken and self._waiting:
            self._woken = True
            self._waiting.unpark()
