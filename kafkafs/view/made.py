"""The last answers, for the `open` that follows a lookup: those of points, and of files whose text is made whole when
their size is asked for."""

import threading
from collections import deque
from itertools import count
from weakref import ReferenceType, ref

from kafkafs.view.node import Attributes, BytesContent, Content, NoXattrs, TextContent

ANSWERS = 16 << 20
"""Bytes of points' answers that are kept; one that is larger is made again."""

OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""

MADE = 32 << 20
"""Bytes of made texts that are kept for an `open` to come; of one that has a size, too, whatever the options say."""

_numbers = count(1)


class LastMade:
    """Keeps the values that were made last alive, for the `open` that follows a lookup: the newest ones, up to `budget`
    bytes together.

    A lookup has to know the size of what it names, so it has the content in hand; the open a moment later would make it
    once more. The node holds the value weakly: a kernel with memory to spare keeps a million of them. (Without it,
    open, read and close of a `.jsonl` point in batches of 16 KB take 1.3 to 1.4 times as long.)
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._kept: deque[tuple[object, int]] = deque()
        self._size = 0

    def keep(self, value: object, size: int) -> None:
        """Keeps a value of `size` bytes, and forgets the oldest ones for it."""
        if size > self._budget:
            return
        with self._lock:
            self._kept.append((value, size))
            self._size += size
            while self._size > self._budget:
                self._size -= self._kept.popleft()[1]


class MadeText:
    """A text, made whole for a lookup of its size."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.number = next(_numbers)


class MadeTexts(LastMade):
    """The texts that were made last. `limit`: bytes up to which they have a size."""

    def __init__(self, limit: int, budget: int = MADE) -> None:
        super().__init__(budget)
        self.limit = min(limit, budget)


class MadeFile(NoXattrs):
    """A file whose text is made again for each lookup of its size. An open returns the text whose size was returned."""

    _texts: MadeTexts
    _shown: ReferenceType[MadeText] | None = None

    def _make(self) -> bytes:
        raise NotImplementedError

    def _about(self) -> Attributes:
        """The attributes of the file, except the size."""
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
        self._texts.keep(text, len(text.data))
        self._shown = ref(text)
        return about._replace(size=len(text.data), version=text.number, is_fixed=True)

    def open(self) -> Content:
        """The text whose size was returned last. If there is none, or it was forgotten, make a new one."""
        shown = self._shown  # another thread may replace it meanwhile
        text = shown() if shown is not None else None
        if text is None:
            text = MadeText(self._make())
        return TextContent(text.data) if len(text.data) > self._texts.limit else BytesContent(text.data, text.number)
