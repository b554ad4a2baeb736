"""A store that answers as S3 does, from a directory of this machine. It counts requests, and fails when told to."""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "disks"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
"""The environment of whoever reads it."""

Fault = Callable[[str, str], str]
"""Of a method and a key: "" to answer, else a status of `ERRORS`, slow, reset, short, page, nothing, damaged or
trickle."""

ERRORS = {"500": "InternalError", "503": "SlowDown", "429": "TooManyRequests", "403": "ExpiredToken"}
TRICKLE_S = 0.5
"""The pause behind each byte of a store that trickles: never so long that a connection seems dead."""

_PAGES = {"page": b"<html>log in</html>", "nothing": b""}
"""Bodies of a proxy that answers instead of the store, by the name of the fault."""


@dataclass
class Store:
    """What lies below `top` is the content of the bucket. `asked` has method, key and range of each request."""

    top: Path
    port: int = 0
    page: int = 1000  # keys that a listing has at most
    fault: Fault = lambda _method, _key: ""
    asked: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def address(self, prefix: str = "", *, opened: bool = False) -> str:
        """That of the bucket, or of a folder in it. `opened`: with the keys in it."""
        folder = f"{'key:secret@' * opened}{BUCKET}/{prefix}".rstrip("/")
        return f"s3://{folder}?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1"

    def fail_at(self, key: str, fault: str, methods: Collection[str] = ("GET",)) -> None:
        """Have this fault at one object alone. "changed" is an object that is replaced by the same bytes."""

        def failing(method: str, asked: str) -> str:
            if asked != key or method not in methods:
                return ""
            if fault == "changed":
                other = (path := self.top / key).with_name("other")
                other.write_bytes(path.read_bytes())
                other.replace(path)
            return fault

        self.fault = failing

    def ranges(self) -> list[str]:
        """The requests for bytes of objects."""
        return [each for each in self.asked if "bytes=" in each]


@contextmanager
def bucket_of(top: Path, port: int = 0) -> Iterator[Store]:
    """A store in this process, at a port that is free unless one is named."""
    store = Store(top)

    class Handler(_Handler):
        pass

    Handler.store = store

    class Server(ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 128

        def handle_error(self, *_: object) -> None:
            """A client has gone, or a connection was reset."""

    server = Server(("127.0.0.1", port), Handler)
    store.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield store
    finally:
        store.ended.set()
        server.shutdown()
        server.server_close()


@contextmanager
def in_buckets() -> Iterator[Callable[[Path], str]]:
    """Gives the address of a directory as a folder of a bucket. Its store runs to the end of the block."""
    with ExitStack() as stores:
        yield lambda place: stores.enter_context(bucket_of(place.parent)).address(place.name, opened=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    store: Store

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, *, has_body: bool) -> None:
        if self.store.ended.is_set():  # a client may have kept its connection
            return self._reset()
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").strip("/")
        query = parse_qs(parts.query)
        self.store.asked.append(f"{self.command} {key} {self.headers.get('Range', '')} {parts.query}".strip())
        fault = self._fault = self.store.fault(self.command, key or query.get("prefix", [""])[0])
        if fault in ERRORS:
            error = f"<?xml version='1.0'?><Error><Code>{ERRORS[fault]}</Code><Message>no</Message></Error>".encode()
            return self._send(int(fault), error if has_body else b"", {"Content-Type": "application/xml"})
        if fault in _PAGES:
            return self._send(200, _PAGES[fault] if has_body else b"", {"Content-Type": "text/html"})
        if fault == "reset":
            return self._reset()
        if fault == "slow":
            self.store.ended.wait(300)
            return self._reset()
        if "list-type" in query:
            listed = listing(self.store, query)
            listed = listed[: len(listed) // 2] if fault == "short" else listed
            return self._send(200, listed, {"Content-Type": "application/xml"})
        path = self.store.top / key
        if not path.is_file():
            return self._send(404, b"" if not has_body else b"<Error><Code>NoSuchKey</Code></Error>", {})
        about = path.stat()
        written = formatdate(about.st_mtime, usegmt=True)
        answer_headers = {"ETag": f'"{about.st_mtime_ns}-{about.st_ino}"', "Last-Modified": written}
        if not has_body:
            return self._send(200, b"", {**answer_headers, "Content-Length": str(about.st_size)})
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        if int(first) >= about.st_size:
            return self._send(416, b"<Error><Code>InvalidRange</Code></Error>", {})
        with path.open("rb") as file:
            file.seek(int(first))
            data = file.read(int(last) - int(first) + 1)
        answer_headers["Content-Range"] = f"bytes {first}-{int(first) + len(data) - 1}/{about.st_size}"
        if fault == "damaged":
            data = data[: len(data) // 2] + bytes(8) + data[len(data) // 2 + 8 :]
        return self._send(206, data[: len(data) // 2] if fault == "short" else data, answer_headers)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        first = 1 if self._fault == "trickle" else len(body)
        self.wfile.write(body[:first])
        for at in range(first, len(body)):
            if self.store.ended.wait(TRICKLE_S):
                return self._reset()
            self.wfile.write(body[at : at + 1])
        return None


def listing(store: Store, query: dict[str, list[str]]) -> bytes:
    """A page of a folder, as S3 lists it."""
    prefix, after = query.get("prefix", [""])[0], query.get("continuation-token", [""])[0]
    folder = store.top / prefix
    found = sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.is_dir() else []
    behind = query.get("start-after", [""])[0].removeprefix(prefix)
    rest = [entry for entry in found if entry.name > after and f"{entry.name}{'/' * entry.is_dir()}" > behind]
    page = min(store.page, int(query.get("max-keys", ["1000"])[0]))
    parts = [
        f"<IsTruncated>{str(len(rest) > page).lower()}</IsTruncated>", f"<KeyCount>{len(rest[:page])}</KeyCount>"
    ]  # fmt: skip
    for entry in rest[:page]:
        key = escape(f"{prefix}{entry.name}")
        if entry.is_dir():
            parts.append(f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>")
        else:
            about = entry.stat()
            written = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(about.st_mtime))
            parts.append(
                f"<Contents><Key>{key}</Key><LastModified>{written}</LastModified><Size>{about.st_size}</Size></Contents>"
            )
    if len(rest) > page:
        parts.append(f"<NextContinuationToken>{escape(rest[page - 1].name)}</NextContinuationToken>")
    return f"<ListBucketResult>{''.join(parts)}</ListBucketResult>".encode()
