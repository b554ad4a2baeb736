"""A broker moves a partition from one of its data directories to another, while a mount of both is read.

It copies into `t-0.ID-future` on the other disk, and when that has caught up renames the partition to `t-0.ID-delete`
and the copy to `t-0`. Readers get the answer as it always was, or an error while there is no `t-0`; never a part of it.
"""

import errno
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka import broker, jars
from tests.kafka.broker import Broker
from tests.kafka.writer import Record, Topic, Writer, create
from tests.live.checks import Follower
from tests.mounting import wait_until

RELEASE = "4.3.1"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
BATCHES, RECORDS = 40, 100
SLOWLY = 2_000_000  # bytes a second: the copy stands there for a moment
EXPECTED_ERRORS = {errno.ENOENT, errno.ESTALE}


@pytest.fixture
def node(tmp_path) -> Iterator[Broker]:
    disks = [tmp_path / "data", tmp_path / "second"]
    with broker.running(RELEASE, tmp_path, {"log.dirs": ",".join(map(str, disks))}) as running:
        create(running, {"t": Topic(settings={"segment.bytes": 1 << 20})})
        yield running


@pytest.mark.slow
def test_a_partition_that_moves_to_another_disk_keeps_its_answers(node, mount):
    writer = Writer(node)
    for number in range(BATCHES):
        writer.batch("t", [Record(b"%d-%d " % (number, at) + os.urandom(500).hex().encode()) for at in range(RECORDS)])
    here, there = sorted((node.data, node.home / "second"), key=lambda disk: not (disk / "t-0").exists())
    mounted = mount(here, there, guard_s=150)
    reader = _Reader(mounted / "t-0")
    follower = Follower(mounted / "t-0/by-offset/0...follow.jsonl")
    follower.wait_for(BATCHES * RECORDS)
    reader.start()
    _move(node, there)
    wait_until(lambda: any(name.endswith("-future") for name in os.listdir(mounted.path)))
    wait_until((there / "t-0").exists)
    wait_until(lambda: _is_served_from(mounted / "t-0", there))
    writer.batch("t", [Record(b"after the move")])
    wait_until(lambda: os.readlink(mounted / "t-0/latest") == f"by-offset/{BATCHES * RECORDS}", 2)
    counted = reader.end()
    print(f"\n{dict(counted)}, without an answer for {reader.longest_gap_s:.2f} s at most")
    assert reader.wrong == []
    assert counted["right"] > 20
    assert reader.longest_gap_s < 2
    assert follower.order == sorted(set(follower.order))
    assert follower.process.poll() in (None, 1)  # it goes on, or says that its files are gone
    follower.end()


def _move(node: Broker, target: Path) -> None:
    plan = node.home / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [str(target)]}]}))  # fmt: skip
    jars.run(RELEASE, REASSIGN, "--bootstrap-server", node.address, "--reassignment-json-file", plan, "--execute",
             "--replica-alter-log-dirs-throttle", str(SLOWLY))  # fmt: skip


def _is_served_from(partition: Path, disk: Path) -> bool:
    try:
        newest = max(os.listdir(partition / "segments"))
        seen, real = os.stat(partition / "segments" / newest), os.stat(disk / "t-0" / newest)
    except OSError:
        return False
    return (seen.st_size, seen.st_mtime_ns) == (real.st_size, real.st_mtime_ns)


class _Reader(threading.Thread):
    """Reads the whole partition, decoded and raw, again and again."""

    def __init__(self, partition: Path) -> None:
        super().__init__(daemon=True)
        last = BATCHES * RECORDS
        self._paths = [partition / f"by-offset/0..{last}.jsonl", partition / f"by-offset/0..{last}",
                       partition / "by-offset/77.jsonl"]  # fmt: skip
        self._truth = [path.read_bytes() for path in self._paths]
        self._over = threading.Event()
        self._counted: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest_gap_s = 0.0

    def run(self) -> None:
        answered = time.monotonic()
        while not self._over.is_set():
            for path, truth in zip(self._paths, self._truth, strict=True):
                try:
                    found = path.read_bytes()
                except OSError as error:
                    self._counted[errno.errorcode[error.errno or 0]] += 1
                    if error.errno not in EXPECTED_ERRORS:
                        self.wrong.append(f"{path.name}: {error}")
                    time.sleep(0.005)
                    continue
                now = time.monotonic()
                self.longest_gap_s = max(self.longest_gap_s, now - answered)
                answered = now
                self._counted["right" if found == truth else "wrong"] += 1
                if found != truth:
                    self.wrong.append(f"{path.name}: {len(found)} bytes, not {len(truth)}")

    def end(self) -> Counter[str]:
        self._over.set()
        self.join(300)
        return self._counted
