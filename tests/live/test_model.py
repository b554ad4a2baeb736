"""Random moves of a broker, random questions: kafkafs must answer like a naive model that reads every file whole.

Files that are open across the moves must keep to what they were opened on, or say that they cannot. In a soak this runs
as long as one wants: `scripts/soak model`. A failing run prints its moves, and its seed gives them again.
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kafkafs.errors import CorruptData, NotFound
from kafkafs.log import data_directory, partition
from kafkafs.log.options import Options
from kafkafs.view import tree
from tests.live.handles import Follower, Snapshot
from tests.live.moves import Moves
from tests.live.naive import Naive
from tests.view.json_model import line

EXAMPLES = int(os.environ.get("KAFKAFS_MODEL_EXAMPLES", "40"))
STEPS = int(os.environ.get("KAFKAFS_MODEL_STEPS", "50"))
PLACES = st.integers(-2, 60)
SHARES = st.floats(0, 1, width=16)

counted: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def nothing_is_fresh_for_long(monkeypatch):
    """The mount may answer as of 0.1 s ago. Here each answer must be as of now."""
    for module in (partition, data_directory):
        monkeypatch.setattr(module, "FRESH_S", 0.0)


class BrokerBesideReader(RuleBasedStateMachine):
    """One partition, its broker, and all that is open on it."""

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="kafkafs-model-"))
        self.broker = Moves(self.home / "data")
        self.tree = tree.Root([self.broker.data], Options())
        self.snapshots: list[Snapshot] = []
        self.followers: list[Follower] = []
        self.compacting: Iterator[str] = iter(())
        self.corrupt = False
        self.steps = 0

    def teardown(self) -> None:
        if hasattr(self, "home"):
            shutil.rmtree(self.home)

    # The broker's moves

    @rule(counts=st.lists(st.integers(1, 4), min_size=1, max_size=5), jitter=st.sampled_from((0, 0, 50)),
          indexed=st.booleans(), packed=st.booleans())  # fmt: skip
    def append(self, counts: list[int], jitter: int, indexed: bool, packed: bool) -> None:
        self.broker.append(counts, jitter, indexed, packed)

    @rule(count=st.integers(1, 3), part=SHARES)
    def tear(self, count: int, part: float) -> None:
        self.broker.tear(count, part)

    @rule()
    def finish(self) -> None:
        self.broker.finish()

    @rule()
    def roll(self) -> None:
        self.broker.roll()

    @rule(told=st.booleans())
    def retain(self, told: bool) -> None:
        self._finish_compaction()
        self.broker.retain(told)

    @rule(below=PLACES)
    def delete_records(self, below: int) -> None:
        self.broker.delete_records(below)

    @rule()
    def unlink(self) -> None:
        self.broker.unlink_deleted()

    @rule(batches=st.integers(1, 8), regrown=st.lists(st.integers(1, 4), max_size=4))
    def truncate(self, batches: int, regrown: list[int]) -> None:
        self._finish_compaction()
        if len(self.snapshots) < 6:
            self._keep_open(0, "", self._look())
            self._keep_open(0, ".jsonl", self._look())
        if len(self.followers) < 4:
            self._follow(0)
        self._read_on()
        self.broker.truncate(batches)
        self.broker.append(regrown)
        self._anything_goes()
        self._read_on()

    @rule(at_once=st.booleans())
    def recreate(self, at_once: bool) -> None:
        self._finish_compaction()
        self.broker.recreate(at_once)
        self.corrupt = False
        for follower in self.followers:
            follower.must_hold = False

    @rule(sources=st.integers(1, 3), mask=st.integers(0, 255))
    def compact(self, sources: int, mask: int) -> None:
        self._finish_compaction()
        if not self.corrupt:
            self.compacting = self.broker.compaction(sources, lambda base: bool(mask >> base % 8 & 1))

    @rule(steps=st.integers(1, 4))
    def go_on_compacting(self, steps: int) -> None:
        for _ in range(steps):
            if next(self.compacting, None):
                self._compare_all()

    @rule(batch=st.integers(0, 20), byte=st.integers(0, 300))
    def corrupt_a_byte(self, batch: int, byte: int) -> None:
        self._finish_compaction()
        if self.broker.corrupt(batch, byte):
            self.corrupt = True
            self._anything_goes()
            self.snapshots = []  # they show what is on disk, or fail

    def _finish_compaction(self) -> None:
        for _ in self.compacting:
            self._compare_all()

    def _compare_all(self) -> None:
        """In the midst of a compaction, the whole log."""
        counted["compaction steps"] += 1
        naive = self._look()
        assert _read_all(self._open("by-offset", "0.."))[0] == naive.raw(0)
        assert _read_all(self._open("by-offset", "0...jsonl")) == naive.lines(0)

    def _anything_goes(self) -> None:
        for snapshot in self.snapshots:
            snapshot.must_hold = False
        for follower in self.followers:
            follower.must_hold = False

    # Questions

    @rule(start=PLACES, length=st.none() | st.integers(0, 30), suffix=st.sampled_from(("", ".jsonl")))
    def ask_a_range(self, start: int, length: int | None, suffix: str) -> None:
        start = max(start, 0)
        naive = self._look()
        content = self._open("by-offset", f"{start}..{'' if length is None else start + length}{suffix}")
        end = None if length is None else start + length
        text, fails = naive.lines(start, end) if suffix else (naive.raw(start, end), False)
        got, failed = _read_all(content)
        assert (got, failed) == (text, fails)
        content.close()

    @rule(offset=PLACES)
    def ask_a_point(self, offset: int) -> None:
        naive, name = self._look(), str(offset)
        item = naive.at(naive.end + offset if offset < 0 else offset)
        assert self._whole("by-offset", name) == (None if item is None else item.data)
        offset = max(naive.end + offset if offset < 0 else offset, 0)
        records, fails = naive.records(offset) if naive.start <= offset < naive.end else ([], False)
        wanted = line("t", 0, records[0]) if records else CorruptData if fails else None
        assert self._whole("by-offset", f"{name}.jsonl") == wanted

    @rule(share=SHARES)
    def ask_a_time(self, share: float) -> None:
        naive = self._look()
        times = [record.timestamp for item in naive.items for record in item.records or ()]
        at = min(times, default=5) + int(share * (max(times, default=5) - min(times, default=5) + 10)) - 3
        record = naive.at_time(at)
        assert self._whole("by-time", f"{at}.jsonl") == (line("t", 0, record) if record else None)

    @rule()
    def list_and_concatenate(self) -> None:
        naive = self._look()
        directory: Any = self._partition().child("by-offset")
        parts = [_read_all(directory.child(entry.name).open())[0] for entry in directory.entries()]
        if not self.corrupt:
            assert b"".join(parts) == naive.raw(0)
        for name in ("earliest", "latest"):
            visible = [] if self.corrupt else naive.visible()
            if visible:
                link: Any = self._partition().child(name)
                assert link.target() == f"by-offset/{visible[0 if name == 'earliest' else -1]}"

    @rule(start=st.integers(0, 12), suffix=st.sampled_from(("", ".jsonl")), closed=st.booleans())
    @precondition(lambda self: len(self.snapshots) < 6)
    def keep_open(self, start: int, suffix: str, closed: bool) -> None:
        self._keep_open(start, suffix, self._look(), closed)

    def _keep_open(self, start: int, suffix: str, naive: Naive, closed: bool = True) -> None:
        end = naive.end if closed or not suffix else None
        text, fails = naive.lines(start, end) if suffix else (naive.raw(start, end), False)
        content = self._open("by-offset", f"{start}..{'' if end is None else max(start, end)}{suffix}")
        self.snapshots.append(Snapshot(content, text, fails))

    @rule(start=st.integers(0, 12))
    @precondition(lambda self: len(self.followers) < 4)
    def follow(self, start: int) -> None:
        self._follow(start)

    def _follow(self, start: int) -> None:
        self.followers.append(Follower(self._open("by-offset", f"{start}...follow.jsonl"), start))

    @rule(at=SHARES, size=st.integers(1, 5000))
    def read_what_is_open(self, at: float, size: int) -> None:
        for snapshot in self.snapshots:
            counted["reads" if snapshot.read(at, size) else "stale"] += 1
        self.snapshots = [snapshot for snapshot in self.snapshots if not snapshot.stale]

    @rule()
    def read_on(self) -> None:
        self._read_on()

    def _read_on(self) -> None:
        naive = self._look()
        for follower in self.followers:
            counted["follows" if follower.catch_up(self.broker.history, naive, _offset_of) else "stale follows"] += 1
            follower.must_hold = not self.corrupt
        self.followers = [follower for follower in self.followers if not follower.stale]

    @invariant()
    def the_end_is_right(self) -> None:
        if hasattr(self, "broker"):
            naive = self._look()
            log = self.tree._directories[0].partition(self.broker.name).log()
            assert (log.start_offset, log.end_offset) == (naive.start, naive.end)
            counted["looks"] += 1
            self.steps += 1
            self.read_what_is_open(self.steps * 0.618 % 1, 1 + self.steps * 37 % 4000)

    def _look(self) -> Naive:
        return Naive(self.broker.directory, self.broker.made)

    def _partition(self) -> Any:
        return self.tree.child(self.broker.name)

    def _open(self, directory: str, name: str) -> Any:
        return self._partition().child(directory).child(name).open()

    def _whole(self, directory: str, name: str) -> Any:
        """An answer's bytes, None for no such file, or the error's type."""
        counted["answers"] += 1
        try:
            content = self._open(directory, name)
        except NotFound:
            return None
        except CorruptData:
            return CorruptData
        data, failed = _read_all(content)
        return CorruptData if failed else data


def _read_all(content: Any) -> tuple[bytes, bool]:
    counted["answers"] += 1
    text = b""
    try:
        while got := bytes(content.read(len(text), 3000)):
            text += got
    except CorruptData:
        return text, True
    return text, False


def _offset_of(text: bytes) -> int:
    return int(json.loads(text)["offset"])


def test_answers_are_those_of_a_naive_model():
    run_state_machine_as_test(
        BrokerBesideReader,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    print(dict(counted))
    assert [what for what in ("answers", "reads", "stale", "follows", "compaction steps") if not counted[what]] == []
