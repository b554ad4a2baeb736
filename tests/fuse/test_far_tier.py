"""A tier in a bucket through a mount: a store that is slow, away or refuses is an error there, and the rest answers."""

import errno
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.kafka import aiven
from tests.kafka.buckets import BUCKET, KEYS, bucket_of
from tests.kafka.tiered import RECORDS, Tiered
from tests.mounting import KAFKAFS, Mounted, mounting, run, wait_until
from tests.view.trees import cat, tree

TIERED = Tiered()
SECRET = "not/to+be told"
LOCAL = f"orders-0/by-offset/{RECORDS - 1}.jsonl"
AT_ONCE_S = 200.0


@pytest.fixture(autouse=True)
def _soon(store_limits) -> None:
    """Longer than the kernel waits for a look at a glance, and shorter than a user waits for an error."""
    store_limits(question_s=4.0, request_s=3.0, suspect_s=1.0, refuse_s=1.0, waits_s=(0.1,), attempts=1)


@pytest.fixture(scope="module")
def zstd(tmp_path_factory) -> Path:
    return aiven.write(TIERED.tier, tmp_path_factory.mktemp("tier"), compress=True)


def silent(_method: str, _key: str) -> str:
    """The fault of a store that takes questions and does not answer."""
    return "slow"


def sound(_method: str, _key: str) -> str:
    return ""


@contextmanager
def mounted(directory: Path, uri: str, **environment: str) -> Iterator[Mounted]:
    (place := directory / "mount").mkdir()
    command: list[str | Path] = [KAFKAFS, "mount", "-o", f"tiered={uri}", TIERED.left, place]
    with mounting(command, place, directory / "log", env=os.environ | environment) as mount:
        yield mount


def answer(path: Path) -> bytes | int | None:
    """The content of a file, or the errno that reading it ends with."""
    try:
        return path.read_bytes()
    except OSError as error:
        return error.errno


def assert_disk_is_reported(path: Path, end: int) -> None:
    """What `info.json` of a partition tells while its store is away: all that the disk knows, and why the rest is not
    known."""
    reported = json.loads(run("cat", path).stdout)
    assert (reported["logStartOffset"], reported["logEndOffset"], reported["latestOffset"]) == (0, end, end - 1)
    assert reported["localLogStartOffset"] == reported["segments"][-1]["baseOffset"] > 0
    assert reported["minTimestamp"] is None, "all records tell it"
    assert any("did not answer" in problem for problem in reported["problems"]), reported["problems"]


