"""The network that a daemon needs for a tier in a bucket, and no more: TCP to a few ports, names of hosts,
certificates.

All that it will ever read of other places is read here, or named to `landlock`, before it is confined. Sources:
resolv.conf(5), nsswitch.conf(5), the places where Arrow and OpenSSL look for certificates, the AWS SDK's environment.
"""

import configparser
import os
import socket
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafkafs.disk.s3_place import place_of

_OF_NAMES = ("resolv.conf", "hosts", "nsswitch.conf", "host.conf", "gai.conf", "services")
_OF_CERTIFICATES = (
    "/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/pki", "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem", "/var/lib/ca-certificates",
)  # fmt: skip
_OF_CRYPTOGRAPHY = ("/dev/urandom", "/etc/ssl/openssl.cnf")  # the AWS SDK ends the process that may not have the first
_NAMED_FILES = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_FEDERATED_TOKEN_FILE")  # replaced at times by a new file
_KEYS = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID", "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN", "region": "AWS_DEFAULT_REGION",
}  # fmt: skip
DNS, HTTP, HTTPS = 53, 80, 443


class Network(NamedTuple):
    """The openings that stay: files and directories to read, and ports of other hosts."""

    readable: tuple[Path, ...] = ()
    ports: tuple[int, ...] = ()


def network_for_all(uris: Iterable[str]) -> Network | None:
    """Return what these buckets need together; None without a bucket."""
    needed = [network_for(uri) for uri in uris]
    readable = sorted({path for each in needed for path in each.readable})
    return Network(tuple(readable), tuple({port: None for each in needed for port in each.ports})) if needed else None


def network_for(uri: str) -> Network:
    """Return what that bucket needs. Credentials that are in the user's files go into the environment of this process,
    and the C library loads what it looks up names with."""
    endpoint = place_of(uri).way
    with suppress(OSError):
        socket.getaddrinfo(endpoint.hostname or "localhost", endpoint.port or HTTPS)
    if uri.startswith("s3://"):
        remember_credentials(os.environ)
    directories = [os.path.dirname(os.environ[name]) for name in _NAMED_FILES if os.environ.get(name)]
    files = [os.environ[name] for name in ("GOOGLE_APPLICATION_CREDENTIALS", "AWS_CA_BUNDLE") if os.environ.get(name)]
    trusted = ssl.get_default_verify_paths()
    files += [path for path in (trusted.cafile, trusted.capath) if path]
    names = [f"/etc/{name}" for name in _OF_NAMES]
    paths = (*names, *_OF_CERTIFICATES, *_OF_CRYPTOGRAPHY, *directories, *files)
    readable = {Path(path) for path in paths if os.path.exists(path)}
    return Network(tuple(sorted(readable)), (endpoint.port, DNS) if endpoint.port else (DNS, HTTP, HTTPS))


def remember_credentials(environment: "os._Environ[str] | dict[str, str]") -> None:
    """Keys and region of the profile in `~/.aws`, which the owner of the data need not be able to read."""
    profile = environment.get("AWS_PROFILE", "default")
    home = Path.home() / ".aws"
    given: dict[str, str] = {}
    for place, section in (
        (environment.get("AWS_CONFIG_FILE") or home / "config", f"profile {profile}"),
        (environment.get("AWS_SHARED_CREDENTIALS_FILE") or home / "credentials", profile),
    ):
        parser = configparser.RawConfigParser()
        with suppress(configparser.Error, OSError, UnicodeDecodeError):
            parser.read(place)
            for name in (section, profile):
                found: Mapping[str, str] = parser[name] if parser.has_section(name) else {}
                given |= {key: found[key] for key in _KEYS if key in found}
    if "AWS_ACCESS_KEY_ID" in environment or "aws_secret_access_key" not in given:
        given = {key: value for key, value in given.items() if key == "region"}
    for key, value in given.items():
        environment.setdefault(_KEYS[key], value)
