"""Folders of a bucket as they were listed: each once, and as it was if it is listed again.

A command sees what it has listed first, in all its processes (`stamps`). A mount forgets a listing after a while, so
that it shows a later copy once that is complete.
"""

import logging
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar
from zlib import crc32

from kafkafs.disk import store_session
from kafkafs.disk.blocking import ProcessLock, acquired, may_block
from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.chunked_file import inode_of
from kafkafs.disk.objects import Object, attributes
from kafkafs.disk.stamps import Stamps
from kafkafs.errors import DiskError, KafkafsError, NotFound, StoreError

LISTED_S = 10.0
"""For how long a mount takes a listing for that of now. A command sees what it has listed first."""

SeenFolders = dict[str, tuple[list[str], list[Object]]]
"""Folders with their content: inner folders, and objects."""

Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


class ListedObject(NamedTuple):
    """An object as it was listed, and its attributes."""

    object: Object
    about: os.stat_result


@dataclass(frozen=True, slots=True)
class BucketListing:
    """A folder as it was listed; `at` by the clock of the options."""

    objects: dict[str, Object]
    folders: frozenset[str]
    about: os.stat_result
    at: float
    abouts: dict[str, os.stat_result] = field(default_factory=dict)  # objects that somebody asked about


class BucketListings:
    """The listings of a bucket's folders. `_lock` is held while a folder is listed, `_relisting` while the top is
    listed again."""

    def __init__(self, objects: BucketObjects, address: str, clock: Callable[[], float], seen: SeenFolders) -> None:
        """The store is asked nothing yet. `seen`: what another process has listed."""
        self._objects = objects
        self._device = inode_of(address)
        self._clock = clock
        self._most_names = store_session.current.limits.names
        self._lock, self._relisting = ProcessLock(), ProcessLock()
        self._known: dict[str, BucketListing] = {}
        self._stamps = Stamps()  # stamps of listings, by folder
        for folder, (folders, found) in seen.items():
            self._keep(folder, folders, found)

    def seen(self) -> SeenFolders:
        """The listed folders, in a form that can be sent to another process."""
        return {name: (list(known.folders), list(known.objects.values())) for name, known in self._known.items()}

    def stamp(self, folder: str) -> int | None:
        """The folder's stamp, if it was listed."""
        return self._stamps.get(folder)

    def expect(self, folder: str, stamp: int) -> None:
        """StoreError if the folder was listed with another stamp, now or if it is listed later."""
        if not self._stamps.settle(folder, stamp):
            raise changed(self._objects, f"{folder!r} is not as it was listed before")

    def of(self, folder: str) -> BucketListing:
        """The folder as it was listed first, or is now. NotFound if the one above has none of that name."""
        known = self._known.get(folder)
        if known is not None:
            return known
        if folder != ".":
            above, base = os.path.split(folder)
            if base not in self.of(above or ".").folders:
                raise NotFound(f"there is no folder {folder!r} in {self._objects.shown_as}")
        may_block()
        with acquired(self._lock):
            return self._known.get(folder) or self._list(folder)

    def find(self, name: str) -> ListedObject | None:
        """The object of that name; None for a folder, and if there is none."""
        folder, base = os.path.split(name)
        listing = self.of(folder or ".")
        found = listing.objects.get(base)
        return None if found is None else ListedObject(found, self.about_in(listing, base))

    def about_in(self, listing: BucketListing, base: str) -> os.stat_result:
        """The attributes of an object of that folder."""
        about = listing.abouts.get(base)
        if about is None:
            found = listing.objects[base]
            inode = inode_of(f"{found.key}\0{found.size}\0{found.mtime_ns}")
            about = attributes(stat.S_IFREG | 0o400, found.size, found.mtime_ns, (inode, self._device))
            listing.abouts[base] = about
        return about

    def clear(self) -> None:
        """Forget what is listed, but not its stamps."""
        self._known.clear()

    def sweep(self) -> None:
        """Forget listings after a while, so that a mount shows a later copy once it is complete.

        The listing of the top counts until there is a new one: a store that is slow or away takes no names away."""
        until = self._clock() - LISTED_S
        with self._lock:
            old = [folder for folder, listing in self._known.items() if listing.at < until]
            for folder in old:
                self._stamps.forget(folder)
                if folder != ".":
                    del self._known[folder]
        if "." in old and self._relisting.acquire(blocking=False):
            threading.Thread(target=self._list_again, name="listing", daemon=True).start()

    def _list_again(self) -> None:
        try:
            folders, found = self._objects.entries("")
            with self._lock:
                self._keep(".", folders, found)
        except KafkafsError as error:
            logger.warning("%s", error)
            known = self._known.get(".")
            if known is not None:  # asked again after the same while
                self._known["."] = replace(known, at=self._clock())
        finally:
            self._relisting.release()

    def _list(self, folder: str) -> BucketListing:
        key = "" if folder == "." else folder
        try:
            folders, found = asked(lambda: self._objects.entries(key))
        except NotFound:
            if self._stamps.get(folder) is not None:
                raise changed(self._objects, f"{folder!r} is not there any more") from None
            raise NotFound(f"there is nothing at {self._objects.shown_as}") from None
        return self._keep(folder, folders, found)

    def _keep(self, folder: str, folders: list[str], found: list[Object]) -> BucketListing:
        text = repr((sorted(folders), sorted(found)))
        stamp = crc32(text.encode("utf-8", "surrogateescape"))
        self.expect(folder, stamp)
        if sum(len(each.objects) for each in self._known.values()) + len(found) > self._most_names:
            self.clear()
        newest = max((each.mtime_ns for each in found), default=0)
        changed_ns = newest // 10**9 * 10**9 + stamp % 10**9  # another one for each state
        about = attributes(stat.S_IFDIR | 0o500, 0, changed_ns, (inode_of(f"{folder}/"), self._device))
        objects = {os.path.basename(each.key): each for each in found}
        listing = self._known[folder] = BucketListing(objects, frozenset(folders), about, self._clock())
        return listing


def asked(question: Callable[[], Answer]) -> Answer:
    """The answer of a store. A failure of the store is a StoreError, which `store_session` remembers."""
    try:
        return question()
    except DiskError as error:
        store_session.current.report(str(error))
        raise StoreError(str(error)) from error


def changed(objects: BucketObjects, how: str) -> StoreError:
    """The error for a copy that changes while it is read."""
    sentence = f"{objects.shown_as} changes while it is read: {how}; run again once the copy is complete"
    store_session.current.report(sentence)
    return StoreError(sentence)
