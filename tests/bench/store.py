"""A bucket in a process of its own that costs little: the kernel sends files to a socket, and Python reads a header.

`python -m tests.bench.store TOP` prints its port and answers as S3 does, with what lies below TOP. What each request
cost is so mostly the client's. `/counted` tells the requests so far. Run it by `bucket`.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote
from urllib.request import urlopen

from tests.kafka.buckets import BUCKET, Store, listing

_COUNTED = "/counted"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Bucket:
    """A running store."""

    port: int
    pid: int

    def address(self, folder: str) -> str:
        """That of a folder."""
        return f"s3://{BUCKET}/{folder}?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1"

    def requests(self) -> int:
        """How many it has answered."""
        with urlopen(f"http://127.0.0.1:{self.port}{_COUNTED}") as answer:
            return int(answer.read())

    def seconds(self) -> float:
        """The processors' time that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def bucket(top: Path) -> Iterator[Bucket]:
    """The bucket of a directory, while the block lasts."""
    command = [sys.executable, "-m", "tests.bench.store", str(top)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield Bucket(int(process.stdout.readline()), process.pid)
        finally:
            process.kill()


class _Answers:
    """Those of one store: a thread for each connection."""

    def __init__(self, top: Path) -> None:
        self._store = Store(top)
        self._served: list[int] = []

    def serve(self, server: socket.socket) -> None:
        """Until the process is ended."""
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._connected, args=(connection,), daemon=True).start()

    def _connected(self, connection: socket.socket) -> None:
        served = len(self._served)
        self._served.append(0)
        left = b""
        while True:
            head, found, left = left.partition(b"\r\n\r\n")
            if not found:
                more = connection.recv(1 << 16)
                if not more:
                    return
                left = head + more
                continue
            request, *lines = head.decode("latin-1").split("\r\n")
            method, target, _ = request.split(" ")
            if target != _COUNTED:
                self._served[served] += 1
            span = next((line.partition("=")[2] for line in lines if line[:6].lower() == "range:"), "")
            self._answer(connection, method, target, span)

    def _answer(self, connection: socket.socket, method: str, target: str, span: str) -> None:
        path, _, words = target.partition("?")
        query = parse_qs(words)
        if path == _COUNTED or "list-type" in query:
            body = listing(self._store, query) if query else b"%d" % sum(self._served)
            _send(connection, b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n", len(body))
            connection.sendall(body)
            return
        try:
            file = os.open(self._store.top / unquote(path).removeprefix(f"/{BUCKET}").strip("/"), os.O_RDONLY)
        except OSError:
            _send(connection, b"HTTP/1.1 404 Not Found\r\n", 0)
            return
        about = os.fstat(file)
        first, last = (int(word) for word in span.split("-")) if span else (0, about.st_size - 1)
        last = min(last, about.st_size - 1)
        told = f'ETag: "{about.st_mtime_ns}"\r\nLast-Modified: {formatdate(about.st_mtime, usegmt=True)}\r\n'
        if span:
            told = f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{about.st_size}\r\n{told}"
        else:
            told = f"HTTP/1.1 200 OK\r\n{told}"
        _send(connection, told.encode(), last - first + 1)
        while method == "GET" and first <= last:
            first += os.sendfile(connection.fileno(), file, first, last - first + 1)
        os.close(file)


def _send(connection: socket.socket, head: bytes, size: int) -> None:
    connection.sendall(b"%sContent-Length: %d\r\n\r\n" % (head, size))


def main() -> None:
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(server.getsockname()[1], flush=True)
    _Answers(Path(sys.argv[1])).serve(server)


if __name__ == "__main__":
    main()
