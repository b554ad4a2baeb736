"""Reads of S3 objects in one request each, whose response includes the object's version.

pyarrow asks for an object's attributes before it reads, and its reads tell no version. To prove that bytes are of one
version, it takes three requests. Here one request does, signed by AWS Signature Version 4.

This works with keys in the environment, the first place where pyarrow looks, and without a proxy. For everything else,
and after any error but silence, the caller asks by pyarrow. No redirect is followed, so a signature goes to one host.

Sources: AWS General Reference, "Signature Version 4 signing process"; S3 API Reference, "GetObject"; S3 User Guide,
"Virtual hosting of buckets".
"""

import hashlib
import hmac
import os
import re
import ssl
import time
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, LifoQueue
from typing import NamedTuple
from urllib.parse import quote

from kafkafs.disk.s3_place import Place
from kafkafs.format.memory import Buffers, Bytes

_ALGORITHM, _UNSIGNED, _LISTED, _PARTIAL = "AWS4-HMAC-SHA256", "UNSIGNED-PAYLOAD", 200, 206
_LARGEST = "\U0010ffff"  # no key in a folder comes behind it
_PLAIN_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]+")  # others have no certificate as a host, or another protocol
_OTHER_HOSTS = ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
_CODE = re.compile(rb"<Code>([A-Za-z]{1,64})</Code>")
_ERROR_SIZE = 1 << 16
_OF_THE_STORE = 500

PART = 1 << 20
"""Bytes of a part of what was read."""

_buffers = Buffers(PART, keep=16)


class SignedRead(NamedTuple):
    """Some bytes of an object, and the version that they are of."""

    parts: list[Bytes]  # of PART bytes each, but for the last one
    size: int
    written: str  # as pyarrow writes it
    tag: bytes
    version_id: bytes


class _Keys(NamedTuple):
    """Keys of the environment. No text of this value leaves the process but in a signature."""

    key: str
    secret: str
    token: str


