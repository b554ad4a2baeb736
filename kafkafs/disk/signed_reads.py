"""Reads of an S3 store by requests that are signed here: a read is one, and its response has the object's version.

pyarrow asks for an object's attributes before it reads, and its reads tell no version. To prove that bytes are of one
version, it takes three requests. Here one request does (`s3_requests`). A page of a listing is one request, too. A
response that is no page, as of a proxy, is an error, and not a page without names.

This works with keys in the environment, the first place where pyarrow looks, and without a proxy. For everything else,
and after any error but silence, the caller asks by pyarrow. No redirect is followed, so a signature goes to one host.
Source: S3 API Reference, "GetObject".
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from math import inf
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from kafkafs.disk.http_connection import HttpConnection
from kafkafs.disk.objects import Names, Version, VersionedBytes
from kafkafs.disk.s3_listing import Page, parse_page
from kafkafs.disk.s3_place import Place
from kafkafs.disk.s3_requests import S3Requests
from kafkafs.format.memory import Buffers

if TYPE_CHECKING:
    import ssl

_LISTED, _PARTIAL = 200, 206
_CODE = re.compile(rb"<Code>([A-Za-z]{1,64})</Code>")
_ERROR_SIZE = 1 << 16
_WHOLE, _END = b"</ListBucketResult>", 64
_PAGE_SIZE = 16 << 20  # a thousand keys of a kilobyte, in XML
_OF_THE_STORE = 500
_WRITTEN = re.compile(r"\w{3}, (\d\d) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) (\d\d:\d\d:\d\d) GMT")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"

LONGEST = 8 << 20
"""Bytes of the longest read that is received into memory that is used again."""

_SHORT = 1 << 20
_SHORTEST = 1 << 19
_short, _long = Buffers(_SHORT, keep=16), Buffers(LONGEST, keep=4)


Answer = TypeVar("Answer")


class AskArrow(Exception):  # no `OSError`: the connection is sound
    """The response is not what was asked for, so pyarrow has to be asked. The text is the store's word for why, or
    ""."""


class StoreSilent(OSError):
    """The store sent nothing for too long."""


class SentRead(NamedTuple):
    """A read whose request was sent."""

    connection: HttpConnection
    position: int
    size: int


class SignedReads:
    """The signed reads of one bucket. Threads share the connections that are open and not in use."""

    def __init__(self, place: Place, requests: S3Requests, silent_s: float) -> None:
        self._place, self._requests, self._silent_s = place, requests, silent_s
        self._idle: LifoQueue[HttpConnection] = LifoQueue()
        self._is_unfit = self._has_answered = False

    @classmethod
    def of(cls, place: Place, region: str, silent_s: float) -> "SignedReads | None":
        """The reads of that bucket; None if keys or the way to it are not known for sure."""
        requests = S3Requests.of(place, region)
        return None if requests is None else cls(place, requests, silent_s)

    def read(self, key: str, position: int, size: int) -> VersionedBytes:
        """The bytes of an object, in one request. AskArrow if they do not come so, OSError if the store is silent.

        A place that refuses its first read is not asked again: it may take requests of another form."""
        if self._is_unfit:
            raise AskArrow
        try:
            return self._answered(lambda connection: self._receive(self._send(connection, key, position, size), inf))
        except (StoreSilent, TimeoutError):  # the latter of one that does not even accept a connection
            raise self._silent() from None
        except OSError:
            raise AskArrow from None

    def begin(self, key: str, position: int, size: int) -> SentRead | None:
        """Send the request for those bytes if a connection is open and free. `read_begun` receives them."""
        try:
            return None if self._is_unfit else self._send(self._idle.get_nowait(), key, position, size)
        except (Empty, OSError):
            return None

    def connect(self) -> bool:
        """Open one more connection. False if pyarrow has to be asked."""
        if self._is_unfit:
            return False
        try:
            self._idle.put(self._fresh())
        except OSError:
            return False
        return True

    def read_begun(self, begun: SentRead, until: float) -> VersionedBytes | None:
        """The bytes whose request was sent; None if they have to be asked for once more."""
        with suppress(OSError, AskArrow):
            return self._receive(begun, until)
        return None

    def names(self, folder: str, until: float = inf) -> Names:
        """The names in a folder, in a request for each page. AskArrow if they do not come so. OSError if the store is
        silent, or if no page of a listing came, and the store has answered before."""
        found, token, tokens = Names([], [], False), "", {""}
        prefix = "".join(f"{part}/" for part in (self._place.folder, folder) if part)
        while not self._is_unfit:
            page = self._page(prefix, token, until)
            below = f"{folder}/" if folder else ""
            found.folders.extend(page.folders)
            found.objects.extend(each._replace(key=f"{below}{each.key}") for each in page.objects)
            found = found._replace(is_there=found.is_there or page.is_there)
            if page.token is None:
                return found
            token = page.token
            if token in tokens or time.monotonic() > until:
                raise OSError("the store does not tell the last page of its listing")
            tokens.add(token)
        raise AskArrow

    def _page(self, prefix: str, token: str, until: float) -> Page:
        request = self._requests.listing(prefix, token)
        status, data = self._answered(lambda connection: self._listing(connection, request, until))
        self._note(status == _LISTED, status)
        page = parse_page(data, prefix) if status == _LISTED else None
        if page is not None:
            return page
        if status != _LISTED or _WHOLE in data[-_END:]:  # the latter has a key that XML has no word for
            raise AskArrow
        raise OSError("the answer is no listing; does a proxy answer instead of the store?")

    def _listing(self, connection: HttpConnection, request: bytes, until: float) -> tuple[int, bytes]:
        """Ask, and receive a response's status and body."""
        try:
            connection.send(request)
            connection.receive_head(until)
            return connection.status, connection.read(_PAGE_SIZE if connection.status == _LISTED else _ERROR_SIZE)
        except TimeoutError:
            raise self._silent() from None
        finally:
            self.give_back(connection)

    def _answered(self, ask: Callable[[HttpConnection], Answer]) -> Answer:
        """The answer over a connection; over a fresh one if the store had closed that meanwhile. AskArrow if that is
        lost, too, and OSError if the store accepts none."""
        with suppress(Empty):
            connection = self._idle.get_nowait()
            try:
                return ask(connection)
            except StoreSilent:
                raise
            except OSError:
                pass
        connection = self._fresh()
        try:
            return ask(connection)
        except StoreSilent:
            raise
        except OSError:
            raise AskArrow from None

    def _silent(self) -> StoreSilent:
        return StoreSilent(f"the store sent nothing for {self._silent_s:.0f} seconds")

    def _note(self, is_right: bool, status: int) -> None:
        """Remember what a response says of requests of this form."""
        self._has_answered |= is_right
        self._is_unfit |= not self._has_answered and status < _OF_THE_STORE

    def _send(self, connection: HttpConnection, key: str, position: int, size: int) -> SentRead:
        try:
            connection.send(self._requests.read(key, position, size))
        except OSError:
            connection.close()
            raise
        return SentRead(connection, position, size)

    def _receive(self, begun: SentRead, until: float) -> VersionedBytes:
        """The response to a read."""
        connection = begun.connection
        try:
            version = self.receive_head(begun, until)
            data = _memory(begun.size)
            if connection.read_into(data) < begun.size or not (connection.may_go_on or not connection.read(1)):
                raise AskArrow
        except TimeoutError:
            raise self._silent() from None
        finally:
            self.give_back(connection)
        return VersionedBytes(data, version, version)

    def receive_head(self, begun: SentRead, until: float) -> Version:
        """The version of the object whose bytes follow. AskArrow if they are others, or none. OSError if the connection
        is lost, TimeoutError at `until`."""
        connection, position, size = begun
        connection.receive_head(until)
        headers, status = connection.headers, connection.status
        span, _, whole = headers.get("content-range", "").rpartition("/")
        tag, version_id = (headers.get(name, "").encode("latin-1") for name in ("etag", "x-amz-version-id"))
        written = _written(headers.get("last-modified", ""))
        is_right = status == _PARTIAL and connection.length in (size, None) and bool(tag and written)
        is_right &= span == f"bytes {position}-{position + size - 1}" and whole.isdecimal()
        self._note(is_right, status)
        if is_right:
            return Version(int(whole), written, (tag, b"", version_id))
        code = None if status == _PARTIAL else _CODE.search(connection.read(_ERROR_SIZE))
        raise AskArrow(code[1].decode() if code else "")

    def give_back(self, connection: HttpConnection) -> None:
        """The connection is free, if its response was read to the end."""
        if connection.may_go_on:
            self._idle.put(connection)
        else:
            connection.close()

    def _fresh(self) -> HttpConnection:
        return HttpConnection(
            self._requests.host, self._silent_s, self._trust if self._place.scheme == "https" else None
        )

    @cached_property
    def _trust(self) -> "ssl.SSLContext":
        import ssl

        return ssl.create_default_context(cafile=self._place.authorities or None)