def test_a_mount_does_not_wait_for_a_store_that_is_silent(tmp_path, zstd):
    """One that takes the question and never answers. It is asked by its readers again."""
    whole = tree(TIERED.whole)
    with bucket_of(zstd.parent) as store:
        store.fault = silent
        with mounted(tmp_path, store.address(zstd.name), **KEYS) as mount:
            assert f"mounted all the same: the tier s3://{BUCKET}/{zstd.name} did not answer within" in mount.log
            assert run("cat", mount / LOCAL).stdout == cat(whole, LOCAL)
            assert_disk_is_reported(mount / "orders-1/info.json", RECORDS // 2)
            store.fault = sound
            path = "orders-1/by-offset/700.jsonl"
            wait_until(lambda: answer(mount / path) == cat(whole, path))
            reported = json.loads(run("cat", mount / "orders-1/info.json").stdout)
            assert (reported["earliestOffset"], reported["problems"]) == (0, [])


def test_a_store_that_does_not_answer_is_an_error_there_alone(tmp_path, zstd):
    """In time, in one sentence; what lies on the disk answers meanwhile, and the rest when the store does again."""
    whole = tree(TIERED.whole)
    running = ExitStack()
    store = running.enter_context(bucket_of(zstd.parent))
    with running, mounted(tmp_path, store.address(zstd.name), **KEYS) as mount:
        assert run("cat", mount / "orders-0/by-offset/3.jsonl").stdout == cat(whole, "orders-0/by-offset/3.jsonl")
        store.fault = silent
        with subprocess.Popen(["cat", mount / "orders-0/by-offset/1500.jsonl"], stderr=subprocess.PIPE) as far:
            near = "plain-0/by-offset/3.jsonl"
            assert run("cat", mount / near).stdout == cat(whole, near)
            assert far.poll() is None, "it waits, and keeps no other partition waiting"
            # Of its own, the kernel looks up one name after the other: this one waits, and then is answered.
            assert run("cat", mount / LOCAL).stdout == cat(whole, LOCAL)
            _, reported = far.communicate(timeout=AT_ONCE_S)
        assert b"Input/output error" in reported
        assert_disk_is_reported(mount / "orders-0/info.json", RECORDS)
        assert_disk_is_reported(mount / "orders-1/info.json", RECORDS // 2)  # of which nothing was asked before
        assert b"info.json" in run("ls", "-l", mount / "orders-1", check=False).stdout  # `earliest` leads nowhere now
        assert mount.log.count("did not answer in time") + mount.log.count("Timeout was reached") >= 1
        store.fault = sound
        path = "orders-0/by-offset/1500.jsonl"
        wait_until(lambda: answer(mount / path) == cat(whole, path))
        running.close()
        assert answer(mount / "orders-0/by-offset/700.jsonl") == errno.EIO
        assert run("cat", mount / LOCAL).stdout == cat(whole, LOCAL)


def test_a_store_that_is_away_when_it_is_mounted_is_asked_again(tmp_path, zstd):
    whole, path = tree(TIERED.whole), "orders-0/by-offset/700.jsonl"
    with bucket_of(zstd.parent) as store:
        uri = store.address(zstd.name)
    with mounted(tmp_path, uri, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY=SECRET) as mount:
        assert "mounted all the same" in mount.log
        assert run("cat", mount / LOCAL).stdout == cat(whole, LOCAL)
        assert answer(mount / path) == errno.EIO
        with bucket_of(zstd.parent, store.port):
            wait_until(lambda: answer(mount / path) == cat(whole, path))
        reported = run("cat", mount / ".kafkafs/status.json").stdout.decode() + mount.log
    assert SECRET not in reported


def test_what_is_on_the_disk_asks_the_store_nothing(tmp_path, zstd):
    """Of a partition that nothing was asked of yet, too: so no store can keep it waiting."""
    whole, near = tree(TIERED.whole), range(RECORDS - 3, RECORDS)
    (last,) = (TIERED.left / "orders-0").glob("*.log")
    with bucket_of(zstd.parent) as store, mounted(tmp_path, store.address(zstd.name), **KEYS) as mount:
        store.asked.clear()
        for directory in ("orders-0", "orders-1", "orders-0/segments"):
            assert run("ls", mount / directory).stdout
        for name in (*map(str, near), f"{near[0]}..{near[-1]}"):
            for suffix in ("", ".jsonl", ".batches.jsonl"):
                path = f"orders-0/by-offset/{name}{suffix}"
                assert run("cat", mount / path).stdout == cat(whole, path), path
        for path in ("orders-0/latest", "plain-0/info.json", f"orders-0/segments/{last.name}.txt"):
            assert run("cat", mount / path).stdout
        assert store.asked == []
        for path in ("orders-0/by-offset/700.jsonl", f"orders-0/by-offset/0..{RECORDS}"):
            assert run("cat", mount / path).stdout == cat(whole, path)


def test_an_object_that_is_gone_is_an_error_at_its_offsets(tmp_path, zstd):
    whole = tree(TIERED.whole)
    shutil.copytree(zstd, tmp_path / "tier")
    with bucket_of(tmp_path) as store, mounted(tmp_path, store.address("tier"), **KEYS) as mount:
        run("cat", mount / "orders-0/by-offset/3.jsonl")
        gone = sorted(tmp_path.glob("tier/orders-*/0/*.log"))[2]
        gone.unlink()
        base = int(gone.name[:20])
        assert answer(mount / f"orders-0/by-offset/{base + 1}.jsonl") == errno.EIO
        path = f"orders-0/by-offset/{base - 1}.jsonl"
        assert run("cat", mount / path).stdout == cat(whole, path)


def test_what_arrived_damaged_twice_heals(tmp_path):
    """Regression: points and ranges stayed an error until the piece was pushed out of the cache. Neither the mount nor
    its reader does anything for it but to ask again, seconds later."""
    whole, end = tree(TIERED.whole), int(sorted(next(TIERED.tier.glob("orders-0-*")).glob("*.log"))[1].name[:20])
    paths = [f"orders-0/by-offset/{name}" for name in (f"0..{end}.jsonl", f"{end // 2}..{end}.jsonl", f"0..{end}")]
    damaged = list[str]()

    def spoiling(method: str, key: str) -> str:
        if method == "HEAD" or not key.endswith(".log") or damaged.count(key) == 2:
            return ""
        damaged.append(key)
        return "damaged"

    with bucket_of(TIERED.tier.parent) as store:
        store.fault = spoiling
        with mounted(tmp_path, store.address(TIERED.tier.name), **KEYS) as mount:
            assert [answer(mount / path) for path in paths[:2]] == [errno.EIO] * 2, "raw bytes are not checked"
            wait_until(lambda: all(answer(mount / each) == cat(whole, each) for each in paths))
    assert set(map(damaged.count, damaged)) == {2}


class _Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_store_that_refuses_is_one_sentence(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    uri = f"s3://key:{SECRET.replace('/', '%2F').replace(' ', '%20')}@closed?scheme=http&region=us-east-1"
    try:
        with mounted(tmp_path, f"{uri}&endpoint_override=127.0.0.1:{server.server_port}") as mount:
            assert answer(mount / "orders-0/by-offset/700.jsonl") == errno.EIO
            assert run("cat", mount / LOCAL).stdout == cat(tree(TIERED.whole), LOCAL)
            reported = run("cat", mount / ".kafkafs/status.json").stdout.decode() + mount.log
    finally:
        server.shutdown()
    assert "ACCESS_DENIED" in reported
    assert not any(part in reported for part in (SECRET, "not%2Fto"))
