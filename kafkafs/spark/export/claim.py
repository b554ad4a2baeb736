"""One export writes into a directory at a time: who does has a file there, the claim, that names process and host.

A claim is made before the plan is read. Whoever then finds another one that lives takes its own away again, waits for a
moment, and asks once more; two that meet so both give way, and neither ever goes on beside the other. That takes no
more of a file system than that a file which is written shows in the next listing, which object stores promise, too.

What a dead process left is taken over: on this machine the kernel knows whether it lives. Of another machine's, and of
another container's, nothing is known but that its claim is written anew again and again. An export that was stopped
for so long that another took its place finds its claim gone, and goes no further.
"""

import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.spark.export.output import Output

CLAIM = "_kafkafs_export.claim-"
"""How the names of claims begin."""

_RENEWED_S, _EXPIRED_S = 15.0, 120.0
_ATTEMPTS, _PAUSE_S = 5, 0.4


class Claimant(NamedTuple):
    """A process as a claim tells of it. Of the `machine`: the boot, and the name space of its process ids."""

    host: str
    pid: int
    machine: str
    started: int  # in clock ticks since the boot
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class Claim:
    """This process's place as the one that writes; `check` before whatever another would write, too."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.name = f"{CLAIM}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._told = json.dumps(_myself()._asdict()).encode()
        self._ended = threading.Event()

    def check(self) -> None:
        """DiskError where another export has taken over."""
        if self._out.read(self.name) is None:
            raise DiskError(
                f"another export took over {str(self._out)!r} while this one was stopped, or somebody removed"
                f" {self.name!r}; what it wrote stays, and the same command goes on from there"
            )

    def _write(self) -> None:
        with self._out.writing(self.name) as file:
            file.write(self._told)

    def _renew(self) -> None:
        """Until the end, as long as it is there: shows that this process lives."""
        while not self._ended.wait(_RENEWED_S):
            with suppress(KafkafsError):
                self.check()
                self._write()

    @contextmanager
    def _held(self) -> Iterator[None]:
        renewing = threading.Thread(target=self._renew, name="kafkafs-claim", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._ended.set()
            renewing.join()
            self._out.remove(self.name)


@contextmanager
def claimed(out: Output) -> Iterator[Claim]:
    """Holds the directory for this process. UsageError where another one that lives writes there."""
    out.check()
    claim = Claim(out)
    with out.without_empty_directories():
        _take(out, claim)
        with claim._held():
            yield claim


def _take(out: Output, claim: Claim) -> None:
    for attempt in range(_ATTEMPTS):
        claim._write()
        try:
            other = _other(out, claim.name)
        except BaseException:
            out.remove(claim.name)
            raise
        if other is None:
            return
        out.remove(claim.name)
        time.sleep(random.uniform(0.1, _PAUSE_S) * (attempt + 1 < _ATTEMPTS))
    raise UsageError(f"another export writes to {str(out)!r}: {other}; wait for its end, or name another directory")


def _other(out: Output, own: str) -> str | None:
    """Who else has a claim there, in words; what a dead process has left is taken away."""
    times = out.times(CLAIM)
    now = times.pop(own, None)
    if now is None:
        return "it has removed this one's claim"
    for name, modified in sorted(times.items()):
        told = out.read(name)
        if told is None:
            continue  # it has ended meanwhile
        claimant = _claimant(told)
        lives = _lives(claimant)
        if lives or (lives is None and now - modified < _EXPIRED_S):
            return f"its claim is {name!r}" if claimant is None else str(claimant)
        out.remove(name)
    return None


def _claimant(told: bytes) -> Claimant | None:
    try:
        return Claimant(**json.loads(told))
    except (ValueError, TypeError):
        return None


def _myself() -> Claimant:
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Claimant(socket.gethostname(), os.getpid(), _machine(), _started(os.getpid()) or 0, since)


def _lives(claimant: Claimant | None) -> bool | None:
    """Whether it does; None where it is another machine's."""
    if claimant is None or claimant.machine != _machine():
        return None
    return _started(claimant.pid) == claimant.started


def _machine() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"


def _started(pid: int) -> int | None:
    """When a process began; None where there is none, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19]) if fields[0] != b"Z" else None
