"""Claims: each process that writes to an output has a file there, which names process, host and partitions.

A claim is of the whole output, or of some of its parts: partitions, and what the partitions of a topic share. Two
claims that have a part in common exclude each other, and a claim of the whole excludes every other.

A claim first asks for parts. It is written before anything is read. A run that then finds none of its parts in another
living claim has them, and writes that down. A part that another run has is given up. If two runs ask for a part at the
same time, the one whose claim comes first by name goes on asking until the other one has given way. So one of the two
gets the part, and neither ever goes on beside the other. That takes no more of a file system than that a file which is
written shows in the next listing, which object stores promise, too.

The claim of a dead process is taken over: on this machine the kernel knows if the process lives. For a claim of another
machine or container, only one thing is known: a living process writes its claim again and again. An export that was
stopped for so long that another took its place finds its claim gone, and goes no further. Earlier releases take a claim
of parts for one of the whole.
"""

import itertools
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

_renewing = threading.Lock()
"""Held while a claim is renewed and while a process is forked: a fork must not copy a lock that Arrow holds."""
os.register_at_fork(before=_renewing.acquire, after_in_parent=_renewing.release, after_in_child=_renewing.release)
_ATTEMPTS = 5


class Timing(NamedTuple):
    """Times in seconds: a living process writes its claim again after `renewed_s`. A claim of another machine counts
    as dead after `expired_s` without a write. After a conflict, a process waits for at most `pause_s`. A process that
    asks first waits for at most `patience_s` until the others have given way."""

    renewed_s: float = 15.0
    expired_s: float = 120.0
    pause_s: float = 0.4
    patience_s: float = 60.0


_TIMING = Timing()


class Claimant(NamedTuple):
    """The process that wrote a claim. `machine` identifies the machine: the boot id, and the PID namespace."""

    host: str
    pid: int
    machine: str
    started: int  # in clock ticks since the boot
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class _Other(NamedTuple):
    """A living claim of another process: a description of the process, the parts that it has, and those that it asks
    for. None is the whole output."""

    who: str
    name: str
    held: Parts | None
    asked: Parts | None

    def has(self, part: str) -> bool:
        """True if the process has the part."""
        return self.held is None or part in self.held

    def asks(self, part: str) -> bool:
        """True if the process asks for the part, and may have got it."""
        return self.asked is None or part in self.asked


