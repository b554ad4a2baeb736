"""A bucket's limits of time, and its words: `test_objects` has what it answers."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf

import pytest

from kafkafs.disk.blocking import patience, patience_left
from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.forked import ForkedProcess
from kafkafs.errors import DiskError, NotFound, Unanswered
from tests.kafka import buckets
from tests.kafka.buckets import bucket_of
from tests.mounting import wait_until
from tests.promises import at_most


def test_a_store_that_never_answers_is_given_up_and_then_sooner(store_limits):
    store_limits(question_s=1.0, suspect_s=0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        far = BucketObjects(f"s3://key:secret@b?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")
        took = []
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(DiskError, match="the store did not answer in time"):
                far.folders()
            took.append(time.monotonic() - began)
    assert took[0] >= 1.0
    assert took[1] < at_most(1.0)


@pytest.mark.parametrize("limits", [{"question_s": 0.5}, {"request_s": 0.3, "waits_s": ()}])
def test_a_store_that_was_silent_is_not_asked_again_at_once(limits, tmp_path, store_limits):
    """Regression: whoever had all patience had to wait as long again for each question, in each forked process, too."""
    store_limits(**{"request_s": 300.0, "slow_s": 0.0, "refuse_s": 600.0, **limits})
    with bucket_of(tmp_path) as found:
        found.fault = lambda _method, _key: "slow"
        objects = BucketObjects(found.address())

        def ask(_: object, tell: Callable[[bool], None]) -> None:
            with pytest.raises(Unanswered):
                objects.folders()
            tell(objects._calls.is_suspect)

        told = list[bool]()
        ask(None, told.append)
        wait_until(lambda: found.asked)  # on a busy machine it comes to the store later than its time is up
        count = len(found.asked)
        forked: ForkedProcess[object, bool] = ForkedProcess(ask)
        ask(None, told.append)
        forked.give(None)
        told.append(forked.received())
        forked.end()
        assert (told, len(found.asked)) == ([True] * 3, count)


def test_who_has_less_patience_gets_its_error_sooner_and_nobody_else():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        far = BucketObjects(f"s3://key:secret@b?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")
        with patience(0.05):
            with pytest.raises(DiskError, match="the store did not answer in time"):
                far.folders()
            with pytest.raises(DiskError, match="the tier s3://b did not answer in time"):
                far.folders()
        assert patience_left() == inf
        assert not far._calls.is_suspect


def test_an_object_is_asked_for_its_size_once(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.log").write_bytes(b"0123456789")
    with bucket_of(tmp_path) as running:
        objects = BucketObjects(running.address(opened=True))
        assert [objects.read("one/a.log", at, 2) for at in (0, 4)] == [b"01", b"45"]
        assert [request.split()[0] for request in running.asked] == ["HEAD", "GET", "GET"]
        with pytest.raises(NotFound):
            objects.read("one/none.log", 0, 1)


def test_what_a_store_repeats_of_secrets_is_not_reported(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    far = BucketObjects("s3://an-id:a%2Fsecret@b/x")
    reported = far._calls._without_secrets("no s3://an-id:a%2Fsecret@b/x, a/secret, a%2Fsecret, of-the-environment")
    assert reported == "no s3://b/x, ..., ..., ..."


@contextmanager
def store(answer: Callable[[BaseHTTPRequestHandler], tuple[int, bytes]], size: int) -> Iterator[BucketObjects]:
    """A store that has one object, of which it tells that size, and answers each GET so."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()

        def do_GET(self) -> None:
            code, body = answer(self)
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    try:
        yield BucketObjects(f"s3://key:secret@b?endpoint_override={place}")
    finally:
        server.shutdown()
        server.server_close()


def test_a_response_that_is_too_short_is_an_error_and_gives_nothing_else_of_memory():
    """Regression: pyarrow takes it for a whole one, filled up with what its buffer held before, of whomever."""
    with (
        store(lambda _: (206, b"<html>log in</html>"), 30_000) as short,
        pytest.raises(DiskError, match=r"'a\.log' in the tier s3://b ends 29981 bytes before it should"),
    ):
        short.read("a.log", 0, 30_000)


@pytest.mark.parametrize("ends", [b"\xa5", b"\xa5" * 9, b"\x5a" * 9, b"\x5a\xa5\xa5"])
def test_bytes_that_are_like_those_of_a_blank_buffer_are_read(ends):
    with store(lambda _: (206, b"0123" + ends), 4 + len(ends)) as objects:
        assert objects.read("a.log", 0, 4 + len(ends)) == b"0123" + ends


@pytest.mark.parametrize("code", [400, 403, 429, 500, 503])
def test_a_store_that_refuses_or_is_too_busy_says_nothing_of_the_object(code, store_limits):
    """Regression: but for a lost connection all of it counted as damage, which an audit tells and a revival cuts."""
    store_limits(waits_s=())
    body = b"<Error><Code>ExpiredToken</Code><Message>The token has expired</Message></Error>"
    # one that was slow, as on a busy machine, is not asked again at once: each question has a store of its own
    with (
        store(lambda _: (code, body), 3000) as objects,
        pytest.raises(Unanswered, match=r"read: (AWS Error|the credentials)"),
    ):
        objects.read("a.log", 0, 3000)
    with (
        store(lambda _: (code, body), 3000) as objects,
        pytest.raises(Unanswered, match="the store has sent more than was asked for"),  # its own words do not fit
    ):
        objects.read("a.log", 0, 30)


