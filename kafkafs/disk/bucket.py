"""Objects in a bucket, by `signed_reads` or `arrow_store`: each question has a limit of time, and no answer a secret.

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
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, unquote, urlsplit

from kafkafs.disk import store_session
from kafkafs.disk.blocking import answer_time_left, may_ask_store, may_block, patience_left
from kafkafs.disk.objects import Names, Object, Objects, Version, attributes, parts_of, shown, whole
from kafkafs.disk.s3_place import place_of
from kafkafs.disk.signed_reads import AskArrow, SentRead, SignedRead, SignedReads, SignedStream, region_of
from kafkafs.errors import DiskError, NotFound, Unanswered, UsageError
from kafkafs.format.memory import Bytes

if TYPE_CHECKING:
    from kafkafs.disk.arrow_store import ArrowStore

_PASSING = re.compile(
    r"AWS Error (SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING|REQUEST_TIMEOUT|NETWORK_CONNECTION)"
    r"|HTTP status (5|429)|XML_ERROR|SlowDown|ServiceUnavailable|InternalError|TooManyRequests"
    r"|the store (listed nothing|sent nothing|sent a page of its listing twice|does not tell the last page)"
    r"|the answer is no listing"
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

_MOST_BEGUN = 64
"""Reads that are asked for and not received. If there are more, the oldest one is given up: nobody wants it."""

_OF_THE_OBJECT = ("HTTP status 416", "INVALID_OBJECT_STATE", "code 136")
"""What a store says of an object that it has: it is shorter than it was, it is archived. All else that is no answer
(too many requests, expired credentials, an error of its own) says nothing of the object: that is no damage."""

_SECRET_NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST = 6  # of what is no word of a sentence
Answer = TypeVar("Answer")


def _never(_: float) -> None:
    """For a question that needs a thread of its own."""


class BucketObjects(Objects):
    """Those of a bucket. `_lock` is held while `_begun` is looked at, `_opening` while it is found out how to ask;
    `_is_suspect` is assigned at once."""

    def __init__(self, uri: str, kind: str = "the tier ", *, is_beside_disks: bool = False) -> None:
        """`kind` precedes the address in messages. `is_beside_disks`: callers may need the disk alone, see
        `blocking.disk_only`. UsageError if such a place is not supported."""
        self._before_asking = may_ask_store if is_beside_disks else may_block
        self.shown_as = shown(uri)
        self.called = f"{kind}{self.shown_as}"
        self._uri = uri
        self._limits = store_session.current.limits
        self._is_suspect = False
        self._refused_until = {True: 0.0, False: 0.0}  # for callers with little patience, and for others
        self._refusal = _SILENT
        self._begin()
        if parts_of(uri).scheme not in ("s3", "gs", "gcs", "abfs", "abfss", "hdfs"):
            raise UsageError(f"{self.called} cannot be opened: pyarrow.fs knows s3, gs, abfs and hdfs")

    def _begin(self) -> None:
        """Start with no open connection. A forked process starts again: the connections belong to its parent."""
        self._process = os.getpid()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._begun: OrderedDict[tuple[str, int, int], SentRead] = OrderedDict()
        self._free = threading.BoundedSemaphore(AT_ONCE)
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
        if self._process != os.getpid() or self._signed is None or self._is_suspect:
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
        """Those bytes, asked for now and received by whoever reads the stream, which tells `check` of what version they
        are. None if pyarrow has to be asked, or if the store gives reason not to wait for it."""
        if patience_left() < inf:
            return None
        signed = self._asked(self._signed_reads, key) if self._process != os.getpid() else self._signed
        if signed is None or self._is_suspect:
            return None
        begun = self._taken(key, position, size) or signed.begin(key, position, size)
        if begun is None and self._asked(signed.connect, key):
            begun = signed.begin(key, position, size)
        return None if begun is None else SignedStream(signed, begun, self._limits.question_s, check)

    def read_versioned(self, key: str, position: int, size: int) -> tuple[Bytes, Version, Version]:
        """Those bytes, maybe fewer, with the object's version before and after: if both are equal, they are of it."""

        def question() -> tuple[Bytes, Version, Version]:
            """One request, or by pyarrow one for the bytes, one behind it for the version, and at first one before."""
            signed, why = self._signed_reads(), ""
            if signed is not None:
                try:
                    return _versioned(signed.read(key, position, size))
                except AskArrow as refused:
                    why = str(refused)
            try:
                return self._arrow.read_versioned(key, position, size)
            except OSError as error:
                if why and not isinstance(error, FileNotFoundError):
                    raise OSError(f"{error} ({why})") from error
                raise

        def at_once(until: float) -> tuple[Bytes, Version, Version] | None:
            """Without a thread of its own, over a connection that is open."""
            begun, signed = self._taken(key, position, size), self._signed
            if begun is None and signed is not None:
                begun = signed.begin(key, position, size)
            found = None if begun is None or signed is None else signed.read_begun(begun, until)
            return None if found is None else _versioned(found)

        try:
            return self._asked(question, key, at_once=at_once)
        except (DiskError, NotFound):
            if "_arrow" in self.__dict__:
                self._arrow.forget(key)
            raise

    def read(self, key: str, position: int, size: int) -> bytes:
        """See `Objects`."""
        try:
            return whole(self.called, key, self._asked(lambda: self._arrow.read(key, position, size), key), size)
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
        """Those of this bucket, made by the first question; None if pyarrow has to be asked."""
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
        self, question: Callable[[], Answer], what: str, most_s: float = 0.0,
        at_once: Callable[[float], Answer | None] = _never,
    ) -> Answer:  # fmt: skip
        """The answer. `at_once` tries it first in this thread up to a time, where the store is known to answer."""
        self._before_asking()
        if self._process != os.getpid():
            self._begin()
        usual_s = self._limits.suspect_s if self._is_suspect else max(self._limits.question_s, most_s)
        limit_s = min(usual_s, patience_left(), answer_time_left())
        is_usual = limit_s > 0.9 * usual_s  # an answer's time has begun a moment ago
        is_impatient, began = patience_left() < inf, time.monotonic()
        place = f"{what!r} of {self.called}" if what else self.called
        unanswered = Unanswered(f"{place} cannot be read: {_SILENT}")
        absent = f"there is no {what!r} in {self.called}" if what else f"there is nothing in {self.called}"
        if not limit_s:
            if is_impatient:
                self._refuse(is_impatient=True)
            raise Unanswered(f"{self.called} did not answer in time")
        if time.monotonic() < self._refused_until[is_impatient]:
            raise Unanswered(f"{place} cannot be read: {self._refusal}")
        if is_usual and not self._is_suspect:
            answer = at_once(began + limit_s)
            if answer is not None:
                self._refused_until = {True: 0.0, False: 0.0}
                return answer
            limit_s = max(0.0, began + limit_s - time.monotonic())
        future: Future[Answer] = Future()
        if not self._free.acquire(timeout=limit_s):
            raise unanswered
        threading.Thread(target=self._ask, args=(question, limit_s, future), name="store", daemon=True).start()
        try:
            return future.result(limit_s)
        except TimeoutError:
            self._is_suspect |= is_usual
            self._refuse(is_impatient=not is_usual)
            raise unanswered from None
        except FileNotFoundError:
            raise NotFound(absent) from None
        except (OSError, ValueError) as error:
            reason = self._without_secrets(str(error).partition("\n")[0].partition(" error_info=")[0])
            if "AWS Error NO_SUCH_KEY" in reason:
                raise NotFound(absent) from None
            if "Failed to flush response stream" in reason:
                reason = "the store has sent more than was asked for, a page or an error of its own"
            took_s = time.monotonic() - began
            self._is_suspect |= "AWS Error NETWORK_CONNECTION" in reason or took_s > self._limits.request_s
            known = next((f"{cause} ({word})" for word, cause in _KNOWN.items() if word in reason), "")
            reason = known or reason
            kind = DiskError if any(word in reason for word in _OF_THE_OBJECT) else Unanswered
            if kind is Unanswered and took_s > self._limits.slow_s:
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


def _twice(found: Names) -> int:
    """Names that were listed again. Some stores repeat the last folder of a page on the next one."""
    return len(found.folders) - len({*found.folders}) + len(found.objects) - len({*found.objects})


def _versioned(found: SignedRead) -> tuple[Bytes, Version, Version]:
    """The bytes with the version that the response to the same request told."""
    return found.data, found.version, found.version
