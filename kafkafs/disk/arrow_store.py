"""A bucket by `pyarrow.fs`: any store, any credentials and any way to them that pyarrow finds.

`signed_reads` does without it where it can. The store's own threads start with the first question.
"""

import threading
from collections import OrderedDict
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from kafkafs.disk.objects import Names, Object, Version, VersionedBytes
from kafkafs.disk.s3_place import place_of
from kafkafs.disk.store_session import StoreLimits

_HANDLES = 512
"""Objects of which it is remembered how long they are: the store is asked at the first read of each."""

_BLANK, _OTHER = b"\xa5", b"\x5a"
"""Fills bytes that a store did not send. If an object's own bytes end so, one time in 256, they are read again."""

_TAGS = ("ETag", "Generation", "VersionId")


class ArrowStore:
    """The store of an address. `_lock` is held while `_handles` is looked at, `_opening` while the client is made."""

    def __init__(self, uri: str, limits: StoreLimits) -> None:
        self._uri, self._limits = uri, limits
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._client: tuple[Any, str] | None = None
        self._handles: OrderedDict[str, Any] = OrderedDict()  # no `lru_cache`: one that fails is taken out

    @property
    def region(self) -> str:
        """The region of an S3 bucket."""
        found: str = self._opened()[0].region
        return found

    def names(self, folder: str, *, surely: bool) -> Names:
        """A folder's names. FileNotFoundError if there is no top.

        If a proxy sends a page of its own, pyarrow takes it for the end of the listing, or for one without names. So
        behind a listing that ends with a full page, and `surely` if it seems empty, the store is asked once more. An
        empty folder is there by an object of its own name, which another request has to tell."""
        found = self._listed(folder, allow_not_found=surely or bool(folder))
        count = len(found.folders) + len(found.objects)
        is_full = count and -count % self._limits.page <= 1  # a folder's own object counts, and is not listed
        if is_full and self._listed(folder, allow_not_found=bool(folder)) != found:
            raise OSError(f"the store listed nothing behind {count:,} names, or more the next time")
        if count or not surely:
            return found
        found = self._listed(folder, allow_not_found=True)
        if found.folders or found.objects:
            return found
        system, top = self._opened()
        is_there = system.get_file_info(f"{top}/{folder}".rstrip("/")).type == fs.FileType.Directory
        return found._replace(is_there=is_there)

    def read_versioned(self, key: str, position: int, size: int) -> VersionedBytes:
        """The bytes, and the object's version before and after. Each takes a request, except the first if it was
        open."""
        before = self._handle(key)
        data = _read_fully(before, position, size)
        return VersionedBytes(data, _version(before), _version(self._handle(key, reopen=True)))

    def read(self, key: str, position: int, size: int) -> bytes:
        """One request, and at the first read of an object one more for its size."""
        return _read_fully(self._handle(key), position, size)

    def forget(self, key: str) -> None:
        """The object may have another size by now."""
        with self._lock:
            self._handles.pop(key, None)

    def _listed(self, folder: str, *, allow_not_found: bool) -> Names:
        """A folder's names as the store lists them now: a request for each thousand."""
        system, top = self._opened()
        selector = fs.FileSelector(f"{top}/{folder}".rstrip("/"), allow_not_found=allow_not_found)
        infos = system.get_file_info(selector)
        prefix = f"{folder}/" if folder else ""
        folders = sorted(each.base_name for each in infos if each.type == fs.FileType.Directory)
        objects = sorted(
            Object(f"{prefix}{each.base_name}", each.size or 0, each.mtime_ns or 0)
            for each in infos
            if each.type == fs.FileType.File
        )
        return Names(folders, objects, bool(infos))

    def _handle(self, key: str, *, reopen: bool = False) -> Any:
        """The object, opened: one request, if it was not open or `reopen` is given."""
        system, top = self._opened()
        with self._lock:
            handle = None if reopen else self._handles.get(key)
        if handle is None:
            handle = system.open_input_file(f"{top}/{key}")
            with self._lock:
                self._handles[key] = handle
                if len(self._handles) > _HANDLES:
                    self._handles.popitem(last=False)
        return handle

    def _opened(self) -> tuple[Any, str]:
        """The store's client, and the path of the tier's top; made by the first question."""
        with self._opening:
            if self._client is None:
                if self._uri.startswith("s3://"):
                    self._client = _s3(self._uri, self._limits)
                else:
                    self._client = fs.FileSystem.from_uri(limited(self._uri, self._limits))
            return self._client[0], self._client[1].rstrip("/")


def _version(handle: Any) -> Version:
    """Return the object's version from the response to its open."""
    metadata = handle.metadata() or {}
    return Version(
        handle.size(), metadata.get("Last-Modified", b"").decode(), tuple(metadata.get(name, b"") for name in _TAGS)
    )


def _read_fully(handle: Any, position: int, size: int) -> bytes:
    """Return the bytes that a store sent for that range, in one request.

    pyarrow takes a response that is shorter than was asked for a whole one (26.0), and what it has not written of its
    buffer is what was in that memory before. So the buffer is ours, and blank: where its end still is, the response was
    too short, unless the object's own bytes are like that. A second read with another blank decides.
    """
    got = b""
    for blank in (_BLANK, _OTHER):
        buffer = bytearray(blank) * size
        with handle.get_stream(position, size) as stream:
            got = bytes(memoryview(buffer)[: stream.readinto(buffer)])
        if not got.endswith(blank):
            return got
    return got.rstrip(_OTHER)


def limited(uri: str, limits: StoreLimits) -> str:
    """The address with a limit of time for retries: by itself, Google's client tries for a quarter of an hour."""
    parts = urlsplit(uri, allow_fragments=False)
    if parts.scheme not in ("gs", "gcs") or "retry_limit_seconds" in parts.query:
        return uri
    return f"{uri}{'&' if parts.query else '?'}retry_limit_seconds={limits.question_s:.0f}"


def _s3(uri: str, limits: StoreLimits) -> tuple[Any, str]:
    """S3 with limits of time, which no part of its address can set; credentials are those of the environment."""
    place = place_of(uri)
    if not (place.region or place.endpoint or place.proxy):
        place = place._replace(region=fs.resolve_s3_region(place.bucket))
    strategy = fs.AwsStandardS3RetryStrategy(max_attempts=limits.attempts)
    times = {"connect_timeout": limits.connect_s, "request_timeout": limits.request_s, "retry_strategy": strategy}
    return fs.S3FileSystem(**place.arguments(), **times), f"{place.bucket}/{place.folder}"
