"""Readers of a mount beside a busy broker: each reads at random and notes what it saw, to be compared later."""

import errno
import fnmatch
import json
import os
import random
import re
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

from kafkafs.format.kernels import crc32c
from tests.live.churn import Churn
from tests.mounting import PATIENCE_S
from tests.promises import at_most

Answer = TypeVar("Answer")

LATE_S = min(3.0, at_most(1.0))
LONGEST_S = at_most(5.0)
STAMPS = """
import sys, time
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(b"%f " % time.monotonic() + line)
    sys.stdout.flush()
"""
STALLS = """
import os, select, sys, time
worst, directory = 0.0, sys.argv[1]
while True:
    started = time.monotonic()
    if select.select([sys.stdin], [], [], 0.05)[0]:
        break
    for name in os.listdir(directory):
        try:
            os.listdir(os.path.join(directory, name))
        except OSError:
            pass
    worst = max(worst, time.monotonic() - started - 0.05)
print(worst)
"""


class Machine:
    """How long the machine itself keeps others waiting: who only sleeps for a moment and lists the broker's files."""

    def __init__(self, data: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", STALLS, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def end(self) -> float:
        """The longest it kept this one waiting, in seconds."""
        return float(self._process.communicate(timeout=PATIENCE_S)[0])


class Checks:
    """Reads and what came of them. `wrong` says what may never happen."""

    def __init__(self, churn: Churn, everything: Path, committed: Path, seed: int) -> None:
        self.churn = churn
        self.everything = everything
        self.committed = committed
        self.seen: dict[tuple[str, int, int], str] = {}
        self.counted: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.slowest = 0.0
        self._seed = seed
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, threads: int) -> None:
        for number in range(threads):
            thread = threading.Thread(target=self._run, args=(random.Random(self._seed * 100 + number),))
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(300)

    def _run(self, chance: random.Random) -> None:
        kinds = (self.points, self.ranges, self.ranges, self.raw, self.compacted, self.phoenix, self.transactions)
        while not self._stop.is_set():
            kind = chance.choice(kinds)
            try:
                kind(chance)
                self.counted[kind.__name__] += kind != self.points
            except OSError as error:
                self._error(kind.__name__, error)
            except Exception as error:
                self.wrong.append(f"{kind.__name__}: {error!r}")

    def _error(self, kind: str, error: OSError) -> None:
        self.counted[f"{kind}: {errno.errorcode.get(error.errno or 0)}"] += 1
        expected = {errno.ENOENT, errno.ESTALE} if kind in ("phoenix", "points") else {errno.ESTALE}
        if error.errno not in expected:
            self.wrong.append(f"{kind}: {error!r}")

    # What is read

    def points(self, chance: random.Random) -> None:
        """A value by its offset; it is missing only where retention took it."""
        known = self.churn.truth.offsets["plain", 0]
        for _ in range(10 if known else 0):
            self._point(chance, known)
            self.counted["points"] += 1

    def _point(self, chance: random.Random, known: dict[int, str]) -> None:
        offset = max(0, len(known) - 1 - int(chance.expovariate(1 / 300)))
        wanted = known.get(offset)
        reported = time.monotonic() - self.churn.truth.acknowledged_at.get(("plain", offset), time.monotonic())
        try:
            value = self._read(self.everything / f"plain-0/by-offset/{offset}.value").decode()
        except FileNotFoundError:
            gone = reported < LATE_S or self._earliest("plain-0") > offset
            self._expect(gone, f"offset {offset} is missing {reported:.2f} s after its acknowledgement")
            return
        self._expect(wanted is None or value == wanted, f"offset {offset} of plain has another value")

    def ranges(self, chance: random.Random) -> None:
        """Decoded lines of a topic that nothing compacts: one offset after the other."""
        end = len(self.churn.truth.offsets["plain", 0])
        start = max(0, end - chance.randint(0, 2000))
        name = f"{start}..{chance.choice(('', start + chance.randint(0, 300)))}.jsonl"
        lines = self._lines(self.everything, "plain", name)
        offsets = [line["offset"] for line in lines]
        if offsets:
            self._expect(offsets == list(range(offsets[0], offsets[0] + len(offsets))), f"{name}: gaps: {offsets}")
            self._expect(offsets[0] >= start, f"{name} begins at {offsets[0]}")

    def raw(self, chance: random.Random) -> None:
        """Raw bytes: whole batches with true checksums, their offsets ascending."""
        end = len(self.churn.truth.offsets["plain", 0])
        start = max(0, end - chance.randint(0, 2000))
        data, at, before = self._read(self.everything / f"plain-0/by-offset/{start}..{start + 500}"), 0, -1
        while at < len(data):
            base, size = struct.unpack_from(">qi", data, at)
            batch = data[at : at + size + 12]
            self._expect(crc32c(batch[21:]) == struct.unpack_from(">I", batch, 17)[0], f"torn batch at {base}")
            self._expect(base > before, f"batch {base} behind offset {before}")
            before = base + struct.unpack_from(">i", batch, 23)[0]
            at += size + 12

    def compacted(self, chance: random.Random) -> None:
        """Whatever compaction does, each key's last record is there."""
        truth = self.churn.truth.offsets["compacted", 0]
        acknowledged = len(truth)
        lines = self._lines(self.everything, "compacted", f"{chance.choice((0, acknowledged // 2))}...jsonl")
        offsets = [line["offset"] for line in lines]
        self._expect(offsets == sorted(set(offsets)), f"compacted: not in order: {offsets}")
        if offsets and acknowledged:
            self._expect(offsets[-1] >= acknowledged - 1 - 200, f"compacted ends at {offsets[-1]} of {acknowledged}")

    def phoenix(self, chance: random.Random) -> None:
        """A topic that is deleted and made again: never two generations in one answer, nor one long gone."""
        before = self._phoenix_on_disk()
        lines = self._lines(self.everything, "phoenix", "0...jsonl")
        generations = {json.loads(line["value"])["generation"] for line in lines}
        self._expect(len(generations) <= 1, f"phoenix mixes {generations}; on disk: {self.phoenix_files()}")
        topic, generation, age = before
        topic_after, generation_after, _ = self._phoenix_on_disk()
        if generations and topic == topic_after and age > LATE_S:
            there = {generation, generation_after}  # its first record may have come meanwhile
            self._expect(generations <= there, f"phoenix of {generations} {age:.1f} s into {there}")

    def _phoenix_on_disk(self) -> tuple[str, int | None, float]:
        """The topic's id, the generation of its first record, and for how many seconds its directory has been there.

        (Not the directory's inode: the third of its name had the first one's again.)
        """
        directory = self.churn.broker.data / "phoenix-0"
        data = (directory / f"{0:020d}.log").read_bytes()
        found = re.search(rb'"generation": (\d+)', data)
        about = directory.stat()
        topic_id = (directory / "partition.metadata").read_text()
        return topic_id, int(found[1]) if found else None, time.time() - about.st_mtime

    def phoenix_files(self) -> dict[str, list[int]]:
        """The generations in each log of the topic that is on the disk, those that wait for their deletion too."""
        found = {}
        data = self.churn.broker.data
        for directory in fnmatch.filter(os.listdir(data), "phoenix-0*"):
            with suppress(FileNotFoundError):  # the broker moves it away while it is listed
                for name in fnmatch.filter(os.listdir(data / directory), "*.log*"):
                    with suppress(FileNotFoundError):
                        generations = re.findall(rb'"generation": (\d+)', (data / directory / name).read_bytes())
                        found[f"{directory}/{name}"] = sorted(set(map(int, generations)))
        return found

    def transactions(self, chance: random.Random) -> None:
        """read_committed shows nothing that was aborted, and what was committed a second ago."""
        end = len(self.churn.truth.offsets["tx", 0])
        lines = self._lines(self.committed, "tx", f"{max(0, end - chance.randint(0, 500))}...jsonl")
        for line in lines:
            self._expect(json.loads(line["value"])["commit"] is True, f"an aborted record is shown: {line}")

    def _read(self, path: Path) -> bytes:
        """A file from start to end. What counts for `slowest` is a single call, not the work of comparing."""
        with ExitStack() as stack:
            file = self._timed(lambda: stack.enter_context(open(path, "rb", buffering=0)))
            return b"".join(iter(lambda: self._timed(lambda: file.read(1 << 17)), b""))

    def _timed(self, call: Callable[[], Answer]) -> Answer:
        started = time.monotonic()
        try:
            return call()
        finally:
            self.slowest = max(self.slowest, time.monotonic() - started)

    # How it is compared

    def _lines(self, mount: Path, topic: str, name: str) -> list[dict[str, Any]]:
        text = self._read(mount / f"{topic}-0/by-offset/{name}")
        self._expect(not text or text.endswith(b"\n"), f"{topic} {name}: ends in the midst of a line")
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            self._note(topic, line["offset"], line["value"])
        return lines

    def _note(self, topic: str, offset: int, value: str) -> None:
        key = (topic, json.loads(value)["generation"], offset)
        self._expect(self.seen.setdefault(key, value) == value, f"{key} has had two values")
        self.counted["records"] += 1

    def _earliest(self, directory: str) -> int:
        return int(os.readlink(self.everything / directory / "earliest").rpartition("/")[2])

    def _expect(self, true: bool, otherwise: str) -> None:
        self.counted["checks"] += 1
        if not true:
            self.wrong.append(otherwise)

    def compare(self) -> None:
        """All that was seen, with what the broker acknowledged in the end."""
        offsets = self.churn.truth.offsets
        for (topic, generation, offset), value in self.seen.items():
            self._expect(
                offsets[topic, generation].get(offset) == value, f"{topic} {generation}: another record at {offset}"
            )


class Follower(threading.Thread):
    """`cat N...follow.jsonl`: when each record came, by the clock of a process that does nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.process = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stamping = [sys.executable, "-c", STAMPS]
        self._clock = subprocess.Popen(stamping, stdin=self.process.stdout, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.came: dict[int, float] = {}
        self.order: list[int] = []
        self.start()

    def run(self) -> None:
        assert self._clock.stdout is not None
        for stamped in self._clock.stdout:
            at, line = stamped.split(b" ", 1)
            offset = int(json.loads(line)["offset"])
            self.came[offset] = float(at)
            self.order.append(offset)

    def wait_for(self, records: int) -> None:
        """Until it has got so many."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.order) < records:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                assert self.process.stderr is not None
                said = self.process.stderr.read().decode()
                raise AssertionError(f"{len(self.order)} of {records} records came, the last {self.order[-1:]}: {said}")
            time.sleep(0.02)

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.join(PATIENCE_S)
        self._clock.wait(PATIENCE_S)
        return code
