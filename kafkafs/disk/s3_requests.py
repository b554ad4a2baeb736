"""Requests to an S3 bucket as bytes to be sent, signed by AWS Signature Version 4 with keys of the environment.

Sources: AWS General Reference, "Signature Version 4 signing process"; S3 API Reference, "GetObject", "ListObjectsV2";
S3 User Guide, "Virtual hosting of buckets".
"""

import hashlib
import hmac
import os
import re
import time
from typing import NamedTuple
from urllib.parse import quote

from kafkafs.disk.s3_place import Place

_ALGORITHM, _UNSIGNED = "AWS4-HMAC-SHA256", "UNSIGNED-PAYLOAD"
_PLAIN_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]+")  # others have no certificate as a host, or another protocol
_OTHER_HOSTS = ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


class _Keys(NamedTuple):
    """Keys of the environment. No text of this value leaves the process but in a signature."""

    key: str
    secret: str
    token: str


class S3Requests:
    """GET requests to one bucket."""

    def __init__(self, place: Place, region: str, keys: _Keys) -> None:
        self._region, self._keys = region, keys
        self.host, self._bucket, self._folder = _address_of(place, region)
        self._day = ("", b"")  # a day, and the key of its signatures

    @classmethod
    def of(cls, place: Place, region: str) -> "S3Requests | None":
        """The requests to a bucket; None if keys or the way to it are not known for sure."""
        environment = os.environ
        key, secret = environment.get("AWS_ACCESS_KEY_ID", ""), environment.get("AWS_SECRET_ACCESS_KEY", "")
        token = environment.get("AWS_SESSION_TOKEN", "")
        is_plain = not (place.keys or place.proxy or "/" in place.endpoint) and place.scheme in ("http", "https")
        is_plain &= all(word.isascii() and word.isprintable() for word in (key, secret, token, region, place.endpoint))
        if not place.endpoint:
            is_plain &= bool(_PLAIN_BUCKET.fullmatch(place.bucket)) and not place.bucket.endswith("--x-s3")
            is_plain &= not any(environment.get(name, "").lower() == "true" for name in _OTHER_HOSTS)
        if not (is_plain and key and secret and region):
            return None
        return cls(place, region, _Keys(key, secret, token))

    def read(self, key: str, position: int, size: int) -> bytes:
        """The request for those bytes of an object."""
        span = f"Range: bytes={position}-{position + size - 1}\r\n"
        return self._signed(f"{self._bucket}{self._folder}/{_quoted(key)}", "", span)

    def listing(self, prefix: str, token: str) -> bytes:
        """The request for a page of the folder whose names begin with `prefix`; for the first one without a token."""
        words = {"delimiter": "/", "list-type": "2", "prefix": prefix}
        words |= {"continuation-token": token} if token else {}
        query = "&".join(f"{word}={quote(words[word], safe='-_.~')}" for word in sorted(words))
        return self._signed(self._bucket or "/", query, "")

    def _signed(self, path: str, query: str, more: str) -> bytes:
        """A whole request, signed; `more` are lines of headers that need no signature."""
        keys, now = self._keys, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        token = f"x-amz-security-token:{keys.token}\n" if keys.token else ""
        names = f"host;x-amz-content-sha256;x-amz-date{';x-amz-security-token' if token else ''}"
        signed = f"host:{self.host}\nx-amz-content-sha256:{_UNSIGNED}\nx-amz-date:{now}\n{token}"
        request = f"GET\n{path}\n{query}\n{signed}\n{names}\n{_UNSIGNED}"
        scope = f"{now[:8]}/{self._region}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._key_of(now[:8]), text.encode(), "sha256").hex()
        authorization = f"{_ALGORITHM} Credential={keys.key}/{scope}, SignedHeaders={names}, Signature={signature}"
        lines = signed.replace("\n", "\r\n")
        target = f"{path}?{query}" if query else path
        return (
            f"GET {target} HTTP/1.1\r\n{lines}Authorization: {authorization}\r\nAccept-Encoding: identity\r\n{more}\r\n"
        ).encode("ascii")

    def _key_of(self, day: str) -> bytes:
        known, key = self._day
        if known != day:
            key = f"AWS4{self._keys.secret}".encode()
            for part in (day, self._region, "s3", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._day = day, key
        return key


def region_of(place: Place) -> str:
    """The region of a place, if its address or the environment names one; "" if pyarrow has to find it."""
    named = {os.environ[name] for name in _REGIONS if os.environ.get(name)}
    return place.region or (named.pop() if len(named) == 1 else "")


def _address_of(place: Place, region: str) -> tuple[str, str, str]:
    """The host, and the paths of the bucket and of the folder there. Amazon's own store has a host for each bucket."""
    folder = _quoted(f"/{place.folder}" if place.folder else "")
    if place.endpoint:
        return place.endpoint, f"/{place.bucket}", folder
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"{place.bucket}.s3.{region}.{domain}", "", folder


def _quoted(path: str) -> str:
    return quote(path, safe="/-_.~")
