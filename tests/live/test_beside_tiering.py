"""A mount beside a live broker that uploads segments, deletes them from its disk and then from the tier: no reader of
what is left sees it. `KAFKAFS_TIERING=30000` does so for as many records.

A record's value and key tell its offset, so each decoded byte is known before; a raw range is held against what it was
the first time. The only clock is that of deadlines.
"""

import json
import os
import random
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.kafka import tiered
from tests.mounting import wait_until

RECORDS = int(os.environ.get("KAFKAFS_TIERING", "3000"))
FIRST, STEP, START = 600, 300, 1010
"""Records before the mount, records of a round, and the log start that somebody asks for, within a remote segment."""
KEPT_BYTES, KEPT = 150_000, 600
"""What retention leaves at least, and records that are among it."""
DEADLINE_S = 300.0 + RECORDS / 100

pytestmark = pytest.mark.timeout(4 * DEADLINE_S)


class Readers:
    """One thread for each way to look, over offsets that a follower has seen and that nobody means to delete.

    `kept_from` is raised before records are deleted. What began below it may be an error, but is never wrong.
    """

    def __init__(self, partition: Path) -> None:
        self.names = partition / "by-offset"
        self.seen = self.kept_from = 0
        self.looks, self.faults, self._raw = Counter[str](), list[str](), dict[str, bytes]()
        self._stopped = threading.Event()
        looks = (self._point, self._range, self._raw_range, self._grep, self._follow)
        self._kinds = [look.__name__ for look in looks]
        self._newest = subprocess.Popen(["cat", self.names / "0...follow.jsonl"], stdout=subprocess.PIPE)
        self._threads = [threading.Thread(target=self._see)]
        self._threads += [threading.Thread(target=self._loop, args=(look,)) for look in looks]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._newest.kill()
        for thread in self._threads:
            thread.join(DEADLINE_S)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        wait_until(lambda: bool(self.faults) or condition(), DEADLINE_S)
        assert self.faults == []

    def look_on(self) -> None:
        """Waits until each has looked once more, from begin to end."""
        before = Counter(self.looks)
        self.wait_for(lambda: all(self.looks[kind] >= before[kind] + 2 for kind in self._kinds))

    def _see(self) -> None:
        assert self._newest.stdout is not None
        for line in self._newest.stdout:
            if _offsets(line) != [self.seen]:
                self.faults.append(f"the follower got {line!r} at {self.seen}")
            self.seen += 1

    def _loop(self, look: Callable[[int, int], list[int]]) -> None:
        chance = random.Random(look.__name__)
        while not self._stopped.is_set() and not self.faults:
            if self.seen == self.kept_from:
                self._stopped.wait(0.01)
                continue
            start = chance.randrange(self.kept_from, self.seen)
            end = min(self.seen, start + 1 + chance.randrange(900))
            try:
                found = look(start, end)
                reported = "" if found == list(range(start, end)) else f"got {found}"
                is_wrong = found != sorted(set(found))
            except OSError as error:
                reported, is_wrong = repr(error), False
            except ValueError as error:
                reported, is_wrong = repr(error), True
            if is_wrong or (reported and start >= self.kept_from and not self._stopped.is_set()):
                self.faults.append(f"{look.__name__} {start}..{end}: {reported}")
            self.looks[look.__name__] += 1

    def _point(self, start: int, end: int) -> list[int]:
        return [*_offsets((self.names / f"{start}.jsonl").read_bytes()), *range(start + 1, end)]

    def _range(self, start: int, end: int) -> list[int]:
        return _offsets((self.names / f"{start}..{end}.jsonl").read_bytes())

    def _raw_range(self, start: int, end: int) -> list[int]:
        name = f"{start // 100 * 100 + 100}..{start // 100 * 100 + 400}"  # few, so that each comes again
        if int(name.partition("..")[2]) <= self.seen:
            data = (self.names / name).read_bytes()
            if data != self._raw.setdefault(name, data):
                raise ValueError(f"{name} is otherwise than before")
        return list(range(start, end))

    def _grep(self, start: int, end: int) -> list[int]:
        command: list[str | Path] = ["grep", '"key-7"', self.names / f"{start}..{end}.jsonl"]
        done = subprocess.run(command, capture_output=True, timeout=DEADLINE_S)
        if done.returncode > 1:
            raise OSError(done.stderr)
        found = [json.loads(line)["offset"] for line in done.stdout.splitlines()]
        return list(range(start, end)) if found == [each for each in range(start, end) if each % 50 == 7] else found

    def _follow(self, start: int, end: int) -> list[int]:
        """From the tier into what is on the disk: up to the last record that was seen."""
        wanted, data = self.seen - start, b""
        with subprocess.Popen(["cat", self.names / f"{start}...follow.jsonl"], stdout=subprocess.PIPE) as cat:
            assert cat.stdout is not None
            while data.count(b"\n") < wanted and (more := os.read(cat.stdout.fileno(), 1 << 16)):
                data += more
            cat.kill()
        found = _offsets(data[: data.rfind(b"\n") + 1])
        return list(range(start, end)) if found[:wanted] == list(range(start, start + wanted)) else found


