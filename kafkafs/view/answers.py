"""The last answers of points, for the `open` that follows a lookup."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar
from weakref import ReferenceType, ref

Value = TypeVar("Value")

BUDGET = 16 << 20
"""Bytes of answers that are kept; one that is larger is made again."""

OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""


class AnswerCache(Generic[Value]):
    """The last answers, for the `open` that follows a lookup, by the node that gave them and by their kind: the newest
    ones, up to `BUDGET` bytes together.

    A lookup has to know the size of what it names, so it has the content in hand; the open a moment later would make it
    once more. The nodes themselves hold nothing: a kernel with memory to spare keeps a million of them. (Without it,
    open, read and close of a `.jsonl` point in batches of 16 KB take 1.3 to 1.4 times as long.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, tuple[ReferenceType[object], Value, int]] = OrderedDict()
        self._size = 0

    def get(self, node: object, state: object) -> Value | None:
        """Return the answer of `node` while the log was in this `state`, or None if it is forgotten."""
        with self._lock:
            known = self._answers.get(node)
            return known[1] if known is not None and known[0]() is state else None

    def last(self, node: object) -> Value | None:
        """Return the last answer of `node`, in whatever state, or None if it is forgotten."""
        with self._lock:
            known = self._answers.get(node)
            return known[1] if known is not None else None

    def put(self, node: object, state: object, answer: Value, size: int) -> None:
        """Remembers an answer of `size` bytes, and forgets the oldest ones for it."""
        if size > BUDGET:
            return
        with self._lock:
            before = self._answers.pop(node, None)
            self._answers[node] = (ref(state), answer, size)
            self._size += size - (before[2] if before is not None else 0)
            while self._size > BUDGET:
                _, (_, _, forgotten) = self._answers.popitem(last=False)
                self._size -= forgotten
