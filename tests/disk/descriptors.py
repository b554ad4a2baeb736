"""Descriptors of this process: how many it has, and few that it may have."""

import gc
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


def descriptors() -> int:
    """How many are open. What no test holds any more is closed before, so that it is not meanwhile."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def few_descriptors(more: int) -> Iterator[int]:
    """Lets this process open only a few more files; the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(int(fd) for fd in os.listdir("/proc/self/fd")) + more
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