def _offsets(text: bytes) -> list[int]:
    """The offsets of decoded records; ValueError where one is not what was written there."""
    reported = [json.loads(line) for line in text.splitlines()]
    for each in reported:
        if (each["value"].rstrip("x"), each["key"]) != (f"value {each['offset']} ", f"key-{each['offset'] % 50}"):
            raise ValueError(f"wrong: {each}")
    return [each["offset"] for each in reported]


def test_readers_see_nothing_of_uploads_and_deletions(tmp_path, mount):
    home, tier = tmp_path / "home", tmp_path / "tier"
    home.mkdir()
    tier.mkdir()
    with tiered.running(home, tier) as broker:
        tiered.create(broker, "orders", 1, tiered.TIERED | {"local.retention.bytes": "1"})
        tiered.produce(broker, "orders", 0, 0, FIRST)
        stored = tier / "kafka-tiered-storage"
        wait_until(lambda: any(stored.glob("orders-0-*/*.snapshot")), DEADLINE_S)
        partition = mount(broker.data, options=f"tiered={stored}", guard_s=4 * DEADLINE_S) / "orders-0"
        readers = Readers(partition)

        def reported() -> dict[str, int]:
            with suppress(OSError):  # what it tells of may go away meanwhile: who waits asks again
                found: dict[str, int] = json.loads((partition / "info.json").read_bytes())
                return found
            return {"logStartOffset": -1, "localLogStartOffset": -1}

        def starts_as_told() -> bool:
            with suppress(OSError):
                return str(os.readlink(partition / "earliest")) == f"by-offset/{reported()['logStartOffset']}"
            return False

        try:
            for first in range(FIRST, RECORDS, STEP):
                tiered.produce(broker, "orders", 0, first, min(STEP, RECORDS - first))
            readers.wait_for(lambda: readers.seen == RECORDS)
            readers.wait_for(lambda: len(tiered.local_bases(broker, "orders-0")) == 1)
            readers.look_on()
            readers.wait_for(lambda: reported()["logStartOffset"] == 0 < reported()["localLogStartOffset"])
            readers.kept_from = START
            broker.admin.delete_records([TopicPartition("orders", 0, START)])[TopicPartition("orders", 0)].result(30)
            readers.wait_for(lambda: reported()["logStartOffset"] == START)
            readers.look_on()
            before = len(list(stored.glob("orders-0-*/*.log")))
            readers.kept_from = RECORDS - KEPT
            tiered.set_configs(broker, "orders", {"retention.bytes": str(KEPT_BYTES)})
            readers.wait_for(lambda: reported()["logStartOffset"] > START)
            readers.wait_for(lambda: len(list(stored.glob("orders-0-*/*.log"))) < before)
            readers.look_on()
            readers.wait_for(starts_as_told)
            with pytest.raises(FileNotFoundError):
                (partition / f"by-offset/{START}.jsonl").read_bytes()
        finally:
            readers.stop()
    assert readers.faults == []