class OutputClaim:
    """This process's claim. Call `check` before each write to a file that another process would write, too.

    `parts` are those that the process has; None for the whole output.
    """

    def __init__(self, out: Output, timing: Timing) -> None:
        """Prepare a claim without parts. `claim` and `claim_all` write it."""
        self._out, self._timing = out, timing
        self.name = f"{CLAIM}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.parts: Parts | None = frozenset()
        self._asked: Parts | None = frozenset()
        self._myself = _myself()._asdict()
        self._is_written = False
        self._ended = threading.Event()

    def check(self) -> None:
        """Raise DiskError if another export has taken over."""
        if self._out.read(self.name) is None:
            raise DiskError(
                f"another export took over {str(self._out)!r} while this one was stopped, or somebody removed"
                f" {self.name!r}; what it wrote stays, and the same command goes on from there"
            )

    def claim(self, wanted: Iterable[str]) -> dict[str, str]:
        """Claim more parts. Return the parts that other processes have, each with a description of its process."""
        asked = frozenset(wanted)
        deadline = time.monotonic() + self._timing.patience_s
        for attempt in itertools.count():
            self._write(self.parts, asked)
            busy, has_to_give_way = dict[str, str](), set[str]()
            for other in self._others():
                met = {part for part in asked if other.has(part) or other.asks(part)}
                busy |= dict.fromkeys(met, other.who)
                has_to_give_way |= {part for part in met if other.has(part) or not self._is_before(other)}
            waits_for = busy.keys() - has_to_give_way
            is_last = time.monotonic() > deadline or (attempt + 1 >= _ATTEMPTS and not waits_for)
            self._write((self.parts or frozenset()) | (asked - busy.keys()), frozenset(() if is_last else waits_for))
            if not busy or is_last:
                break
            asked = frozenset(busy)
            self._pause()
        return busy

    def release(self, parts: Iterable[str]) -> None:
        """Give up some parts, so that other processes can claim them."""
        self._write((self.parts or frozenset()) - frozenset(parts), frozenset())

    def claim_all(self) -> None:
        """Claim the whole output. Raise UsageError if another living process has a claim."""
        deadline = time.monotonic() + self._timing.patience_s
        for attempt in itertools.count():
            if not self._is_written:
                self._write(frozenset(), None)
            others = self._others()
            if not others:
                self._write(None, frozenset())
                return
            waits = all(each.asked is None and self._is_before(each) for each in others)
            if not waits or time.monotonic() > deadline:
                self._out.remove(self.name)
                self._is_written = False
                if attempt + 1 >= _ATTEMPTS:
                    break
            self._pause()
        raise UsageError(
            f"another export writes to {str(self._out)!r}: {others[0].who}; wait for its end, or name another directory"
        )

    def _is_before(self, other: _Other) -> bool:
        """True if the other one gives way, where both ask. A claim of the whole output gives way to claims of parts."""
        return (self._asked is None, self.name) < (other.asked is None, other.name)

    def _pause(self) -> None:
        """Wait for a random time."""
        time.sleep(random.uniform(0.1, self._timing.pause_s))

    def _others(self) -> list[_Other]:
        """The other living claims. The claims of dead processes are taken away."""
        try:
            return _others(self._out, self.name, self._timing.expired_s)
        except BaseException:
            self._out.remove(self.name)
            raise

    def _write(self, parts: Parts | None, asked: Parts | None) -> None:
        if self._is_written and (parts, asked) == (self.parts, self._asked):
            return
        words: dict[str, object] = {} if parts is None else {"parts": sorted(parts)}
        if asked != frozenset():
            words |= {"asked": None if asked is None else sorted(asked)}
        with _renewing:
            if self._is_written:
                self.check()
            self._words = self._myself | words
            self._out.write_json(self.name, self._words)
            self.parts, self._asked, self._is_written = parts, asked, True

    def _renew(self) -> None:
        """Write the claim again and again, which shows that this process lives. Do not write it again if it is gone."""
        while not self._ended.wait(self._timing.renewed_s):
            with _renewing, suppress(KafkafsError):
                self.check()
                self._out.write_json(self.name, self._words)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context in which the claim is renewed, and removed at its end."""
        renewing = threading.Thread(target=self._renew, name="kafkafs-claim", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._ended.set()
            renewing.join()
            self._out.remove(self.name)


@contextmanager
def claimed(out: Output, timing: Timing = _TIMING, *, in_parts: bool = False) -> Iterator[OutputClaim]:
    """Hold the directory for this process. Raise UsageError if another living process writes there.

    `in_parts`: hold no part at first. `claim` claims parts, and other processes may hold other parts.
    """
    out.check()
    claim = OutputClaim(out, timing)
    with out.without_empty_directories():
        if in_parts:
            claim.claim(())
        else:
            claim.claim_all()
        with claim.held():
            yield claim


def _others(out: Output, own: str, expired_s: float) -> list[_Other]:
    """See `OutputClaim`. If the own claim was removed, the process that removed it counts as another one."""
    times = out.times(CLAIM)
    now = times.pop(own, None)
    if now is None:
        return [_Other("it has removed this one's claim", "", None, frozenset())]
    found = []
    for name, modified in sorted(times.items()):
        text = out.read(name)
        if text is None:
            continue  # it has ended meanwhile
        claimant, held, asked = _parsed(text)
        lives = _lives(claimant)
        if lives or (lives is None and now - modified < expired_s):
            who = f"its claim is {name!r}" if claimant is None else str(claimant)
            found.append(_Other(who, name, held, asked))
        else:
            out.remove(name)
    return found


def _parsed(text: bytes) -> tuple[Claimant | None, Parts | None, Parts | None]:
    """Return the claimant, None if its name is damaged, and the parts that it has and asks for, None for the whole."""
    try:
        words = json.loads(text)
        held, asked = words.pop("parts", None), words.pop("asked", ())
        return Claimant(**words), _parts(held), _parts(asked)
    except (ValueError, TypeError, AttributeError):
        return None, None, frozenset()


def _parts(words: Iterable[str] | None) -> Parts | None:
    return None if words is None else frozenset(map(str, words))


def _myself() -> Claimant:
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Claimant(socket.gethostname(), os.getpid(), _machine(), _started(os.getpid()) or 0, since)


def _lives(claimant: Claimant | None) -> bool | None:
    """Return True if the process lives; None if it is on another machine."""
    if claimant is None or claimant.machine != _machine():
        return None
    return _started(claimant.pid) == claimant.started


def _machine() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"


def _started(pid: int) -> int | None:
    """Return the start time of a process, in clock ticks since the boot; None if it does not exist or has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19]) if fields[0] != b"Z" else None
