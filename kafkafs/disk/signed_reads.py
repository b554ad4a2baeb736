"""Reads of S3 objects in one request each, whose answer tells the object's version.

pyarrow asks for an object's attributes before it reads, and its reads tell no version. To prove that bytes are of one
version, it takes three requests. Here one request does, signed by AWS Signature Version 4.

This works with keys in the environment, the first place where pyarrow looks, if the region is known. For everything
else, and after any error but silence, the caller asks by pyarrow, which has the words for it.

Sources: AWS General Reference, "Signature Version 4 signing process"; S3 API Reference, "GetObject".
"""

import hashlib
import hmac
import os
import ssl
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, LifoQueue
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM, _UNSIGNED, _PARTIAL = "AWS4-HMAC-SHA256", "UNSIGNED-PAYLOAD", 206
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


class SignedRead(NamedTuple):
    """Some bytes of an object, and the version that they are of."""

    data: bytes
    size: int
    written: str  # as pyarrow writes it
    tag: bytes
    version_id: bytes


class _Place(NamedTuple):
    """A bucket, and the keys to it. No text of this value leaves the process but in a signature."""

    host: str
    is_secure: bool
    prefix: str
    region: str
    key: str
    secret: str
    token: str


class SignedReads:
    """Those of one bucket. Threads share the connections that are open and not in use."""

    def __init__(self, place: _Place, silent_s: float) -> None:
        self._place, self._silent_s = place, silent_s
        self._idle: LifoQueue[HTTPConnection] = LifoQueue()
        self._has_failed = self._has_read = False

    @classmethod
    def of(cls, uri: str, silent_s: float) -> "SignedReads | None":
        """The reads of the bucket of that address; None where keys or the place are not known for sure."""
        place = _place_of(uri)
        return None if place is None else cls(place, silent_s)

    def read(self, key: str, position: int, size: int) -> SignedRead | None:
        """Those bytes, in one request; None where pyarrow has to be asked. OSError if the store is silent.

        A place that has failed at its first read is not asked again: it may take requests of another form."""
        if self._has_failed and not self._has_read:
            return None
        try:
            found = self._asked(f"{self._place.prefix}/{quote(key, safe='/-_.~')}", position, size)
        except TimeoutError:
            raise OSError(f"the store sent nothing for {self._silent_s:.0f} seconds") from None
        except (OSError, HTTPException, LookupError, ValueError):
            found = None
        self._has_read, self._has_failed = self._has_read or found is not None, found is None
        return found

    def _asked(self, path: str, position: int, size: int) -> SignedRead | None:
        connection, is_fresh = self._connection()
        headers = self._headers(path) | {"Range": f"bytes={position}-{position + size - 1}"}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            data = answer.read()
        except TimeoutError:
            connection.close()
            raise
        except (OSError, HTTPException):
            connection.close()
            if is_fresh:
                raise
            return self._asked(path, position, size)  # the store had closed the connection meanwhile
        if answer.will_close:
            connection.close()
        else:
            self._idle.put(connection)
        whole = answer.getheader("Content-Range", "").rpartition("/")[2]
        if answer.status != _PARTIAL or len(data) != size:
            return None
        written = parsedate_to_datetime(answer.getheader("Last-Modified", "")).strftime("%Y-%m-%dT%H:%M:%SZ")
        tag, version_id = (answer.getheader(name, "").encode() for name in ("ETag", "x-amz-version-id"))
        return SignedRead(data, int(whole), written, tag, version_id) if tag else None

    def _connection(self) -> tuple[HTTPConnection, bool]:
        try:
            return self._idle.get_nowait(), False
        except Empty:
            host, limit_s = self._place.host, self._silent_s
            if self._place.is_secure:
                return HTTPSConnection(host, timeout=limit_s, context=ssl.create_default_context()), True
            return HTTPConnection(host, timeout=limit_s), True

    def _headers(self, path: str) -> dict[str, str]:
        place, now = self._place, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {"host": place.host, "x-amz-content-sha256": _UNSIGNED, "x-amz-date": now}
        if place.token:
            headers["x-amz-security-token"] = place.token
        names = ";".join(headers)
        told = "".join(f"{name}:{value}\n" for name, value in headers.items())
        request = f"GET\n{path}\n\n{told}\n{names}\n{_UNSIGNED}"
        scope = f"{now[:8]}/{place.region}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{place.secret}".encode()
        for part in (now[:8], place.region, "s3", "aws4_request", text):
            key = hmac.digest(key, part.encode(), "sha256")
        credential = f"Credential={place.key}/{scope}"
        return headers | {
            "Authorization": f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={key.hex()}",
            "Accept-Encoding": "identity",
        }


def _place_of(uri: str) -> _Place | None:
    parts, environment = urlsplit(uri), os.environ
    given = dict(parse_qsl(parts.query))
    key, secret = environment.get("AWS_ACCESS_KEY_ID", ""), environment.get("AWS_SECRET_ACCESS_KEY", "")
    region = given.get("region") or next(filter(None, map(environment.get, _REGIONS)), "")
    endpoint, scheme = given.get("endpoint_override", ""), given.get("scheme", "https")
    is_plain = parts.scheme == "s3" and not parts.username and scheme in ("http", "https")
    if not (is_plain and key and secret and region) or "://" in endpoint or "AWS_ENDPOINT_URL" in environment:
        return None
    top = f"/{parts.netloc}{quote(parts.path.rstrip('/'), safe='/-_.~')}"
    host = endpoint
    if not endpoint:
        host, top = f"{parts.netloc}.s3.{region}.amazonaws.com", top.removeprefix(f"/{parts.netloc}")
    return _Place(host, scheme == "https", top, region, key, secret, environment.get("AWS_SESSION_TOKEN", ""))
