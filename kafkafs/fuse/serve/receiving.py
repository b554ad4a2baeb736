"""The wait for the next request, which is never in a read that does not end.

The kernel can withdraw a request between poll and read: the reader is killed before the request was read, or the
request is answered while the kernel is about to report an interrupt. So the kernel may say that there is something to
read, and then there is nothing. pyfuse3 reads from a descriptor that blocks and holds the interpreter's lock meanwhile:
all threads would stand still, the watchdog with them, until somebody happened to ask for something else. (The same is
told of libfuse's other users: libfuse/libfuse#1194.)

A clock of the kernel's, which needs no thread of ours, interrupts that read; pyfuse3 takes the interrupt for "look
again". (A descriptor that does not block is no way out: pyfuse3 would end the mount over the first EAGAIN.)
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

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
