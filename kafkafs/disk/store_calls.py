"""Calls to a store: each has a limit of time, and each error is a sentence for an operator, without a secret.

A question that is not answered in time is left to a thread of its own. The next ones then have less time, and for a
while none is asked at all: one caller has waited already.
"""

import os
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from math import inf
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from kafkafs.disk.blocking import answer_time_left, patience_left
from kafkafs.disk.objects import shown
from kafkafs.disk.store_session import StoreLimits
from kafkafs.errors import DiskError, KafkafsError, NotFound, Unanswered

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
"""The operator's remedy for each error word of a store. If a message has several words, the first one here counts."""

_SILENT = "the store did not answer in time"

AT_ONCE = 32
"""Questions that may be open at a time: those that nobody waits for any more count, too."""

_OF_THE_OBJECT = ("HTTP status 416", "INVALID_OBJECT_STATE", "code 136")
"""Words of failures that concern the object itself: it is shorter than it was, or it is archived. All other failures
(too many requests, expired credentials, an error inside the store) say nothing about the object, so they are no
damage."""

_SECRET_NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST = 6  # characters: a shorter secret may be a word of the sentence
Answer = TypeVar("Answer")
AtOnce = Callable[[float], Answer | None]
"""Asks in the thread of the caller, up to a time (`time.monotonic`). None if that takes a thread of its own."""


class StoreCalls:
    """The calls to the store of an address. Each attribute is assigned at once, so no lock is needed."""

    def __init__(self, uri: str, called: str, limits: StoreLimits) -> None:
        """`called`: the address in messages."""
        self._uri, self._called, self._limits = uri, called, limits
        self.is_suspect = False
        """True if a question took too long, until one is answered."""
        self._refused_until = {True: 0.0, False: 0.0}  # for callers with little patience, and for others
        self._refusal = _SILENT
        self.restart()

    def restart(self) -> None:
        """Forget all open questions in a forked process: they are open in its parent only."""
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def answer(
        self, question: Callable[[], Answer], what: str, most_s: float, at_once: AtOnce[Answer] | None
    ) -> Answer:
        """The answer about the object or the folder `what`, "" for the top. `at_once` tries it first, where the store
        is known to answer. `most_s`: seconds that it may take, if that is more than usual."""
        usual_s = self._limits.suspect_s if self.is_suspect else max(self._limits.question_s, most_s)
        limit_s = min(usual_s, patience_left(), answer_time_left())
        is_usual = limit_s > 0.9 * usual_s  # an answer's time has begun a moment ago
        is_impatient, began = patience_left() < inf, time.monotonic()
        place = f"{what!r} of {self._called}" if what else self._called
        unanswered = Unanswered(f"{place} cannot be read: {_SILENT}")
        if not limit_s:
            if is_impatient:
                self._refuse(is_impatient=True)
            raise Unanswered(f"{self._called} did not answer in time")
        if time.monotonic() < self._refused_until[is_impatient]:
            raise Unanswered(f"{place} cannot be read: {self._refusal}")
        if at_once is not None and is_usual and not self.is_suspect:
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
            self.is_suspect |= is_usual
            self._refuse(is_impatient=not is_usual)
            raise unanswered from None
        except (OSError, ValueError) as error:
            raise self._failure(error, what, place, time.monotonic() - began) from None

    def _failure(self, error: Exception, what: str, place: str, took_s: float) -> KafkafsError:
        """The error for what a store or its client said after so many seconds."""
        reason = self._without_secrets(str(error).partition("\n")[0].partition(" error_info=")[0])
        if isinstance(error, FileNotFoundError) or "AWS Error NO_SUCH_KEY" in reason:
            return NotFound(
                f"there is no {what!r} in {self._called}" if what else f"there is nothing in {self._called}"
            )
        if "Failed to flush response stream" in reason:
            reason = "the store has sent more than was asked for, a page or an error of its own"
        self.is_suspect |= "AWS Error NETWORK_CONNECTION" in reason or took_s > self._limits.request_s
        known = next((f"{cause} ({word})" for word, cause in _KNOWN.items() if word in reason), "")
        reason = known or reason
        kind = DiskError if any(word in reason for word in _OF_THE_OBJECT) else Unanswered
        if kind is Unanswered and took_s > self._limits.slow_s:
            self._refuse(is_impatient=False, why=known or _SILENT)
        return kind(f"{place} cannot be read: {reason}")

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
            self.is_suspect = False
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
            text = text.replace(secret, shown(self._uri) if secret == self._uri else "...")
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
