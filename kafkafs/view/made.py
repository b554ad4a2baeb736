"""The last answers, for the `open` that follows a lookup: those of points, and of files whose text is made whole when
their size is asked for."""

import threading
from collections import OrderedDict
from itertools import count
from typing import Generic, TypeVar
from weakref import ReferenceType, ref

from kafkafs.view.node import Attributes, BytesContent, Content, NoXattrs, TextContent

Value = TypeVar("Value")

ANSWERS = 16 << 20
"""Bytes of points' answers that are kept; one that is larger is made again."""

OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""

MADE = 32 << 20
"""Bytes of made texts that are kept for an `open` to come; of one that has a size, too, whatever the options say."""

_numbers = count(1)


class AnswerCache(Generic[Value]):
    """The last answers, for the `open` that follows a lookup, by the node that gave them and by their kind: the newest
    ones, up to `budget` bytes together.

    A lookup has to know the size of what it names, so it has the content in hand; the open a moment later would make it
    once more. The nodes themselves hold nothing: a kernel with memory to spare keeps a million of them. (Without it,
    open, read and close of a `.jsonl` point in batches of 16 KB take 1.3 to 1.4 times as long.) No
    `functools.lru_cache`, which counts entries: an answer takes some kilobytes or some megabytes.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, tuple[Value, int]] = OrderedDict()
        self._size = 0

    def last(self, node: object) -> Value | None:
        """Return the last answer of `node`, or None if it is forgotten."""
        with self._lock:
            answer, _ = self._answers.get(node, (None, 0))
            return answer

    def put(self, node: object, answer: Value, size: int) -> None:
        """Remembers an answer of `size` bytes, and forgets the oldest ones for it."""
        if size > self._budget:
            return
        with self._lock:
            _, before = self._answers.pop(node, (None, 0))
            self._answers[node] = answer, size
            self._size += size - before
            while self._size > self._budget:
                _, (_, forgotten) = self._answers.popitem(last=False)
                self._size -= forgotten


class MadeText:
    """A text, made whole for a lookup of its size."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.number = next(_numbers)


class MadeTexts:
    """The texts that were made last, kept for the `open` that follows. `limit`: bytes up to which they have a size."""

    def __init__(self, limit: int, budget: int = MADE) -> None:
        self.limit = min(limit, budget)
        self._kept: AnswerCache[MadeText] = AnswerCache(budget)

    def keep(self, text: MadeText) -> None:
        """Keeps it for a while."""
        self._kept.put(text.number, text, len(text.data))


class MadeFile(NoXattrs):
    """A file whose text is made again for each lookup of its size. An open returns the text whose size was returned."""

    _texts: MadeTexts
    _shown: ReferenceType[MadeText] | None = None

    def _make(self) -> bytes:
        raise NotImplementedError

    def _about(self) -> Attributes:
        """Its attributes but for the size."""
        raise NotImplementedError

    def attributes(self) -> Attributes:
        """The true size, for which the text is made; 0 of one that is too long."""
        if not self._texts.limit:
            return self._about()
        text = MadeText(self._make())
        about = self._about()
        if len(text.data) > self._texts.limit:
            self._shown = None
            return about
        self._texts.keep(text)
        self._shown = ref(text)
        return about._replace(size=len(text.data), version=text.number, is_fixed=True)

    def open(self) -> Content:
        """The text whose size was returned last. If there is none, or it was forgotten, make a new one."""
        shown = self._shown  # another thread may replace it meanwhile
        text = shown() if shown is not None else None
        if text is None:
            text = MadeText(self._make())
        return TextContent(text.data) if len(text.data) > self._texts.limit else BytesContent(text.data, text.number)
