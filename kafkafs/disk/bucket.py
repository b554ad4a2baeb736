"""Objects in a bucket, through `pyarrow.fs`: each question has a limit of time, and no answer a secret.

Nothing is asked before it has to be, and the store's own threads start with the first question: a process that is
confined (`fuse.sandbox`) is so by then. A question that is not answered in time is left to a thread of its own.
"""

import os
import random
import re
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from math import inf
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit

from pyarrow import fs

from kafkafs.disk import store_session
from kafkafs.disk.blocking import may_block, patience_left
from kafkafs.disk.objects import Object, Objects, shown, whole
from kafkafs.disk.s3_place import place_of
from kafkafs.disk.signed_reads import PART, SignedRead, SignedReads
from kafkafs.disk.store_session import StoreLimits
from kafkafs.errors import DiskError, NotFound, Unanswered, UsageError
from kafkafs.format.memory import Bytes

_PASSING = re.compile(
    r"AWS Error (SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING|REQUEST_TIMEOUT|NETWORK_CONNECTION)"
    r"|HTTP status (5|429)|XML_ERROR|SlowDown|ServiceUnavailable|InternalError|TooManyRequests"
    r"|the store (listed nothing|sent nothing)"
)
"""Words of failures that may be over in a moment. pyarrow does not know each of them by a name of its own."""

_SKEWED = "this machine's clock differs too much from the store's; set the clock and run again"
_UNKNOWN_KEY = "the store does not know the access key; correct AWS_ACCESS_KEY_ID"
_OTHER_SECRET = "the secret key does not fit the access key; correct AWS_SECRET_ACCESS_KEY"
_ELSEWHERE = "the bucket is in another region or at another endpoint; set AWS_REGION or AWS_ENDPOINT_URL and run again"
_KNOWN = {
    "ExpiredToken": "the credentials have expired; renew them and run again",
    "RequestTimeTooSkewed": _SKEWED,
    "REQUEST_TIME_TOO_SKEWED": _SKEWED,
    "InvalidToken": "the session token is not valid; renew the credentials and run again",
    "INVALID_ACCESS_KEY_ID": _UNKNOWN_KEY,
    "InvalidAccessKeyId": _UNKNOWN_KEY,
    "SIGNATURE_DOES_NOT_MATCH": _OTHER_SECRET,
    "SignatureDoesNotMatch": _OTHER_SECRET,
    "NO_SUCH_BUCKET": "there is no such bucket; correct the address, or AWS_ENDPOINT_URL",
    "PermanentRedirect": _ELSEWHERE,
    "AuthorizationHeaderMalformed": _ELSEWHERE,
    "ACCESS_DENIED": "the credentials do not grant that; they must allow s3:ListBucket and s3:GetObject",
}
"""What an operator can do about a store's word; of several words the first here."""

_SILENT = "the store did not answer in time"

AT_ONCE = 32
"""Questions that may be open at a time: those that nobody waits for any more count, too."""

_HANDLES = 512
"""Objects of which it is remembered how long they are: the store is asked at the first read of each."""

_OF_THE_OBJECT = ("HTTP status 416", "INVALID_OBJECT_STATE", "code 136")
"""What a store says of an object that it has: it is shorter than it was, it is archived. All else that is no answer
(too many requests, expired credentials, an error of its own) says nothing of the object: that is no damage."""

_BLANK, _OTHER = b"\xa5", b"\x5a"
"""Fills bytes that a store did not send. If an object's own bytes end so, one time in 256, they are read again."""

_SECRET_NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST = 6  # of what is no word of a sentence
Answer = TypeVar("Answer")


class Version(NamedTuple):
    """An object as it was at one moment: two versions that are equal have the same bytes."""

    size: int
    written: str  # as the store says; empty if it does not
    tag: tuple[bytes, ...]


