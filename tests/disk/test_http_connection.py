"""HTTP as any server may say it: bodies with a length, in chunks or up to the end, in whatever pieces they come."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafs.disk.http_connection import HttpConnection, HttpError

SOON_S = 30.0


@contextmanager
def answered(*pieces: bytes) -> Iterator[HttpConnection]:
    """A connection to a server that sends these pieces to whoever has sent something, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(1 << 16)
                for piece in pieces:
                    connection.sendall(piece)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        connection = HttpConnection(f"127.0.0.1:{server.getsockname()[1]}", SOON_S)
        try:
            connection.send(b"GET / HTTP/1.1\r\n\r\n")
            yield connection
        finally:
            connection.close()
            thread.join(SOON_S)


def received(connection: HttpConnection, size: int) -> bytes:
    connection.receive_head(time.monotonic() + SOON_S)
    return connection.read(size)


BODY = bytes(range(256)) * 4
FORMS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + BODY,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3E8;x=y\r\n" + BODY[:1000] + b"\r\n18\r\n" + BODY[1000:] + b"\r\n0\r\nTrailer: x\r\n\r\n",
    "closed": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length:1024 \r\n\r\n" + BODY,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25)
@given(st.lists(st.integers(1, 1200), max_size=4).map(sorted))
def test_a_body_is_the_same_in_whatever_pieces_it_comes(form, cuts):
    whole = FORMS[form]
    borders = [0, *(cut for cut in cuts if cut < len(whole)), len(whole)]
    with answered(*(whole[start:end] for start, end in pairwise(borders))) as connection:
        assert received(connection, 4096) == BODY
        assert connection.status == 200
        assert connection.may_go_on == (form != "closed")


@pytest.mark.parametrize("form", ["length", "chunks"])
@pytest.mark.parametrize("left", [1, 30, 900])
def test_a_body_that_ends_too_soon_is_an_error(form, left):
    with answered(FORMS[form][:-left]) as connection, pytest.raises(HttpError, match="ended in"):
        received(connection, 4096)


@pytest.mark.parametrize(
    "junk", [b"", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 2 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: y", b"\r\n\r\n"]
)
def test_what_is_no_response_is_an_error(junk):
    with answered(junk) as connection, pytest.raises(HttpError):
        received(connection, 10)


def test_a_head_without_end_is_not_kept():
    with (
        answered(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000) as connection,
        pytest.raises(HttpError, match="too long"),
    ):
        received(connection, 10)


def test_chunks_without_sizes_are_an_error():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with answered(head + b"-5\r\nabcde") as connection, pytest.raises(HttpError, match="no sizes"):
        received(connection, 10)


def test_what_comes_too_late_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        connection = HttpConnection(f"127.0.0.1:{deaf.getsockname()[1]}", SOON_S)
        connection.send(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            connection.receive_head(time.monotonic() + 0.05)
        assert not connection.may_go_on
        connection.close()