def test_an_object_that_was_replaced_is_asked_for_its_size_again(tmp_path):
    """Regression: what had failed once failed for good."""
    (tmp_path / "one").mkdir()
    (uploaded := tmp_path / "one/a.log").write_bytes(b"01234")
    with bucket_of(tmp_path) as running:
        objects = BucketObjects(running.address(opened=True))
        with pytest.raises(DiskError, match="ends 5 bytes before it should"):
            objects.read("one/a.log", 0, 10)
        uploaded.write_bytes(b"0123456789")
        assert objects.read("one/a.log", 0, 10) == b"0123456789"


@pytest.mark.parametrize("lacking", [1, 2, 3])
def test_a_response_that_lacks_a_few_bytes_is_an_error(lacking):
    """Regression: so few passed for the object's own, and came from what was in memory before."""
    with store(lambda _: (206, b"0\n0\n"[:-lacking]), 4) as objects, pytest.raises(DiskError, match="before it should"):
        objects.read("a.log", 0, 4)


_FAULTS = ["500", "503", "429", "reset", "short", "page", "nothing"]


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_of_a_moment_is_passed_by_asking_again(fault, tmp_path, store_limits):
    """A listing, and a read by pyarrow: each request fails once. A page of a proxy was an empty folder once."""
    store_limits(waits_s=(0.01,) * 6, attempts=1)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_bytes(b"0123")
    seen: set[tuple[str, str]] = set()

    def once(method: str, key: str) -> str:
        is_first = (method, key) not in seen
        seen.add((method, key))
        return fault if is_first else ""

    with bucket_of(tmp_path) as failing:
        failing.fault = once
        far = BucketObjects(failing.address(opened=True), "")
        assert [each.key for each in far.entries("x")[1]] == ["x/a"]
        if fault not in ("page", "nothing"):  # pyarrow fills them up, or takes their length for the object's
            assert far.read_versioned("x/a", 0, 4)[0] == b"0123"
    assert len(seen) > 1 or fault in ("page", "nothing")


@pytest.mark.parametrize("fault", ["page", "nothing"])
def test_a_folder_that_the_store_has_named_is_not_taken_for_an_empty_one(fault, tmp_path, store_limits):
    """Regression: a page that a proxy sent instead of a listing was one without names, and a partition was empty."""
    store_limits(waits_s=())
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_bytes(b"0123")
    with bucket_of(tmp_path) as failing:
        failing.fault = lambda *_: fault
        far = BucketObjects(failing.address(opened=True), "")
        with pytest.raises(Unanswered, match="the store listed nothing in a folder that it had named"):
            far.entries("x")


@pytest.mark.parametrize("fault", ["page", "nothing"])
def test_a_listing_of_full_pages_that_may_go_on_is_asked_for_again(fault, tmp_path, store_limits):
    """Regression: a proxy's own page for the second one of a listing ended it, and the names behind were missed."""
    store_limits(waits_s=(0.0,), page=4)
    (tmp_path / "x").mkdir()
    for number in range(6):
        (tmp_path / "x" / str(number)).write_bytes(b"0123")
    with bucket_of(tmp_path) as failing:
        failing.page, left = 4, [1]

        def second_page(*_: object) -> str:
            is_due = "continuation-token" in failing.asked[-1] and left[0] > 0
            left[0] -= is_due
            return fault if is_due else ""

        failing.fault = second_page
        far = BucketObjects(failing.address(opened=True), "")
        assert [each.key for each in far.entries("x")[1]] == [f"x/{number}" for number in range(6)]
        assert left == [0]


_MORE, _TOKEN = b"<IsTruncated>true", re.compile(rb"<NextContinuationToken>.*?</NextContinuationToken>")


