"""Claims: each process that writes to an output has a file there, which names process, host and partitions.

A claim is of the whole output, or of some of its parts: partitions, and what the partitions of a topic share. Two
claims that have a part in common exclude each other, and a claim of the whole excludes every other.

A claim is written before anything is read. A run that then finds a part in another living claim takes that part out of
its own again, waits for a moment, and asks once more. Two runs that meet both give way, and neither ever goes on beside
the other. That takes no more of a file system than that a file which is written shows in the next listing, which object
stores promise, too.

The claim of a dead process is taken over: on this machine the kernel knows if the process lives. For a claim of another
machine or container, only one thing is known: a living process writes its claim again and again. An export that was
stopped for so long that another took its place finds its claim gone, and goes no further. Earlier releases take a claim
of parts for one of the whole.
"""

import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.spark.export.output import Output

CLAIM = "_kafkafs_export.claim-"
"""How the names of claims begin."""

Parts = frozenset[str]
"""Names of what a claim is of."""

_RENEWED_S, _EXPIRED_S = 15.0, 120.0
_renewing = threading.Lock()
"""Held while a claim is renewed and while a process is forked: a fork must not copy a lock that Arrow holds."""
os.register_at_fork(before=_renewing.acquire, after_in_parent=_renewing.release, after_in_child=_renewing.release)
_ATTEMPTS, _PAUSE_S = 5, 0.4


class Claimant(NamedTuple):
    """A process as a claim tells of it. The identity of the `machine`: the boot, and the name space of its process
    ids."""

    host: str
    pid: int
    machine: str
    started: int  # in clock ticks since the boot
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class _Other(NamedTuple):
    """A living claim of another process: who it is, and its parts; None for the whole."""

    who: str
    parts: Parts | None


class OutputClaim:
    """This process's place as the one that writes; `check` before whatever another would write, too."""

    def __init__(self, out: Output, parts: Parts | None = None) -> None:
        """A claim of the whole output, or of some parts of it. `take` is next."""
        self._out = out
        self.name = f"{CLAIM}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.parts = parts
        self._myself = _myself()._asdict()
        self._is_written = False
        self._ended = threading.Event()

    def check(self) -> None:
        """DiskError where another export has taken over."""
        if self._out.read(self.name) is None:
            raise DiskError(
                f"another export took over {str(self._out)!r} while this one was stopped, or somebody removed"
                f" {self.name!r}; what it wrote stays, and the same command goes on from there"
            )

    def take(self, wanted: Iterable[str]) -> dict[str, str]:
        """Claims more parts. Return those that others have, and who each of these is."""
        left, busy = frozenset(wanted), dict[str, str]()
        for attempt in range(_ATTEMPTS):
            had = self.parts or frozenset()
            self._write(had | left)
            others = self._others()
            busy = {part: other.who for other in others for part in left if other.parts is None or part in other.parts}
            if not busy:
                break
            self._write((had | left) - busy.keys())
            left = frozenset(busy)
            time.sleep(random.uniform(0.1, _PAUSE_S) * (attempt + 1 < _ATTEMPTS))
        return busy

    def release(self, parts: Iterable[str]) -> None:
        """Lets others have some parts."""
        self._write((self.parts or frozenset()) - frozenset(parts))

    def _take_all(self) -> None:
        for attempt in range(_ATTEMPTS):
            self._write(None)
            others = self._others()
            if not others:
                return
            self._out.remove(self.name)
            self._is_written = False
            time.sleep(random.uniform(0.1, _PAUSE_S) * (attempt + 1 < _ATTEMPTS))
        raise UsageError(
            f"another export writes to {str(self._out)!r}: {others[0].who}; wait for its end, or name another directory"
        )

    def _others(self) -> list[_Other]:
        """The other living claims. The claims of dead processes are taken away."""
        try:
            return _others(self._out, self.name)
        except BaseException:
            self._out.remove(self.name)
            raise

    def _write(self, parts: Parts | None) -> None:
        text = json.dumps(self._myself | ({} if parts is None else {"parts": sorted(parts)})).encode()
        with _renewing:
            if self._is_written:
                self.check()
            self._put(text)
            self.parts, self._is_written = parts, True

    def _put(self, text: bytes) -> None:
        self._text = text
        with self._out.writing(self.name) as file:
            file.write(text)

    def _renew(self) -> None:
        """Until the end, as long as it is there: shows that this process lives."""
        while not self._ended.wait(_RENEWED_S):
            with _renewing, suppress(KafkafsError):
                self.check()
                self._put(self._text)

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
def claimed(out: Output) -> Iterator[OutputClaim]:
    """Holds the directory for this process. UsageError where another one that lives writes there."""
    out.check()
    claim = OutputClaim(out)
    with out.without_empty_directories():
        claim._take_all()
        with claim._held():
            yield claim


@contextmanager
def claimed_in_parts(out: Output) -> Iterator[OutputClaim]:
    """Holds no part of the directory yet: `take` asks for some. Others may hold other parts."""
    out.check()
    claim = OutputClaim(out, frozenset())
    with out.without_empty_directories():
        claim.take(())
        with claim._held():
            yield claim


def _others(out: Output, own: str) -> list[_Other]:
    """See `OutputClaim`. If somebody removed the own claim, that somebody counts as one of them."""
    times = out.times(CLAIM)
    now = times.pop(own, None)
    if now is None:
        return [_Other("it has removed this one's claim", None)]
    found = []
    for name, modified in sorted(times.items()):
        text = out.read(name)
        if text is None:
            continue  # it has ended meanwhile
        claimant, parts = _parsed(text)
        lives = _lives(claimant)
        if lives or (lives is None and now - modified < _EXPIRED_S):
            found.append(_Other(f"its claim is {name!r}" if claimant is None else str(claimant), parts))
        else:
            out.remove(name)
    return found


def _parsed(text: bytes) -> tuple[Claimant | None, Parts | None]:
    """Return the claimant, None if its name is damaged, and the parts, None for the whole output."""
    try:
        words = json.loads(text)
        parts = words.pop("parts", None)
        return Claimant(**words), None if parts is None else frozenset(map(str, parts))
    except (ValueError, TypeError, AttributeError):
        return None, None


def _myself() -> Claimant:
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Claimant(socket.gethostname(), os.getpid(), _machine(), _started(os.getpid()) or 0, since)


def _lives(claimant: Claimant | None) -> bool | None:
    """True if it lives. None if it is another machine's."""
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