class SignedStream:
    """The bytes of a read whose request was sent (`straight_file.Stream`)."""

    def __init__(self, reads: SignedReads, begun: SentRead, limit_s: float, check: Callable[[Version], None]) -> None:
        """`check` raises if the bytes are not of the wanted version. One read takes no longer than `limit_s`."""
        self._reads, self._begun, self._limit_s, self._check = reads, begun, limit_s, check
        self._left = begun.size
        self._has_head = False

    def read_into(self, view: memoryview) -> bool:
        """See `straight_file.Stream`."""
        connection, until = self._begun.connection, time.monotonic() + self._limit_s
        try:
            if not self._has_head:
                self._check(self._reads.receive_head(self._begun, until))
                self._has_head = True
            connection.until = until
            if connection.read_into(view) < len(view):
                return False
        except (OSError, AskArrow):
            return False
        self._left -= len(view)
        if not self._left:
            self._reads.give_back(connection)
        return True

    def close(self) -> None:
        """See `straight_file.Stream`."""
        self._begun.connection.close()


def _memory(size: int) -> memoryview:
    """Memory for a read, used again once no view of it is held; not of a short one, which would hold too much."""
    if size < _SHORTEST or _SHORT < size <= LONGEST // 2 or size > LONGEST:
        return np.empty(size, np.uint8).data
    return (_short if size <= _SHORT else _long).take().data[:size]


def _written(header: str) -> str:
    """The time of a header as pyarrow writes it; "" if it is none."""
    found = _WRITTEN.fullmatch(header)
    return f"{found[3]}-{_MONTHS.index(found[2]) // 3 + 1:02}-{found[1]}T{found[4]}Z" if found else ""
