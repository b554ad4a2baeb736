"""Reads in one request: the bytes and their version, signed as the AWS SDK signs; for all else pyarrow is asked."""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from botocore.utils import percent_encode  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.http_connection import HttpConnection
from kafkafs.disk.objects import VersionedBytes
from kafkafs.disk.s3_place import place_of
from kafkafs.disk.signed_reads import AskArrow, SignedReads
from tests.kafka.buckets import bucket_of

pytestmark = pytest.mark.usefixtures("bucket_keys")


def reads_of(uri: str, silent_s: float = 20.0) -> SignedReads | None:
    place = place_of(uri)
    return SignedReads.of(place, place.region, silent_s)


def asked_of(reads: SignedReads, key: str, position: int, size: int) -> VersionedBytes | str:
    """A read, or the store's word for why pyarrow has to be asked."""
    try:
        return reads.read(key, position, size)
    except AskArrow as refused:
        return str(refused)


@pytest.fixture
def reads(tmp_path) -> Iterator[tuple[SignedReads, Path]]:
    """The reads of a store, and the place of its content."""
    with bucket_of(tmp_path) as store:
        found = reads_of(store.address())
        assert found is not None
        yield found, tmp_path


def test_a_read_tells_bytes_and_version_in_one_request(tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "0.log").write_bytes(bytes(range(200)))
    os.utime(tmp_path / "a b" / "0.log", (86400, 86400))
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        for first in (0, 150):
            found = reads.read("a b/0.log", first, 50)
            assert isinstance(found, VersionedBytes)
            assert (bytes(found.data), found.before.size) == (bytes(range(first, first + 50)), 200)
            assert (found.before.written, found.before.tag[0] != b"") == ("1970-01-02T00:00:00Z", True)
        assert [each.split()[0] for each in store.asked] == ["GET", "GET"]


def test_a_listing_has_the_status_of_its_own_response(reads, monkeypatch):
    """Regression: it was looked at when the connection was another thread's already, which has another response."""
    found, place = reads
    (place / "0.log").write_bytes(b"")
    give_back = SignedReads.give_back

    def and_is_taken_at_once(self: SignedReads, connection: HttpConnection) -> None:
        give_back(self, connection)
        connection.status = 206

    monkeypatch.setattr(SignedReads, "give_back", and_is_taken_at_once)
    assert [each.key for each in found.names("").objects] == ["0.log"]


