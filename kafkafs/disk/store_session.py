"""The state of one process about object stores: their failures, and the parts of them that it has in memory.

All readers of a process share one `StoreSession`: together they have one exit code and one limit of memory. Processes
that are forked from it report their failures to it.
"""

import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.errors import StoreError


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """The patience with a store, in seconds, and what is kept of it.

    One question takes less time than a mount grants a call (`fuse.serve.workers`), so that the sentence is the store's.
    """

    connect_s: float = 3.0  # until a store answers at all
    request_s: float = 5.0  # between two parts of an answer
    attempts: int = 2  # by the store's client, for one request
    question_s: float = 15.0  # for one question in all
    suspect_s: float = 2.0  # for one question, once one took too long, until one is answered
    listing_s: float = 300.0  # for a listing, a thousand keys a request: a data directory can have a million
    refuse_s: float = 5.0  # for so long a store that did not answer is not asked again: one caller has waited already
    slow_s: float = 1.0  # a question that failed sooner may be asked again at once
    waits_s: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # pauses before a question that failed is asked again
    page: int = 1000  # names that a store lists at a time (see `bucket`)
    names: int = 500_000  # names that a directory keeps; a folder that is listed once more must be as it was
    together_ns: int = 10**9  # paths that a user names within this time belong to one query


class StoreSession:
    """The state of this process about object stores."""

    def __init__(self, limits: StoreLimits = StoreLimits()) -> None:
        self.limits = limits
        self._first = mmap.mmap(-1, 1 << 12)  # the first failure, shared with forked processes
        self._latest = ""
        self._failures = 0
        self._named_ns = 0
        self._chunks: dict[int, ChunkCache] = {}
        self.seen_before: dict[str, Any] = {}
        """By address, what another process saw (`bucket_directory.SeenListings`). A mount's daemon must not ask a store
        before it is confined, so it begins with the answers that the process before it got."""

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
        if now - self._named_ns > self.limits.together_ns:
            self._named_ns = now
        return self._named_ns


current = StoreSession()
