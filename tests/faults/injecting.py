"""System calls of a mount's daemon made to fail from outside, by strace: which ones, how, and how many it were."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mounting import PATIENCE_S, wait_until

READS = "pread64,preadv2"
SYSTEM_CALLS = (READS, "openat2", "newfstatat,fstat", "getdents64", "fgetxattr,getxattr", "mmap", "lseek,openat")
"""Not brk: the kernel never fails it with an errno, and the C library takes one for the heap's new end and writes
there, sooner or later."""

MADE_ALL_THE_TIME = SYSTEM_CALLS[:5]
"""The others are made now and then: when memory is short, or by the status of the mount."""

OUTCOMES = (
    "error=EIO", "error=ENOENT", "error=EACCES", "error=EMFILE", "error=ENOMEM", "error=EINTR", "error=ESTALE",
    "error=EAGAIN", "delay_enter=50000",
)  # fmt: skip
END_OF_DIRECTORY = ("getdents64", "error=ENOENT")
"""What the C library takes for the end of a listing: the kernel says it of a removed directory only, and the look that
follows each listing finds that out. Injected into one that stands, nobody could tell it from the end."""

UNREAD = (READS, "retval=100")
"""A read that says it has read and has not: the bytes are those of memory. Only what has a checksum can tell."""

KINDS = [(calls, outcome) for calls in SYSTEM_CALLS for outcome in OUTCOMES] + [(READS, "retval=0"), UNREAD]
"""All combinations but that one; a read can also come to an early end."""
KINDS.remove(END_OF_DIRECTORY)


class Injected:
    """What one injection did; `count` is known when it is over."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.count = 0


@contextmanager
def injecting(pid: int, calls: str, outcome: str, first: int = 1, step: int = 3) -> Iterator[Injected]:
    """Every `step`-th of these calls of a process, from the `first` on, has this outcome."""
    injected = Injected(f"{calls}: {outcome}, from call {first} every {step}th")
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "strace")
        inject = f"inject={calls}:{outcome}:when={first}+{step}"
        process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", log, "-p", str(pid), "-e", f"trace={calls}", "-e", inject],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or all_traced(pid))
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield injected
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
            text = log.read_text(errors="replace")
            injected.count = text.count("(INJECTED)") + text.count("(DELAYED)")


def all_traced(pid: int) -> bool:
    """Whether a tracer has hold of each thread of a process."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
        if "TracerPid:\t0\n" in status:
            return False
    return True