@pytest.mark.parametrize(
    ("wrong", "keys", "reported"),
    [
        ("stuck", "", "does not tell the last page"), ("cut", "", "does not tell the last page"),
        ("again", "", "sent a page of its listing twice"), ("again", "key:secret@", "sent a page of its listing twice"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("bucket_keys")
def test_a_listing_that_does_not_go_on_is_an_error(wrong, keys, reported, tmp_path, store_limits, monkeypatch):
    """Regression: with the same token again and again, it took memory for minutes. With the first page again as the
    last one, the names behind were missed."""
    store_limits(waits_s=())
    for number in range(7):
        (tmp_path / f"{number}.log").touch()

    def wrong_listing(store: buckets.Store, query: dict[str, list[str]]) -> bytes:
        first = listing(store, {word: given for word, given in query.items() if word != "continuation-token"})
        if wrong == "cut":
            return _TOKEN.sub(b"", first)
        if wrong == "again" and "continuation-token" in query:
            return _TOKEN.sub(b"", first).replace(_MORE, b"<IsTruncated>false")
        return first

    def wrong_once(store: buckets.Store, query: dict[str, list[str]]) -> bytes:
        if wrong == "cut" or "continuation-token" in query:
            monkeypatch.setattr(buckets, "listing", listing)
        return wrong_listing(store, query)

    listing = buckets.listing
    with bucket_of(tmp_path) as failing:
        failing.page = 4
        store_limits(waits_s=(0.0,))
        monkeypatch.setattr(buckets, "listing", wrong_once)
        passing = BucketObjects(failing.address().replace("s3://", f"s3://{keys}"), "")
        assert len(passing.entries("")[1]) == 7
        store_limits(waits_s=())
        far = BucketObjects(failing.address().replace("s3://", f"s3://{keys}"), "")
        assert len(far.entries("")[1]) == 7
        monkeypatch.setattr(buckets, "listing", wrong_listing)
        asked = len(failing.asked)
        with pytest.raises(Unanswered, match=reported):
            far.entries("")
        assert len(failing.asked) < asked + 9


@pytest.mark.parametrize("folder", ["", "x", "a b/ü+%"])
@pytest.mark.parametrize("fault", ["page", "nothing"])
@pytest.mark.usefixtures("bucket_keys")
def test_a_second_page_that_a_proxy_always_replaces_is_an_error(fault, folder, tmp_path, store_limits):
    """Regression: it was asked for twice, and if a proxy answered both times, the names behind were missed."""
    store_limits(waits_s=(0.0,), page=4)
    place = tmp_path / folder / "y"
    for number in range(6):
        (place / f"t-{number}").mkdir(parents=True)
        (place / f"t-{number}" / "0.log").write_bytes(b"0123")
    with bucket_of(tmp_path) as failing:
        failing.page = 4
        far = BucketObjects(failing.address(folder), "")
        names = [f"t-{number}" for number in range(6)]
        assert sorted(far.entries("y")[0]) == names
        failing.fault = lambda *_: fault if "continuation-token" in failing.asked[-1] else ""
        with pytest.raises(Unanswered, match="the answer is no listing; does a proxy answer instead"):
            far.entries("y")
        for name in names[4:]:
            (place / name / "0.log").unlink()
            (place / name).rmdir()
        failing.asked.clear()
        assert sorted(far.entries("y")[0]) == names[:4]
        assert len(failing.asked) == 1, "a full page says if it is the last one"


@pytest.mark.parametrize(("word", "reported"), [
    ("ExpiredToken", "the credentials have expired; renew them and run again"),
    ("RequestTimeTooSkewed", "this machine's clock differs too much from the store's; set the clock and run again"),
    ("InvalidToken", "the session token is not valid; renew the credentials and run again"),
    ("InvalidAccessKeyId", "the store does not know the access key; correct AWS_ACCESS_KEY_ID"),
    ("SignatureDoesNotMatch", "the secret key does not fit the access key; correct AWS_SECRET_ACCESS_KEY"),
    ("AccessDenied", "the credentials do not grant that; they must allow s3:ListBucket and s3:GetObject"),
    ("PermanentRedirect", "the bucket is in another region or at another endpoint; set AWS_REGION or AWS_ENDPOINT_URL"
     " and run again"),
])  # fmt: skip
@pytest.mark.parametrize("slow_s", [0.0, 60.0])
@pytest.mark.usefixtures("bucket_keys")
def test_what_an_operator_can_mend_is_reported(word, reported, slow_s, tmp_path, monkeypatch, store_limits):
    """Regression: if the first answer took more than a second, the next caller heard that the store did not answer."""
    store_limits(slow_s=slow_s)
    monkeypatch.setitem(buckets.ERRORS, "403", word)
    (tmp_path / "a").write_bytes(b"0123")
    with bucket_of(tmp_path) as failing:
        far = BucketObjects(failing.address(), "")
        assert far.read_versioned("a", 0, 4)[0] == b"0123"
        failing.fault = lambda *_: "403"
        for ask in (lambda: far.entries(""), lambda: far.read_versioned("a", 0, 4)):
            with pytest.raises(Unanswered, match=rf"^('a' of )?s3://disks cannot be read: {reported} \([A-Za-z_]*\)$"):
                ask()


@pytest.mark.parametrize("fault", ["page", "nothing"])
@pytest.mark.usefixtures("bucket_keys")
def test_a_page_of_a_proxy_is_not_taken_for_an_empty_bucket(fault, tmp_path, store_limits):
    store_limits(waits_s=())
    with bucket_of(tmp_path) as failing:
        far = BucketObjects(failing.address("x"), "")
        with pytest.raises(NotFound, match="there is nothing in s3://disks/x"):
            far.entries("")
        failing.fault = lambda *_: fault
        with pytest.raises(Unanswered, match="the answer is no listing; does a proxy answer instead"):
            far.entries("")
