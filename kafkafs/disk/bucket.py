"""Objects in a bucket, by `signed_reads` or `arrow_store`; `store_calls` gives each question a limit of time.

Nothing is asked before it has to be, and the store's own threads start with the first question: a process that is
confined (`fuse.sandbox`) is so by then.
"""

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, TypeVar

from kafkafs.disk import store_session
from kafkafs.disk.blocking import may_ask_store, may_block, patience_left
from kafkafs.disk.objects import Names, Object, Objects, Version, VersionedBytes, attributes, counted, parts_of, shown
from kafkafs.disk.s3_place import place_of
from kafkafs.disk.s3_requests import region_of
from kafkafs.disk.signed_reads import AskArrow, SentRead, SignedReads, SignedStream
from kafkafs.disk.store_calls import AtOnce, StoreCalls
from kafkafs.errors import DiskError, NotFound, UsageError

if TYPE_CHECKING:
    from kafkafs.disk.arrow_store import ArrowStore

_MOST_BEGUN = 64
"""Reads that are asked for and not received. If there are more, the oldest one is given up: nobody wants it."""

Answer = TypeVar("Answer")


class BucketObjects(Objects):
    """The objects of a bucket. `_lock` is held while `_begun` is looked at, `_opening` while it is found out how to
    ask."""

    def __init__(self, uri: str, kind: str = "the tier ", *, is_beside_disks: bool = False) -> None:
        """`kind` precedes the address in messages. `is_beside_disks`: callers may need the disk alone, see
        `blocking.disk_only`. UsageError if such a place is not supported."""
        self._before_asking = may_ask_store if is_beside_disks else may_block
        self.shown_as = shown(uri)
        self.called = f"{kind}{self.shown_as}"
        self._uri = uri
        self._limits = store_session.current.limits
        self._calls = StoreCalls(uri, self.called, self._limits)
        self._begin()
        if parts_of(uri).scheme not in ("s3", "gs", "gcs", "abfs", "abfss", "hdfs"):
            raise UsageError(f"{self.called} cannot be opened: pyarrow.fs knows s3, gs, abfs and hdfs")

    def _begin(self) -> None:
        """Start with no open connection. A forked process starts again: the connections belong to its parent."""
        self._process = os.getpid()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._begun: OrderedDict[tuple[str, int, int], SentRead] = OrderedDict()
        self._calls.restart()
        self._signed: SignedReads | None = None
        self._is_begun = False
        self.__dict__.pop("_arrow", None)

    def folders(self, folder: str = "") -> list[str]:
        """See `Objects`."""
        return sorted(self._listed(folder).folders)

    def files(self, folder: str) -> Iterator[Object]:
        """See `Objects`."""
        yield from self._listed(folder).objects

    def entries(self, folder: str) -> tuple[list[str], list[Object]]:
        """The folders and the objects in a folder, listed in one pass. NotFound if there is no top; a folder below it
        was named by the store before, so it is there."""
        found = self._listed(folder, self._limits.listing_s, surely=True)
        return found.folders, found.objects

    def begin(self, key: str, position: int, size: int) -> bool:
        """Ask for these bytes if that can be done without waiting. `read_versioned` of the same bytes receives them."""
        if self._process != os.getpid() or self._signed is None or self._calls.is_suspect:
            return False
        begun = self._signed.begin(key, position, size)
        if begun is None:
            return False
        with self._lock:
            self._begun[key, position, size] = begun
            forgotten = self._begun.popitem(last=False)[1] if len(self._begun) > _MOST_BEGUN else None
        if forgotten is not None:
            forgotten.connection.close()
        return True

    def stream(self, key: str, position: int, size: int, check: Callable[[Version], None]) -> SignedStream | None:
        """A stream of the bytes, which are asked for now and received by its reader. It tells `check` the version of
        the bytes. None if pyarrow has to be asked, or if the store gives reason not to wait for it."""
        if patience_left() < inf:
            return None
        signed = self._asked(self._signed_reads, key) if self._process != os.getpid() else self._signed
        if signed is None or self._calls.is_suspect:
            return None
        begun = self._taken(key, position, size) or signed.begin(key, position, size)
        if begun is None and self._asked(signed.connect, key):
            begun = signed.begin(key, position, size)
        return None if begun is None else SignedStream(signed, begun, self._limits.question_s, check)

    def read_versioned(self, key: str, position: int, size: int) -> VersionedBytes:
        """The bytes, maybe fewer, with the object's version before and after. If both are equal, the bytes are of
        it."""

        def question() -> VersionedBytes:
            """One request, or by pyarrow one for the bytes, one behind it for the version, and at first one before."""
            signed, why = self._signed_reads(), ""
            if signed is not None:
                try:
                    return signed.read(key, position, size)
                except AskArrow as refused:
                    why = str(refused)
            try:
                return self._arrow.read_versioned(key, position, size)
            except OSError as error:
                if why and not isinstance(error, FileNotFoundError):
                    raise OSError(f"{error} ({why})") from error
                raise

        def at_once(until: float) -> VersionedBytes | None:
            """Without a thread of its own, over a connection that is open."""
            begun, signed = self._taken(key, position, size), self._signed
            if begun is None and signed is not None:
                begun = signed.begin(key, position, size)
            return None if begun is None or signed is None else signed.read_begun(begun, until)

        with self._forgotten_if_it_fails(key):
            return self._asked(question, key, at_once=at_once)

    def read(self, key: str, position: int, size: int) -> bytes:
        """See `Objects`."""
        with self._forgotten_if_it_fails(key):
            return counted(self.called, key, self._asked(lambda: self._arrow.read(key, position, size), key), size)

    @contextmanager
    def _forgotten_if_it_fails(self, key: str) -> Iterator[None]:
        """After a failed read the object may have another size."""
        try:
            yield
        except (DiskError, NotFound):
            if "_arrow" in self.__dict__:
                self._arrow.forget(key)
            raise

    def stat(self, found: Object) -> os.stat_result:
        """See `Objects`: owned by who reads the store."""
        return attributes(stat.S_IFREG | 0o400, found.size, found.mtime_ns)

    def _taken(self, key: str, position: int, size: int) -> SentRead | None:
        """The request for these bytes, if it was sent before."""
        with self._lock:
            return self._begun.pop((key, position, size), None)

    def _listed(self, folder: str, limit_s: float = 0.0, *, surely: bool = False) -> Names:
        """A folder's names. NotFound if there is no top. `surely`: the store has named the folder before."""

        until = time.monotonic() + max(self._limits.question_s, limit_s)

        def listing() -> Names:
            """One request for a thousand names; by pyarrow some more."""
            signed = self._signed_reads()
            try:
                found = self._arrow.names(folder, surely=surely) if signed is None else signed.names(folder, until)
            except AskArrow:
                found = self._arrow.names(folder, surely=surely)
            if not found.is_there and not folder:
                raise FileNotFoundError
            if not found.is_there and surely:
                raise OSError("the store listed nothing in a folder that it had named")
            if _twice(found) > (len(found.folders) + len(found.objects)) // self._limits.page:
                raise OSError("the store sent a page of its listing twice")
            return found

        return self._asked(listing, folder, limit_s)

    def _signed_reads(self) -> SignedReads | None:
        """The signed reads of this bucket, made by the first question; None if pyarrow has to be asked."""
        with self._opening:
            if not self._is_begun and self._uri.startswith("s3://"):
                place = place_of(self._uri)
                region = region_of(place) or ("" if place.keys else self._arrow.region)
                self._signed = SignedReads.of(place, region, self._limits.request_s)
            self._is_begun = True
            return self._signed

    @cached_property
    def _arrow(self) -> "ArrowStore":
        from kafkafs.disk.arrow_store import ArrowStore  # with pyarrow, 100 ms

        return ArrowStore(self._uri, self._limits)

    def _asked(
        self, question: Callable[[], Answer], what: str, most_s: float = 0.0, at_once: AtOnce[Answer] | None = None
    ) -> Answer:
        """The answer; see `StoreCalls.answer`."""
        self._before_asking()
        if self._process != os.getpid():
            self._begin()
        return self._calls.answer(question, what, most_s, at_once)


def _twice(found: Names) -> int:
    """Names that were listed again. Some stores repeat the last folder of a page on the next one."""
    return len(found.folders) - len({*found.folders}) + len(found.objects) - len({*found.objects})
