"""The files of one directory that stay open for the next reader: opening one takes longer than answering from it."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakValueDictionary

from kafkafs.disk.data_file import LocalFile


class KeptFiles:
    """A `FileKeeper` (see `budget`). `_lock` is held around `_kept` and `_open`, never while a file is opened or
    closed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, LocalFile] = OrderedDict()
        self._open: WeakValueDictionary[tuple[str, int], LocalFile] = WeakValueDictionary()
        self._lock = threading.Lock()

    def known(self, name: str, inode: int) -> LocalFile | None:
        """The file of that name and inode, if it is kept."""
        with self._lock:
            known = self._kept.get(name)
            if known is None or known.inode != inode:
                return None
            known.is_used = True
            self._kept.move_to_end(name)
            return known

    def held(self, name: str, inode: int) -> LocalFile | None:
        """The file of that name and inode, if anybody holds it open."""
        with self._lock:
            return self._open.get((name, inode))

    def keep(self, file: LocalFile, name: str) -> LocalFile:
        """Keep a file under that name from now on; the one that is held open already, if there is such."""
        with self._lock:
            file = self._open.setdefault((name, file.inode), file)
            file.is_used = True
            before = self._kept.get(name)
            self._kept[name] = file
            self._kept.move_to_end(name)
        del before  # the lock is free by now
        return file

    @property
    def kept(self) -> int:
        """See `FileKeeper`."""
        return len(self._kept)

    @property
    def open_files(self) -> int:
        """See `FileKeeper`."""
        return len(self._open)

    def evict(self) -> None:
        """See `FileKeeper`."""
        with self._lock:
            evicted = self._kept.popitem(last=False) if self._kept else None
        del evicted  # the lock is free by now

    def forget_cached(self) -> None:
        """See `FileKeeper`."""
        with self._lock:
            forgotten = list(self._kept.values())
            self._kept.clear()
        forgotten.clear()

    def forget_if(self, is_over: Callable[[LocalFile], bool]) -> None:
        """Close the kept files for which that is true, unless somebody holds them."""
        with self._lock:
            files = list(self._kept.items())
        for name, file in files:
            if is_over(file):
                with self._lock:
                    if self._kept.get(name) is file:
                        del self._kept[name]
