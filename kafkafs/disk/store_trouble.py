"""Failures of buckets' stores, in this process and in those forked from it.

A reader may pass over what it cannot read, and its answer then lacks something. So a command asks `trouble` at its end,
and a task of a job runs inside `complete`.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from kafkafs.errors import StoreError


class _Latest:
    sentence = ""
    count = 0


_shared = mmap.mmap(-1, 1 << 12)  # shared with processes that are forked from this one
_latest = _Latest()


def tell(sentence: str) -> None:
    """Remember that a read of a store has failed."""
    _latest.sentence, _latest.count = sentence, _latest.count + 1
    if not trouble():
        data = sentence.encode("utf-8", "replace")[: len(_shared)]
        _shared[: len(data)] = data


def trouble() -> str:
    """Return the first failure, in a sentence; empty if there was none."""
    return _shared[:].rstrip(b"\0").decode("utf-8", "replace")


@contextmanager
def complete() -> Iterator[None]:
    """Raise StoreError at the end if a read of a store has failed in this process meanwhile, even if skipped."""
    before = _latest.count
    yield
    if _latest.count != before:
        raise StoreError(_latest.sentence)