@pytest.mark.parametrize("token", ["", "a-token"])
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4).map("/".join))
def test_it_is_signed_as_by_the_sdk(token, key):
    """Differential: botocore signs the same request at the same moment. Keys have any characters, and any slashes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", token)
        reads = reads_of("s3://disks/p q?region=eu-west-1&endpoint_override=host:9000&scheme=http")
        assert reads is not None
        asked: list[str] = []

        def refuse(_: HttpConnection, request: bytes) -> None:
            asked.append(request.decode())
            raise OSError

        patch.setattr(HttpConnection, "__init__", lambda *_: None)
        patch.setattr(HttpConnection, "close", lambda *_: None)
        patch.setattr(HttpConnection, "send", refuse)
        assert asked_of(reads, key, 0, 1) == ""
        line, *headers = asked[0].removesuffix("\r\n\r\n").split("\r\n")
        path = f"/disks/p%20q/{percent_encode(key, safe='-._~/')}"
        assert line == f"GET {path} HTTP/1.1"
        ours = {name: value.strip() for name, _, value in (each.partition(":") for each in headers)}
        request = AWSRequest("GET", f"http://host:9000{path}", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
        request.context |= {"timestamp": ours["x-amz-date"], "payload_signing_enabled": False}
        signer = S3SigV4Auth(Credentials("key", "secret", token or None), "s3", "eu-west-1")
        patch.setattr(S3SigV4Auth, "payload", lambda *_: "UNSIGNED-PAYLOAD")
        request.headers["X-Amz-Date"] = ours["x-amz-date"]
        if token:
            request.headers["X-Amz-Security-Token"] = token
        canonical = signer.canonical_request(request)
        signature = signer.signature(signer.string_to_sign(request, canonical), request)
        assert ours["Authorization"].endswith(f"Signature={signature}")
        signed = re.search("SignedHeaders=([^,]*)", ours["Authorization"])
        assert signed is not None
        assert signed[1] == signer.signed_headers(signer.headers_to_sign(request))


@pytest.mark.parametrize("name", ["a b", "a+b", "100%", "%2F", "ü€", "k=v&x", "#1?", "~a(b)'*", "a:b@c", "\\"])
def test_a_key_of_any_characters_is_that_object_s(name, reads):
    signed, top = reads
    (top / name).write_bytes(b"0123")
    found = signed.read(name, 1, 2)
    assert isinstance(found, VersionedBytes)
    assert bytes(found.data) == b"12"


NOT_SIGNED: tuple[tuple[str, dict[str, str]], ...] = (
    ("gs://b/p", {}), ("s3://key:secret@b/p?region=x", {}), ("s3://b/p", {}), ("s3://my.bucket/p?region=x", {}),
    ("s3://b--use1-az4--x-s3/p?region=x", {}), ("s3://arn:aws:s3:x:1:accesspoint/p?region=x", {}),
    ("s3://bb/p?region=x", {"AWS_SECRET_ACCESS_KEY": ""}), ("s3://bb/p?region=x", {"HTTPS_PROXY": "http://proxy:1"}),
    ("s3://bb/p?region=x", {"AWS_USE_FIPS_ENDPOINT": "true"}),
)  # fmt: skip


@pytest.mark.parametrize(("uri", "environment"), NOT_SIGNED)
def test_pyarrow_is_asked_where_keys_or_way_are_not_known(uri, environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert reads_of(uri) is None


HOSTS: tuple[tuple[str, dict[str, str], str, str], ...] = (
    ("s3://bb/p?region=eu-west-1", {}, "bb.s3.eu-west-1.amazonaws.com", "/p"),
    ("s3://bb?region=cn-north-1", {}, "bb.s3.cn-north-1.amazonaws.com.cn", ""),
    ("s3://bb/p?region=x", {"AWS_ENDPOINT_URL": "http://a:1"}, "a:1", "/bb/p"),
    ("s3://bb/p?region=x", {"AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_S3": "https://b"}, "b", "/bb/p"),
    ("s3://b.c/p?region=x&endpoint_override=d:2", {"AWS_ENDPOINT_URL": "http://a:1"}, "d:2", "/b.c/p"),
)  # fmt: skip


@pytest.mark.parametrize(("uri", "environment", "host", "top"), HOSTS)
def test_the_host_is_that_of_the_address_or_the_environment(uri, environment, host, top, monkeypatch):
    """Regression: AWS_ENDPOINT_URL_S3 was not heeded, and requests for a store of one's own went to Amazon."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    reads = reads_of(uri)
    assert reads is not None
    requests = reads._requests
    assert (requests.host, requests._bucket + requests._folder) == (host, top)


@pytest.mark.parametrize("fault", ["500", "short"])
def test_pyarrow_is_asked_after_an_error(tmp_path, fault):
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        assert isinstance(reads.read("0.log", 0, 10), VersionedBytes)
        assert asked_of(reads, "none", 0, 10) == "NoSuchKey"
        store.fault = lambda _method, _key: fault
        assert asked_of(reads, "0.log", 0, 10) == ("InternalError" if fault == "500" else "")
        store.fault = lambda _method, _key: ""
        assert asked_of(reads, "0.log", 8, 10) == "", "behind its end"
        assert isinstance(reads.read("0.log", 8, 2), VersionedBytes), "what failed once is asked again"


def test_a_place_that_refuses_the_first_read_is_not_asked_again(tmp_path):
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        for _ in range(3):
            assert not isinstance(asked_of(reads, "none", 0, 10), VersionedBytes)
        assert len(store.asked) == 1


def _always(fault: str, _method: str, _key: str) -> str:
    return fault


