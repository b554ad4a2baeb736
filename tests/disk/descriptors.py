"""Descriptors of this process: those that it has of a place, and few that it may have.

Threads of clients, servers and libraries that an earlier test has started open and close their own at any time: a test
counts those of its own directory, and never all.
"""

import gc
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path


def open_below(place: Path) -> list[str]:
    """What this process holds open of `place` itself and below, by its path; behind one that is gone, " (deleted)".

    What no test holds any more is closed before."""
    gc.collect()
    links = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(link for link in links if link == os.fspath(place) or link.startswith(f"{place}/"))


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Lets this process open nothing more, whatever its other threads close meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def few_descriptors(more: int) -> Iterator[int]:
    """Lets this process open only so many more files; the limit. One with a high number leaves no room for others.

    What no test holds any more is closed before, here too: it would make room."""
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(fd) for fd in os.listdir("/proc/self/fd")}
    limit = next(islice((number for number in count() if number not in taken), more, None))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
