"""HTTP/1.1 as far as an object store needs it: GET requests, one after the other, over a connection that stays open.

Python's own client (`http.client`) takes each header for one of a mail, which costs more than all else of a small read.
Sources: RFC 9110, RFC 9112.
"""

import re
import socket
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

_HEAD_SIZE = 1 << 16
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(;.*)?", re.DOTALL)
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5]\d\d)( .*)?")
_CONTINUES, _LAST_INTERIM = 100, 199
_UNTIL_CLOSED = 1 << 62


class HttpError(OSError):
    """The bytes that came are no response, or the connection ended within the response."""


class HttpConnection:
    """One connection, used by one thread at a time. `send`, then `receive_head`, then `read_into` until it gives 0."""

    def __init__(self, host: str, silent_s: float, trust: "ssl.SSLContext | None" = None) -> None:
        """`host` may have a port. With `trust` by TLS. OSError if there is none; TimeoutError after so much silence."""
        name, colon, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
        name = name.strip("[]")
        address: Any = name.encode() if name.isascii() else name  # bytes spare the tables for names that are not ASCII
        self._socket = socket.create_connection((address, int(port) if colon else 443 if trust else 80), silent_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if trust is not None:
                self._socket = trust.wrap_socket(self._socket, server_hostname=name)
        except BaseException:
            self._socket.close()
            raise
        self._silent_s = silent_s
        self.until = 0.0
        """The time at which a read of the response gives up (`time.monotonic`)."""
        self._buffer = memoryview(bytearray(_HEAD_SIZE))
        self._from = self._to = 0  # range of the buffer's bytes that nobody has taken
        self._left = 0  # bytes left of the body, or of its chunk
        self._is_chunked = self._closes = self._is_hurried = False
        self.status, self.headers = 0, dict[str, str]()
        """The status and the headers of the last response; names of headers are in lower case."""

    @property
    def may_go_on(self) -> bool:
        """True if the response was read to its end, and the connection takes another request."""
        return not (self._left or self._is_chunked or self._closes or self._from < self._to)

    def close(self) -> None:
        """Close the connection for good."""
        self._socket.close()

    def send(self, request: bytes) -> None:
        """Send a whole request. Its response can be received later."""
        self._closes = True  # until there is a response
        self._socket.sendall(request)

    def receive_head(self, until: float) -> None:
        """Receive status and headers. TimeoutError after a silence, or if the response is not whole at `until`."""
        self.until = until
        if self._is_hurried:
            self._socket.settimeout(self._silent_s)
            self._is_hurried = False
        self.status = _CONTINUES
        while _CONTINUES <= self.status <= _LAST_INTERIM:
            first, *lines = self._up_to(b"\r\n\r\n").decode("latin-1").split("\r\n")
            found = _STATUS.fullmatch(first)
            if found is None:
                raise HttpError("the answer is not HTTP")
            self.status = int(found[1])
        fields = (line.partition(":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in fields}
        self._is_chunked = self.headers.get("transfer-encoding", "identity").lower() == "chunked"
        length = self.headers.get("content-length", "")
        self._closes = first.startswith("HTTP/1.0") or "close" in self.headers.get("connection", "").lower()
        self._closes |= not (self._is_chunked or length.isdecimal())
        self._left = 0 if self._is_chunked else int(length) if length.isdecimal() else _UNTIL_CLOSED

    @property
    def length(self) -> int | None:
        """The bytes of the body that are to come, if the head tells."""
        return None if self._is_chunked or self._left == _UNTIL_CLOSED else self._left

    def read_into(self, view: memoryview) -> int:
        """Fill `view` with the next bytes of the body; fewer only at its end. Return how many came."""
        at = 0
        while at < len(view):
            if not self._left and not self._next_chunk():
                break
            got = self._take(view[at : at + min(len(view) - at, self._left)])
            if not got:
                if self._left < _UNTIL_CLOSED // 2:
                    raise HttpError("the connection ended in the midst of a response")
                self._left = 0
                break
            self._left -= got
            at += got
        return at

    def read(self, most: int) -> bytes:
        """The body, or as much of its beginning."""
        data = memoryview(bytearray(most))
        return bytes(data[: self.read_into(data)])

    def _take(self, view: memoryview) -> int:
        """Some bytes: those that came with the head first."""
        there = min(self._to - self._from, len(view))
        if there:
            view[:there] = self._buffer[self._from : self._from + there]
            self._from += there
            return there
        self._check_time()
        return self._socket.recv_into(view)

    def _check_time(self) -> None:
        """Wait no longer than until the response has to be whole."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if left < self._silent_s:
            self._socket.settimeout(left)
            self._is_hurried = True

    def _up_to(self, end: bytes) -> bytes:
        """The bytes in front of `end`; those behind stay in the buffer."""
        while True:
            data = bytes(self._buffer[self._from : self._to])
            at = data.find(end)
            if at >= 0:
                self._from += at + len(end)
                return data[:at]
            if self._from:  # so that there is room behind
                self._buffer[: len(data)] = data
                self._from, self._to = 0, len(data)
            if self._to == len(self._buffer):
                raise HttpError("a head of a response is too long")
            self._check_time()
            got = self._socket.recv_into(self._buffer[self._to :])
            if not got:
                raise HttpError("the connection ended in front of a response")
            self._to += got

    def _next_chunk(self) -> bool:
        """Go on with the next chunk of the body. False behind the last one."""
        if not self._is_chunked:
            return False
        line = self._up_to(b"\r\n") or self._up_to(b"\r\n")  # a chunk ends with a line's end
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise HttpError("a response's chunks have no sizes")
        self._left = int(found[1], 16)
        if not self._left:
            while self._up_to(b"\r\n"):
                pass  # a header behind the body
            self._is_chunked = False
        return self._left > 0
