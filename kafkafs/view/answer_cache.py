"""What was answered last, for the `open` that follows a lookup: few answers, since the kernel remembers many names.

A lookup has to know the size of what it names, so it has the content in hand; the open a moment later would make it
once more. The nodes themselves hold nothing: a kernel with memory to spare keeps a million of them. (Without
it, open, read and close of a `.jsonl` point in batches of 16 KB take 1.3 to 1.4 times as long.)
"""

import threading
from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar
from weakref import ReferenceType, ref

from kafkafs.format.batch import Batch
from kafkafs.log.segment import Segment

BUDGET = 16 << 20
"""Bytes of answers that are kept; one that is larger is made again."""

OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""

Answer = TypeVar("Answer")


class RecordAnswer(NamedTuple):
    """The record that a point leads to, without the batch's bytes, and what a view shows of it; None for null."""

    segment: Segment
    batch: Batch
    offset: int
    timestamp: int
    shown: bytes | None


class Explained(NamedTuple):
    """How the batch of a point was found, as text; its timestamp is -1 where it has none."""

    segment: Segment
    timestamp: int
    text: bytes


class AnswerCache(Generic[Answer]):
    """Answers by what gave them and what of; the newest ones, up to `BUDGET` bytes together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, tuple[ReferenceType[object], Answer, int]] = OrderedDict()
        self._size = 0

    def get(self, node: object, state: object) -> Answer | None:
        """What `node` answered while the log was in this `state`; None where that is forgotten."""
        with self._lock:
            known = self._answers.get(node)
            return known[1] if known is not None and known[0]() is state else None

    def put(self, node: object, state: object, answer: Answer, size: int) -> None:
        """Remember an answer of `size` bytes, and forget the oldest ones for it."""
        if size > BUDGET:
            return
        with self._lock:
            before = self._answers.pop(node, None)
            self._answers[node] = (ref(state), answer, size)
            self._size += size - (before[2] if before is not None else 0)
            while self._size > BUDGET:
                _, (_, _, forgotten) = self._answers.popitem(last=False)
                self._size -= forgotten
