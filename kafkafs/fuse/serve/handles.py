"""What stands behind a file or directory that someone has open: its content, or its listing.

The life of a handle: `open` makes the content and an `OpenFile` around it, on the trio thread or in a worker; reads use
it on the trio thread, where they need not wait, and in workers, several at a time; `release` comes when the last
descriptor is closed, and may find a read still running in a worker, whose caller was given an error when it took too
long. So the content counts its users: it is closed once, by `release` or by the last read that ends behind it, and a
read that begins later is Vanished. An open that is not waited for any more is closed by the worker pool (`late`).

`inode.growing` has what is open of it and grows with the log, for `tail -f`: see `operations.getattr`.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Generic, ParamSpec, TypeVar, cast

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.inodes import Inode
from kafkafs.fuse.serve.signals import opener
from kafkafs.view.node import Content, Entry, Growing, Prefetching

P = ParamSpec("P")
T = TypeVar("T")


class OpenFile:
    """Content being read. It is closed after the release and after the last read that still runs in a thread."""

    __slots__ = ("_lock", "_reading", "_released", "content", "follows", "inode", "opener", "prefetching")

    def __init__(self, inode: Inode, content: Content, pid: int) -> None:
        """`pid`: the opener, process or thread, in the daemon's namespace; 0 where it is in none that it can see."""
        self.inode = inode
        inode.opened += 1
        self.content = content
        self.follows = content.follows
        self.prefetching: Prefetching | None = content if can(type(content), "prefetch") else None  # type: ignore[assignment]
        if can(type(content), "grow"):
            inode.growing = (*inode.growing, self)
        self.opener = opener(pid) if self.follows else None  # only a read that waits asks for it
        self._lock = threading.Lock()
        self._reading = 0
        self._released = False

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """Reads in a worker thread, which may outlive its caller and then closes the content."""
        return self._use(self.content.read, offset, size)

    def prefetch(self) -> None:
        """Makes in a worker thread what the next read will ask for."""
        if self.prefetching is not None and self._begin():
            try:
                self.prefetching.prefetch()
            finally:
                self._finish()

    @property
    def version(self) -> Hashable:
        """See `Growing`."""
        return cast(Growing, self.content).version

    def grow(self) -> int:
        """The size of the content by now, which is a `Growing`."""
        return self._use(cast(Growing, self.content).grow)

    def _use(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if not self._begin():
            raise Vanished("the file was closed")
        try:
            return call(*args, **kwargs)
        finally:
            self._finish()

    def _begin(self) -> bool:
        with self._lock:
            if self._released:
                return False
            self._reading += 1
            return True

    def _finish(self) -> None:
        with self._lock:
            self._reading -= 1
            is_last = self._released and not self._reading
        if is_last:
            self.content.close()

    def release(self) -> None:
        """No descriptor is left through which it is open."""
        self.inode.opened -= 1
        if self.inode.growing:
            self.inode.growing = tuple(file for file in self.inode.growing if file is not self)
        with self._lock:
            self._released = True
            is_last = not self._reading
        if is_last:
            self.content.close()


class OpenDirectory:
    """A listing: taken when it is read from its start, and kept until then so that positions stay true."""

    __slots__ = ("entries", "inode")

    def __init__(self, inode: Inode) -> None:
        self.inode = inode
        self.entries: Sequence[Entry] = ()


@cache
def can(content: type[Content], what: str) -> bool:
    """Whether contents of that type are `Prefetching` or `Growing`. (To ask each for the protocol would take 5 us.)"""
    return hasattr(content, what)


class Handles(Generic[T]):
    """Open things by the number that the kernel knows them by."""

    def __init__(self) -> None:
        self._open: dict[int, T] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def get(self, number: int) -> T | None:
        """The thing of that number, None where it is not open."""
        return self._open.get(number)

    def __getitem__(self, number: int) -> T:
        try:
            return self._open[number]
        except KeyError:
            raise Vanished(f"no open file {number}") from None

    def add(self, thing: T) -> int:
        """The number that the kernel names the thing by from now on, never given twice."""
        self._last += 1
        self._open[self._last] = thing
        return self._last

    def pop(self, number: int) -> T:
        """The thing of that number, which is not open any more. Raises Vanished where it was not."""
        try:
            return self._open.pop(number)
        except KeyError:
            raise Vanished(f"no open file {number}") from None
