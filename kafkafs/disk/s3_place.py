"""The place of an S3 bucket, out of its address and the environment that AWS's own tools heed.

pyarrow 26 looks for keys by itself. It heeds neither `AWS_ENDPOINT_URL`, nor a proxy, nor `AWS_CA_BUNDLE`: without this
module, keys of a store of one's own would go to Amazon. Sources: AWS SDKs and Tools Reference Guide, "Service-specific
endpoints"; botocore's handling of `AWS_CA_BUNDLE`; curl(1) on proxies.
"""

import os
import re
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from kafkafs.errors import UsageError

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class Place(NamedTuple):
    """A bucket and the way to it. `endpoint` is empty for Amazon's own store, `region` if nothing names it here."""

    bucket: str
    folder: str
    scheme: str = "https"
    endpoint: str = ""
    region: str = ""
    keys: tuple[str, str] | None = None
    proxy: str = ""
    authorities: str = ""
    is_named: bool = False
    """True if the environment names the endpoint."""

    @property
    def way(self) -> SplitResult:
        """The host and the port to connect to, as far as the address or the environment names them."""
        return urlsplit(self.proxy or f"//{self.endpoint}")

    @property
    def is_elsewhere(self) -> bool:
        """True if the environment, and not the address alone, leads to the store."""
        return bool(self.proxy or self.authorities or self.is_named)

    def arguments(self) -> dict[str, Any]:
        """The arguments of pyarrow's `S3FileSystem`."""
        key, secret = self.keys or (None, None)
        given = {
            "scheme": self.scheme, "endpoint_override": self.endpoint, "region": self.region, "access_key": key,
            "secret_key": secret, "proxy_options": self.proxy, "tls_ca_file_path": self.authorities,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value}


def place_of(uri: str) -> Place:
    """Return the place of an address `s3://...`. The address counts before the environment. Its path is a key as it is:
    `%20` is no space, as in `aws s3 ls`."""
    parts = urlsplit(uri, allow_fragments=False)  # a key may have a #
    given = dict(parse_qsl(parts.query))
    is_s3 = parts.scheme == "s3"
    named = next(filter(None, map(os.environ.get, _ENDPOINTS)), "") if is_s3 else ""
    endpoint = given.get("endpoint_override") or named
    scheme, _, rest = re.sub(r"^(\w+):/+", r"\1://", endpoint).rpartition("://")  # a path has lost one of the slashes
    if endpoint and not _is_host(rest):
        raise UsageError(f"the endpoint {endpoint!r} names no host; write https://HOST, or leave it out")
    scheme = scheme or given.get("scheme", "https")
    return Place(
        parts.netloc.rpartition("@")[2],
        parts.path.strip("/"),
        scheme,
        rest.rstrip("/"),
        given.get("region", ""),
        (unquote(parts.username), unquote(parts.password or "")) if parts.username else None,
        _proxy(scheme, rest) if is_s3 else "",
        os.environ.get("AWS_CA_BUNDLE", ""),
        bool(named) and "endpoint_override" not in given,
    )


def _is_host(endpoint: str) -> bool:
    with suppress(ValueError):  # brackets around no IPv6 address, a port that is no number
        way = urlsplit(f"//{endpoint}")
        return bool(way.hostname) and way.port != 0
    return False


def _proxy(scheme: str, endpoint: str) -> str:
    """The proxy for that store; empty for a host that `NO_PROXY` names."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass  # with an HTTP client: most stores have no proxy

    proxies = getproxies()
    if scheme not in proxies or proxy_bypass(endpoint or "s3.amazonaws.com"):
        return ""
    return proxies[scheme] if "://" in proxies[scheme] else f"http://{proxies[scheme]}"
