"""A mount over a store that takes its time to fail: what is on the disk answers, and nobody waits for long."""

import errno
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.kafka.tiered import RECORDS, Tiered
from tests.mounting import KAFKAFS, Mounted, mounting, run
from tests.promises import at_most
from tests.view.trees import cat, tree

TIERED = Tiered()
TAKES_S = 4.0
LS_S, RANGE_S = 8.0, 20.0  # promised are 3 and 15: this machine is shared


class Failing(BaseHTTPRequestHandler):
    """Answers each request with 500, after a while."""

    def do_GET(self) -> None:
        time.sleep(TAKES_S)
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def mount(tmp_path_factory) -> Iterator[Mounted]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = tmp_path_factory.mktemp("slow")
    (place / "mount").mkdir()
    uri = f"s3://key:secret@b/p?scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.server_port}"
    command: list[str | Path] = [KAFKAFS, "mount", "-o", f"tiered={uri}", TIERED.left, place / "mount"]
    with mounting(command, place / "mount", place / "log", env=dict(os.environ)) as mounted:
        yield mounted
    server.shutdown()


def test_nobody_waits_for_long(mount):
    """Regression: `ls -l` of a partition took 20 s, a range 51 s to fail, and a local point beside remote ones 49 s."""
    whole, began = tree(TIERED.whole), time.monotonic()
    assert b"info.json" in run("ls", "-l", mount / "orders-0", check=False).stdout
    assert time.monotonic() - began < at_most(LS_S)
    began = time.monotonic()
    with pytest.raises(OSError) as refused:
        (mount / "orders-1/by-offset/0...jsonl").read_bytes()
    assert refused.value.errno == errno.EIO
    assert time.monotonic() - began < at_most(RANGE_S)
    remote = [subprocess.Popen(["cat", mount / f"orders-0/by-offset/{70 * each}.jsonl"], stderr=subprocess.DEVNULL)
              for each in range(1, 9)]  # fmt: skip
    for offset in range(RECORDS - 4, RECORDS):  # `test_late_answers` shows that they do not wait
        path = f"orders-0/by-offset/{offset}.jsonl"
        assert run("cat", mount / path).stdout == cat(whole, path)
    assert {each.wait(300) for each in remote} == {1}