class BucketObjects(Objects):
    """Those of a bucket. `_lock` is held while `_handles` is looked at, `_opening` while the store's client is made;
    `_is_suspect` is assigned at once."""

    def __init__(self, uri: str, kind: str = "the tier ") -> None:
        """`kind` precedes the address in messages. UsageError if such a place is not supported."""
        self.shown_as = shown(uri)
        self.called = f"{kind}{self.shown_as}"
        self._uri = uri
        self._limits = store_session.current.limits
        self._begin()
        if urlsplit(uri).scheme not in ("s3", "gs", "gcs", "abfs", "abfss", "hdfs"):
            raise UsageError(f"{self.called} cannot be opened: pyarrow.fs knows s3, gs, abfs and hdfs")

    def _begin(self) -> None:
        """Start with no open connection. A forked process starts again: the connections belong to its parent."""
        self._process = os.getpid()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._client: tuple[Any, str] | None = None
        self._handles: OrderedDict[str, Any] = OrderedDict()
        self._is_suspect = False
        self._refused_until = {True: 0.0, False: 0.0}  # for callers with little patience, and for others
        self._refusal = _SILENT
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._signed: SignedReads | None = None

    def folders(self, folder: str = "") -> list[str]:
        """See `Objects`."""
        return sorted(each.base_name for each in self._listed(folder) if each.type == fs.FileType.Directory)

    def files(self, folder: str) -> Iterator[Object]:
        """See `Objects`."""
        for each in self._listed(folder):
            if each.type == fs.FileType.File:
                yield Object(f"{folder}/{each.base_name}", each.size or 0, each.mtime_ns or 0)

    def entries(self, folder: str) -> tuple[list[str], list[Object]]:
        """The folders and the objects in a folder, listed in one pass; none if it is not there."""
        try:
            found = self._listed(folder, self._limits.listing_s)
        except NotFound:
            found = []
        found = found or self._surely_empty(folder)
        prefix = f"{folder}/" if folder else ""
        return [each.base_name for each in found if each.type == fs.FileType.Directory], [
            Object(f"{prefix}{each.base_name}", each.size or 0, each.mtime_ns or 0)
            for each in found
            if each.type == fs.FileType.File
        ]

    def _surely_empty(self, folder: str) -> list[Any]:
        """The listing of a folder that seemed empty.

        pyarrow takes a page that a proxy has sent for a listing without names. So the listing is asked for again. An
        empty folder is there by an object of its own name, which another request has to tell. NotFound of the top."""

        def question() -> list[Any]:
            """Two requests, or three."""
            found = self._names_in(folder, allow_not_found=True)
            system, top = self._opened()
            is_there = found or system.get_file_info(f"{top}/{folder}".rstrip("/")).type == fs.FileType.Directory
            if not is_there and not folder:
                if self._signed is not None and self._signed.is_last("", "") is False:
                    raise OSError("no listing came, but something else; does a proxy answer instead of the store?")
                raise FileNotFoundError
            if not is_there:
                raise OSError("the store listed nothing in a folder that it had named")
            return found

        return self._asked(question, folder or "the top", self._limits.listing_s)

    def read_versioned(self, key: str, position: int, size: int) -> tuple[list[Bytes], Version, Version]:
        """Those bytes, maybe fewer, with the object's version before and after: if both are equal, they are of it.

        They come in parts of `PART` bytes. The last part has the rest."""

        def question() -> tuple[list[Bytes], Version, Version]:
            """One request, or by pyarrow one for the bytes, one behind it for the version, and at first one before."""
            self._opened()
            found = "" if self._signed is None else self._signed.read(key, position, size)
            if isinstance(found, SignedRead):
                version = Version(found.size, found.written, (found.tag, b"", found.version_id))
                return found.parts, version, version
            try:
                before = self._handle(key)
                data = _read_fully(before, position, size)
                parts: list[Bytes] = [data[at : at + PART] for at in range(0, len(data), PART)]
                return parts, _version(before), _version(self._handle(key, reopen=True))
            except OSError as error:
                if found and not isinstance(error, FileNotFoundError):
                    raise OSError(f"{error} ({found})") from error
                raise

        try:
            return self._asked(question, key)
        except (DiskError, NotFound):
            with self._lock:
                self._handles.pop(key, None)
            raise

    def read(self, key: str, position: int, size: int) -> bytes:
        """See `Objects`."""
        try:
            return whole(self.called, key, self._asked(lambda: self._read(key, position, size), key), size)
        except (DiskError, NotFound):
            with self._lock:
                self._handles.pop(key, None)  # it may have another size by now
            raise

    def stat(self, found: Object) -> os.stat_result:
        """See `Objects`: owned by who reads the store."""
        seconds = found.mtime_ns / 1e9
        mode = stat.S_IFREG | 0o400
        return os.stat_result(
            (mode, 0, 0, 1, os.geteuid(), os.getegid(), found.size, seconds, seconds, seconds),
            {"st_mtime_ns": found.mtime_ns, "st_ctime_ns": found.mtime_ns, "st_blocks": -(-found.size // 512)},
        )

    def _listed(self, folder: str, limit_s: float = 0.0) -> list[Any]:
        """A folder's names. If a proxy sends a page of its own, pyarrow takes it for the end of the listing. So behind
        a listing that ends with a full page, the store is asked for more."""

        def listing() -> list[Any]:
            """One request for a thousand keys, and one more if all pages are full; by pyarrow as many more."""
            found = self._names_in(folder, allow_not_found=bool(folder))
            is_full = found and -len(found) % self._limits.page <= 1  # a folder's own object counts, and is not listed
            if is_full and not self._is_all(folder, found):
                raise OSError(f"the store listed nothing behind {len(found):,} names, or more the next time")
            return found

        return self._asked(listing, folder, limit_s)

    def _is_all(self, folder: str, found: list[Any]) -> bool:
        names = [each.base_name + "/" * (each.type == fs.FileType.Directory) for each in found]
        last = max(names, key=lambda name: name.encode("utf-8", "surrogateescape"))
        is_last = None if self._signed is None else self._signed.is_last(folder, last)
        if is_last is None:
            return len(self._names_in(folder, allow_not_found=bool(folder))) == len(found)
        return is_last

    def _names_in(self, folder: str, *, allow_not_found: bool) -> list[Any]:
        """A folder's names as the store lists them now: a request for each thousand."""
        system, top = self._opened()
        found: list[Any] = system.get_file_info(
            fs.FileSelector(f"{top}/{folder}".rstrip("/"), allow_not_found=allow_not_found)
        )
        return found

    def _read(self, key: str, position: int, size: int) -> bytes:
        """One request, and at the first read of an object one more for its size."""
        return _read_fully(self._handle(key), position, size)

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
                limits, is_s3 = self._limits, self._uri.startswith("s3://")
                self._client = _s3(self._uri, limits) if is_s3 else fs.FileSystem.from_uri(limited(self._uri, limits))
                if is_s3:
                    self._signed = SignedReads.of(place_of(self._uri), self._client[0].region, limits.request_s)
            return self._client[0], self._client[1].rstrip("/")

    def _asked(self, question: Callable[[], Answer], what: str, most_s: float = 0.0) -> Answer:
        may_block()
        if self._process != os.getpid():
            self._begin()
        usual_s = self._limits.suspect_s if self._is_suspect else max(self._limits.question_s, most_s)
        limit_s = min(usual_s, patience_left())
        is_impatient, began = patience_left() < inf, time.monotonic()
        place = f"{what!r} of {self.called}" if what else self.called
        unanswered = Unanswered(f"{place} cannot be read: {_SILENT}")
        if not limit_s:
            self._refuse(is_impatient=True)
            raise Unanswered(f"{self.called} did not answer in time")
        if time.monotonic() < self._refused_until[is_impatient]:
            raise Unanswered(f"{place} cannot be read: {self._refusal}")
        future: Future[Answer] = Future()
        if not self._free.acquire(timeout=limit_s):
            raise unanswered
        threading.Thread(target=self._ask, args=(question, limit_s, future), name="store", daemon=True).start()
        try:
            return future.result(limit_s)
        except TimeoutError:
            self._is_suspect |= limit_s == usual_s
            self._refuse(is_impatient=limit_s < usual_s)
            raise unanswered from None
        except FileNotFoundError:
            raise NotFound(f"there is no {what!r} in {self.called}") from None
        except (OSError, ValueError) as error:
            reason = self._without_secrets(str(error).partition("\n")[0].partition(" error_info=")[0])
            if "AWS Error NO_SUCH_KEY" in reason:
                raise NotFound(f"there is no {what!r} in {self.called}") from None
            if "Failed to flush response stream" in reason:
                reason = "the store has sent more than was asked for, a page or an error of its own"
            self._is_suspect |= "AWS Error NETWORK_CONNECTION" in reason
            known = next((f"{cause} ({word})" for word, cause in _KNOWN.items() if word in reason), "")
            reason = known or reason
            kind = DiskError if any(word in reason for word in _OF_THE_OBJECT) else Unanswered
            if kind is Unanswered and time.monotonic() - began > self._limits.slow_s:
                self._refuse(is_impatient=False, why=known or _SILENT)
            raise kind(f"{place} cannot be read: {reason}") from None

    def _refuse(self, is_impatient: bool, why: str = _SILENT) -> None:
        """Do not ask for a while, because of that. A caller that had less patience than a question may take speaks only
        for its like: others may have the time that the store needs."""
        until, self._refusal = time.monotonic() + self._limits.refuse_s, why
        self._refused_until[True] = until
        if not is_impatient:
            self._refused_until[False] = until

    def _ask(self, question: Callable[[], Answer], limit_s: float, future: "Future[Answer]") -> None:
        try:
            answer = _persistently(question, time.monotonic() + limit_s, self._limits.waits_s)
        except BaseException as error:  # the waiting thread raises it
            future.set_exception(error)
        else:
            self._is_suspect = False
            self._refused_until = {True: 0.0, False: 0.0}
            future.set_result(answer)
        finally:
            self._free.release()

    def _without_secrets(self, text: str) -> str:
        """A store's own words may repeat what it was asked with."""
        parts = urlsplit(self._uri)
        given = [unquote(part) for part in (parts.username, parts.password) if part]
        given += [value for name in _SECRET_NAMES if (value := os.environ.get(name))]
        given = [each for each in given if len(each) >= _SHORTEST]
        for secret in [self._uri, *given, *(quote(each, safe="") for each in given)]:
            text = text.replace(secret, self.shown_as if secret == self._uri else "...")
        return text


def _persistently(question: Callable[[], Answer], until: float, waits_s: Sequence[float]) -> Answer:
    """The answer; the store is asked again if it has failed for the moment, up to a time."""
    for wait_s in waits_s:
        try:
            return question()
        except FileNotFoundError:
            raise
        except OSError as error:
            if not _PASSING.search(str(error)) or time.monotonic() + wait_s >= until:
                raise
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # not all readers at once
    return question()


_TAGS = ("ETag", "Generation", "VersionId")


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
    parts = urlsplit(uri)
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
