"""What one process has had to do with object stores: their failures, and what it has in memory of them.

All readers of a process share one `StoreSession`: together they have one exit code and one limit of memory. Processes
that are forked from it report their failures to it.
"""

import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.errors import StoreError

TOGETHER_NS = 10**9
"""Paths that a user names within this time belong to one query."""


class StoreSession:
    """See the module."""

    def __init__(self, together_ns: int = TOGETHER_NS) -> None:
        self._together_ns = together_ns
        self._first = mmap.mmap(-1, 1 << 12)  # the first failure, shared with forked processes
        self._latest = ""
        self._failures = 0
        self._named_ns = 0
        self._chunks: dict[int, ChunkCache] = {}
        self.seen_before: dict[str, Any] = {}
        """By address, what another process saw (`bucket_directory.Seen`). A mount's daemon must not ask a store before
        it is confined, so it begins with the answers that the process before it got."""

    def report(self, sentence: str) -> None:
        """Remember that a read of a store has failed, even if its reader passes over that."""
        self._latest, self._failures = sentence, self._failures + 1
        if not self.first_failure():
            data = sentence.encode("utf-8", "replace")[: len(self._first)]
            self._first[: len(data)] = data

    def first_failure(self) -> str:
        """The first failure, in a sentence; empty if there was none. A command asks at its end."""
        return self._first[:].rstrip(b"\0").decode("utf-8", "replace")

    @contextmanager
    def complete(self) -> Iterator[None]:
        """Raise StoreError at the end if a read of a store has failed in this process meanwhile, even if skipped."""
        before = self._failures
        yield
        if self._failures != before:
            raise StoreError(self._latest)

    def chunks(self) -> ChunkCache:
        """The cache that all directories share. A forked process has its own: a copied lock may never be released."""
        return self._chunks.setdefault(os.getpid(), ChunkCache())

    def named_ns(self) -> int:
        """The time at which a user names a path: the same for all paths of one query."""
        now = time.time_ns()
        if now - self._named_ns > self._together_ns:
            self._named_ns = now
        return self._named_ns


current = StoreSession()
