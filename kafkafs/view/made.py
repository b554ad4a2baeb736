"""Files whose text is made whole when their size is asked for, and given to whoever opens them then."""

import threading
from collections import OrderedDict
from itertools import count
from weakref import ReferenceType, ref

from kafkafs.view.node import Attributes, BytesContent, Content, NoXattrs, TextContent

_BUDGET = 32 << 20
"""Bytes of made texts that are kept for an `open` to come; of one that has a size, too, whatever the options say."""

_numbers = count(1)


class MadeText:
    """A text, made whole for whoever asked for its size."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.number = next(_numbers)


class MadeTexts:
    """The texts that were made last, kept for the `open` that follows. `limit`: bytes up to which they have a size."""

    def __init__(self, limit: int) -> None:
        self.limit = min(limit, _BUDGET)
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, MadeText] = OrderedDict()
        self._size = 0

    def keep(self, text: MadeText) -> None:
        """Keeps it for a while."""
        with self._lock:
            self._kept[text.number] = text
            self._size += len(text.data)
            while self._size > _BUDGET:
                self._size -= len(self._kept.popitem(last=False)[1].data)


class MadeFile(NoXattrs):
    """A file whose text is made anew whenever its size is asked for; opening it gives the text whose size was told."""

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
        """The text whose size was told, or, where it was forgotten or none was told, one that is made now."""
        shown = self._shown  # another thread may be told of another text meanwhile
        text = shown() if shown is not None else None
        if text is None:
            text = MadeText(self._make())
        return TextContent(text.data) if len(text.data) > self._texts.limit else BytesContent(text.data, text.number)