def test_a_fault_of_a_moment_at_the_first_read_does_not_count(tmp_path):
    """Regression: after it each read of the process took three requests."""
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        for fault in ("500", "reset"):
            store.fault = partial(_always, fault)
            assert not isinstance(asked_of(reads, "0.log", 0, 10), VersionedBytes)
        store.fault = lambda _method, _key: ""
        assert isinstance(reads.read("0.log", 0, 10), VersionedBytes)


def test_silence_is_an_error(tmp_path: Path):
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        store.fault = lambda _method, _key: "slow"
        reads = reads_of(store.address(), 0.1)
        assert reads is not None
        with pytest.raises(OSError, match="the store sent nothing for 0 seconds"):
            reads.read("0.log", 0, 10)


Answer = Callable[[BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """The address of a store that answers so, and the paths that it was asked for."""
    asked: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            code, headers, body = answer(self)
            self.send_response(code)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"s3://b?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=x", asked
    finally:
        server.shutdown()
        server.server_close()


def _bytes(span: str, **more: str) -> Answer:
    answer_headers = {"Content-Range": span, "ETag": '"t"', "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT", **more}
    return lambda _: (206, answer_headers, b"01234")


def _moved(answer: tuple[int, dict[str, str], bytes], _: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
    return answer


def test_a_redirect_carries_the_signature_nowhere():
    with answering(_bytes("bytes 0-4/9")) as (_, elsewhere_asked), answering(_bytes("bytes 0-4/9")) as (other, asked):
        for code in (301, 302, 307, 308):
            place = other.partition("=")[2].partition("&")[0]
            moved = code, {"Location": f"http://{place}/b/a"}, b"<Error><Code>PermanentRedirect</Code></Error>"
            with answering(partial(_moved, moved)) as (uri, _):
                reads = reads_of(uri)
                assert reads is not None
                assert asked_of(reads, "a", 0, 5) == "PermanentRedirect"
        assert elsewhere_asked == asked == []


@pytest.mark.parametrize("span", ["bytes 1-5/9", "bytes 0-3/9", "bytes 0-4/", "0-4/9", ""])
def test_bytes_of_another_range_are_not_taken(span):
    """Regression: the number of bytes alone was compared."""
    with answering(_bytes(span)) as (uri, _):
        reads = reads_of(uri)
        assert reads is not None
        assert asked_of(reads, "a", 0, 5) == ""


def test_a_whole_object_in_answer_to_a_range_is_not_read_into_memory():
    sent: list[int] = []

    def endless(handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        handler.send_response(200)
        handler.send_header("Content-Length", str(1 << 40))
        handler.end_headers()
        try:
            while True:
                sent.append(handler.wfile.write(bytes(1 << 16)))
        except OSError:
            raise ConnectionAbortedError from None

    with answering(endless) as (uri, _):
        reads = reads_of(uri)
        assert reads is not None
        assert asked_of(reads, "a", 0, 5) == ""
    assert sum(sent) < 1 << 27


def test_a_connection_that_the_store_has_closed_is_opened_again(tmp_path):
    """A store closes connections that are idle. The next read is sent once more, on a new one."""
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        assert isinstance(reads.read("0.log", 0, 10), VersionedBytes)
        (connection,) = reads._idle.queue
        connection._socket.shutdown(socket.SHUT_RDWR)
        assert isinstance(reads.read("0.log", 0, 10), VersionedBytes)
        assert len(store.asked) == 2


@pytest.mark.parametrize("ask", [lambda reads: reads.read("0.log", 0, 10).data, lambda reads: reads.names("").objects])
def test_several_connections_that_the_store_has_closed_do_not_matter(ask, tmp_path):
    """Regression: a listing went on to a second idle connection, and ended in a bug if that was closed, too."""
    (tmp_path / "0.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as store:
        reads = reads_of(store.address())
        assert reads is not None
        assert reads.connect()
        assert reads.connect()
        for connection in reads._idle.queue:
            connection._socket.shutdown(socket.SHUT_RDWR)
        assert len(ask(reads))