class SignedReads:
    """Those of one bucket. Threads share the connections that are open and not in use."""

    def __init__(self, place: Place, region: str, keys: _Keys, silent_s: float) -> None:
        self._place, self._region, self._keys, self._silent_s = place, region, keys, silent_s
        self._host, self._top = _address_of(place, region)
        self._idle: LifoQueue[HTTPConnection] = LifoQueue()
        self._is_unfit = self._has_read = False

    @classmethod
    def of(cls, place: Place, region: str, silent_s: float) -> "SignedReads | None":
        """The reads of that bucket; None if keys or the way to it are not known for sure."""
        environment = os.environ
        key, secret = environment.get("AWS_ACCESS_KEY_ID", ""), environment.get("AWS_SECRET_ACCESS_KEY", "")
        is_plain = not (place.keys or place.proxy or "/" in place.endpoint) and place.scheme in ("http", "https")
        if not place.endpoint:
            is_plain &= bool(_PLAIN_BUCKET.fullmatch(place.bucket)) and not place.bucket.endswith("--x-s3")
            is_plain &= not any(environment.get(name, "").lower() == "true" for name in _OTHER_HOSTS)
        if not (is_plain and key and secret and region):
            return None
        return cls(place, region, _Keys(key, secret, environment.get("AWS_SESSION_TOKEN", "")), silent_s)

    def read(self, key: str, position: int, size: int) -> SignedRead | str:
        """Those bytes, in one request. If pyarrow has to be asked, the store's word for that, or "".

        A place that refuses its first read is not asked again: it may take requests of another form. Raise OSError if
        the store is silent."""
        if self._is_unfit:
            return ""
        try:
            found, code = self._asked(f"{self._top}/{quote(key, safe='/-_.~')}", position, size)
        except TimeoutError:
            raise OSError(f"the store sent nothing for {self._silent_s:.0f} seconds") from None
        except (OSError, HTTPException, LookupError, ValueError):
            return ""
        self._has_read |= isinstance(found, SignedRead)
        self._is_unfit = not self._has_read and code < _OF_THE_STORE
        return found

    def is_last(self, folder: str, name: str) -> bool | None:
        """True if the store lists nothing behind that name of a folder, False if it does or if a proxy answers. None if
        it must be asked by pyarrow. `name` of a folder ends with a slash."""
        if self._is_unfit:
            return None
        prefix = "".join(f"{part}/" for part in (self._place.folder, folder) if part)
        behind = f"{prefix}{name}{_LARGEST if name.endswith('/') else ''}"
        words = {"delimiter": "/", "list-type": "2", "max-keys": "1", "prefix": prefix, "start-after": behind}
        query = "&".join(f"{word}={quote(value, safe='-_.~')}" for word, value in words.items())
        path = self._top.removesuffix(quote(f"/{self._place.folder}", safe="/-_.~")) or "/"
        connection, is_fresh = self._connection()
        try:
            connection.request("GET", f"{path}?{query}", headers=self._headers(path, query))
            answer = connection.getresponse()
            data = answer.read(_ERROR_SIZE)
        except (OSError, HTTPException):
            return None if is_fresh else self.is_last(folder, name)
        finally:
            connection.close()
        if answer.status != _LISTED:
            return None
        return b"<ListBucketResult" in data and b"<Contents>" not in data and b"<CommonPrefixes>" not in data

    def _asked(self, path: str, position: int, size: int) -> tuple[SignedRead | str, int]:
        """The answer, and the code of its status."""
        connection, is_fresh = self._connection()
        headers = self._headers(path) | {"Range": f"bytes={position}-{position + size - 1}"}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            is_right = answer.status == _PARTIAL and answer.length in (size, None)
            parts: list[Bytes] = _received(answer, size) if is_right else [answer.read(_ERROR_SIZE)]
        except TimeoutError:
            connection.close()
            raise
        except (OSError, HTTPException):
            connection.close()
            if is_fresh:
                raise
            return self._asked(path, position, size)  # the store had closed the connection meanwhile
        if answer.will_close or not answer.isclosed():
            connection.close()
        else:
            self._idle.put(connection)
        span, _, whole = answer.getheader("Content-Range", "").rpartition("/")
        is_right &= sum(map(len, parts)) == size and span == f"bytes {position}-{position + size - 1}"
        if not is_right:
            code = _CODE.search(parts[0]) if answer.status != _PARTIAL else None
            return code[1].decode() if code else "", answer.status
        return _parsed(answer, parts, int(whole)), answer.status

    def _connection(self) -> tuple[HTTPConnection, bool]:
        try:
            return self._idle.get_nowait(), False
        except Empty:
            if self._place.scheme == "https":
                return HTTPSConnection(self._host, timeout=self._silent_s, context=self._trust), True
            return HTTPConnection(self._host, timeout=self._silent_s), True

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._place.authorities or None)

    def _headers(self, path: str, query: str = "") -> dict[str, str]:
        keys, now = self._keys, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {"host": self._host, "x-amz-content-sha256": _UNSIGNED, "x-amz-date": now}
        if keys.token:
            headers["x-amz-security-token"] = keys.token
        names = ";".join(headers)
        signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
        request = f"GET\n{path}\n{query}\n{signed}\n{names}\n{_UNSIGNED}"
        scope = f"{now[:8]}/{self._region}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{keys.secret}".encode()
        for part in (now[:8], self._region, "s3", "aws4_request", text):
            key = hmac.digest(key, part.encode(), "sha256")
        credential = f"Credential={keys.key}/{scope}"
        return headers | {
            "Authorization": f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={key.hex()}",
            "Accept-Encoding": "identity",
        }


def _received(answer: HTTPResponse, size: int) -> list[Bytes]:
    """The body in parts, each in memory that is used again. Of a longer body than `size` a part has one byte more."""
    parts: list[Bytes] = []
    for at in range(0, size, PART):
        if size - at < PART:
            parts.append(answer.read(size - at))
        else:
            part = _buffers.take().data
            parts.append(part[: answer.readinto(part)])
    if more := answer.read(1):
        parts.append(more)
    return parts


def _parsed(answer: HTTPResponse, parts: list[Bytes], size: int) -> SignedRead | str:
    """Return the bytes with the version from the response headers, or "" if the response has no version."""
    written = parsedate_to_datetime(answer.getheader("Last-Modified", "")).strftime("%Y-%m-%dT%H:%M:%SZ")
    tag, version_id = (answer.getheader(name, "").encode() for name in ("ETag", "x-amz-version-id"))
    return SignedRead(parts, size, written, tag, version_id) if tag else ""


def _address_of(place: Place, region: str) -> tuple[str, str]:
    """The host, and the path of the folder there. Amazon's own store has a host for each bucket."""
    folder = quote(f"/{place.folder}" if place.folder else "", safe="/-_.~")
    if place.endpoint:
        return place.endpoint, f"/{place.bucket}{folder}"
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"{place.bucket}.s3.{region}.{domain}", folder
