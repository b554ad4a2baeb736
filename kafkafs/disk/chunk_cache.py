"""Chunks of remote objects that were read lately, bounded in bytes: the one memory that a tier's readers share.

A chunk that two readers want at the same time is fetched once. The chunks that are being fetched are bounded, too, and
so is the number of chunks that are fetched before anybody asks for them.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress

from kafkafs.errors import KafkafsError
from kafkafs.format.memory import Bytes

CACHE_SIZE = 64 << 20
"""Bytes, unless `-o tiered_cache=` says otherwise."""

_AHEAD = 8
"""Fetches at a time that nobody waits for: what is behind a reader, and the files of the next segment."""


class ChunkCache:
    """Pieces of bytes by name. `_lock` is held while one is looked for or stored, never while one is fetched; `_room`
    while the bytes that are being fetched are counted, and reports fewer."""

    def __init__(self, limit: int = CACHE_SIZE, before_fetching: Callable[[], None] = lambda: None) -> None:
        """`before_fetching` is asked before a caller waits for a piece, and may raise an error instead."""
        self.limit = limit
        self._before_fetching = before_fetching
        self._lock = threading.Lock()
        # no cache of a library: its size is in bytes, and `passed` puts a piece first in the line of those to go
        self._kept: OrderedDict[Hashable, Bytes] = OrderedDict()
        self._size = self._under_way = 0
        self._room = threading.Condition()
        self._fetching: dict[Hashable, threading.Lock] = {}
        self._ahead = threading.BoundedSemaphore(_AHEAD)

    def known(self, name: Hashable) -> Bytes | None:
        """The piece, if it is here."""
        with self._lock:
            piece = self._kept.get(name)
            if piece is not None:
                self._kept.move_to_end(name)
            return piece

    def get(self, name: Hashable, fetch: Callable[[], Bytes], size: int = 0) -> Bytes:
        """The piece, fetched where it is not here; what `fetch` raises goes to each that waits for itself. It waits
        where others are fetched and `size`, its bytes, would make them more than the limit."""
        piece = self.known(name)
        if piece is not None:
            return piece
        self._before_fetching()
        with self._lock:
            turn = self._fetching.setdefault(name, threading.Lock())
        with turn:
            piece = self.known(name)
            if piece is None:
                try:
                    with self._counted(size):
                        piece = fetch()
                    self.keep(name, piece)
                finally:
                    with self._lock:
                        self._fetching.pop(name, None)
            return piece

    @contextmanager
    def _counted(self, size: int) -> Iterator[None]:
        with self._room:
            self._room.wait_for(lambda: not size or self._under_way + size <= max(self.limit, size))
            self._under_way += size
        try:
            yield
        finally:
            with self._room:
                self._under_way -= size
                self._room.notify_all()

    def fetch_ahead(self, name: Hashable, fetch: Callable[[], Bytes], size: int) -> bool:
        """Let another thread `get` a chunk that a caller will need, without blocking. Return False if too many threads
        do so. The caller that needs the chunk gets its errors. A chunk that is being fetched is not fetched again."""
        if name in self._fetching:
            return True
        free = self._ahead.acquire(blocking=False)
        if free:
            threading.Thread(target=self._get_ahead, args=(name, fetch, size), name="ahead", daemon=True).start()
        return free

    def _get_ahead(self, name: Hashable, fetch: Callable[[], Bytes], size: int) -> None:
        try:
            with suppress(KafkafsError):
                self.get(name, fetch, size)
        finally:
            self._ahead.release()

    def has(self, name: Hashable) -> bool:
        """True if the piece is here. This question does not count as a request for it."""
        return name in self._kept

    def forget(self, name: Hashable) -> None:
        """The piece is of no use: who asks next has it fetched."""
        with self._lock:
            self._size -= len(self._kept.pop(name, b""))

    def passed(self, name: Hashable) -> None:
        """A reader that goes straight on has read the piece. So the piece is the first to be dropped."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name, last=False)

    def keep(self, name: Hashable, piece: Bytes) -> None:
        """The piece, which was fetched with another, is here now."""
        with self._lock:
            before = self._kept.pop(name, None)
            self._size += len(piece) - len(before or b"")
            self._kept[name] = piece
            while self._size > self.limit and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
