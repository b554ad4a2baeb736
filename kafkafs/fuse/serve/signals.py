"""Tell if a process that waits inside a read has been sent a signal.

pyfuse3 ignores the kernel's INTERRUPT, so a reader that waits for new records could not even be killed. The cure: look
into `/proc/PID/status` while it waits. A signal that is pending and not blocked, and one that the process ignores never
becomes pending, wants the reader back: its read is answered with EINTR.

The process that opened the file is known; the one that reads may be its child (`exec 3<file; cat <&3`), or its opener
may be gone. A confined process cannot see which process has which file open. But a reader that has been sent a signal
and cannot take it sleeps uninterruptibly, as nothing else does for long. `inheritors` finds the processes that may be
the reader.

The rule, which `waiting` applies: a read that waits ends with EINTR where
  - the opener has a signal pending that it does not block,
  - or one of its heirs has, and sleeps uninterruptibly, as only a reader that cannot take its signal does,
  - or another process of its session, which is neither opener nor heir of any file that is read here,
  - or neither the opener nor any of its heirs is to be seen (they have ended, or live in another process namespace):
    nothing can tell what became of the reader.
Ending a read for nothing costs a program that reads in a loop one more read; not ending it leaves a process that cannot
be killed. So it errs on the side of ending.
"""

import os
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import NamedTuple

_PIECE = 4096
"""Bytes read at once. A member of hundreds of groups has a longer status: they are before its signals."""


def interrupted(pid: int) -> bool | None:
    """True if an unblocked signal waits for the process or thread; None if there is no such process."""
    status = read_file(f"/proc/{pid}/status")
    return None if status is None else _signal_waits(status)


def stuck(pid: int) -> bool | None:
    """True if such a signal waits and the process sleeps uninterruptibly (or its first thread alone has ended)."""
    status = read_file(f"/proc/{pid}/status")
    if status is None:
        return None
    state = status[status.find(b"\nState:\t") + 8 :][:1]
    sleeps = state == b"D" or (state == b"Z" and b"\nThreads:\t1\n" not in status)
    return sleeps and _signal_waits(status)


def _signal_waits(status: bytes) -> bool:
    at = status.find(b"\nSigPnd:")
    if at < 0:
        return False
    lines = status[at + 1 : at + 120].split(b"\n")  # SigPnd, ShdPnd, SigBlk: 16 hex digits each
    own, shared, blocked = (int(line[7:], 16) for line in lines[:3])
    return (own | shared) & ~blocked != 0


@dataclass(frozen=True, slots=True)
class Opener:
    """The process or thread that opened a file, and its session, by which its children are known when it has ended."""

    pid: int
    session: int


def opener(pid: int) -> Opener | None:
    """Asked while the file is being opened; None if the process cannot be seen (another namespace, `hidepid`)."""
    found = _parent_and_session(pid) if pid else None
    return None if found is None else Opener(pid, found[1])


class Inheritors(NamedTuple):
    """The processes that may have inherited an open file: `heirs` descend from its opener, or are those of its session
    where it is gone. `mates` are all others of its session: a child whose own parent has ended is no descendant."""

    heirs: Set[int] = frozenset()
    mates: Set[int] = frozenset()


def inheritors(openers: Iterable[Opener]) -> dict[Opener, Inheritors]:
    """For each opener those that live now. One walk over `/proc/*/stat`."""
    family = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if (found := _parent_and_session(pid)) is not None:
            family[pid] = found
    return {one: _inheritors(one, family) for one in openers}


def _inheritors(opener: Opener, family: dict[int, tuple[int, int]]) -> Inheritors:
    session = {pid for pid, (_, session) in family.items() if session == opener.session != 0}
    if opener.pid not in family:
        return Inheritors(session)
    found, before = {opener.pid}, 0
    while len(found) > before:
        before = len(found)
        found |= {pid for pid, (parent, _) in family.items() if parent in found}
    return Inheritors(found - {opener.pid}, session - found)


def _parent_and_session(pid: int) -> tuple[int, int] | None:
    line = read_file(f"/proc/{pid}/stat")
    if line is None:
        return None
    fields = line[line.rfind(b")") + 2 :].split(b" ")  # behind the name: state, parent, group, session
    return int(fields[1]), int(fields[3])


def read_file(path: str) -> bytes | None:
    """The content of a small file of `/proc`. None if it cannot be read, or is empty."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = b""
        while more := os.read(fd, _PIECE):
            found += more
            if len(more) < _PIECE:
                break
        return found or None
    except OSError:
        return None
    finally:
        os.close(fd)
