"""Random moves of a broker, random questions: kafkafs must answer like a naive model that reads every file whole.

Files that are open across the moves must keep to what they were opened on, or say that they cannot. In this process
each answer must be as of now; through a mount, as of a moment less than a second ago. `scripts/soak model` runs it for
as long as one wants. A failing run prints its moves, and its seed gives them again.
"""

import json
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from kafkafs.errors import CorruptData
from tests.live.comparison import Comparison, counted, read_all
from tests.live.doors import EXACT, Door, InProcess, ThroughMount
from tests.live.handles import Follower, Snapshot
from tests.live.moves import Moves
from tests.live.naive import Naive
from tests.mounting import wait_until
from tests.view.json_model import line

EXAMPLES = int(os.environ.get("KAFKAFS_MODEL_EXAMPLES", "24"))
STEPS = int(os.environ.get("KAFKAFS_MODEL_STEPS", "50"))
MOUNT_SHARE = 0.25
"""Of the examples, for those through a mount, where each move takes a tenth of a second to be seen."""

KINDS = ("answers", "files", "streams", "reads", "stale", "follows", "compaction steps")
"""All kinds of answers. A run compares each at least once."""

ROUNDS = 5
"""So often a run may begin with other examples, until it has compared each kind."""

PLACES = st.integers(-2, 60)
SHARES = st.floats(0, 1, width=16)

FOLLOWS_S = 5.0
"""How long a follower may take to come to the end; how soon it wakes is measured elsewhere."""

Handle = TypeVar("Handle", Snapshot, Follower)


class BrokerBesideReader(Comparison):
    """One partition, its broker, and all that is open on it."""

    @staticmethod
    def enter(data: Path) -> Door:
        """The way in, when the partition is there."""
        raise NotImplementedError

    @staticmethod
    def place() -> Path:
        """A data directory without partitions."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.broker = Moves(self.place())
        self.door = self.enter(self.broker.data)
        self.looks = deque()
        self.snapshots: list[Snapshot] = []
        self.followers: list[Follower] = []
        self.compacting: Iterator[str] = iter(())
        self.corrupt = False
        self.steps = 0
        self.cut_at = self.made_at = time.monotonic()
        self.pasts: deque[dict[int, bytes]] = deque(maxlen=16)  # several in a second

    def teardown(self) -> None:
        if hasattr(self, "broker"):
            for content in [one.content for one in self.snapshots] + [one.content for one in self.followers]:
                content.close()
            for path in self.broker.data.glob("t-0*"):
                shutil.rmtree(path)
            (self.broker.data / "log-start-offset-checkpoint").unlink(missing_ok=True)

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

    @rule(reported=st.booleans())
    def retain(self, reported: bool) -> None:
        self._finish_compaction()
        self.broker.retain(reported)

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
        self.pasts.append(dict(self.broker.history))
        self.broker.truncate(batches)
        self._look()
        self.broker.append(regrown)
        self._anything_goes()
        self._read_on()

    @rule(at_once=st.booleans())
    def recreate(self, at_once: bool) -> None:
        self._finish_compaction()
        self._read_on()
        self.pasts.append(dict(self.broker.history))
        self.broker.recreate(at_once)
        self.made_at = time.monotonic()
        self.corrupt = False
        self._another_log()

    @rule(sources=st.integers(1, 3), mask=st.integers(0, 255))
    def compact(self, sources: int, mask: int) -> None:
        self._finish_compaction()
        if not self.corrupt:
            if len(self.broker.segments) == 1:
                self.broker.append([1])
                self.broker.roll()
            self.compacting = self.broker.compaction(sources, lambda base: bool(mask >> base % 8 & 1))
            self._step()

    @rule(steps=st.integers(1, 4))
    def go_on_compacting(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    def _step(self) -> None:
        if next(self.compacting, None):
            self._compare_all()

    @rule(batch=st.integers(0, 20), byte=st.integers(0, 300))
    def corrupt_a_byte(self, batch: int, byte: int) -> None:
        self._finish_compaction()
        if self.broker.corrupt(batch, byte):
            self.corrupt = True
            self._anything_goes()
            for snapshot in self.snapshots:  # they show what is on disk, or fail
                snapshot.content.close()
            self.snapshots = []

    def _finish_compaction(self) -> None:
        for _ in self.compacting:
            self._compare_all()

    def _compare_all(self) -> None:
        """In the midst of a compaction, the whole log."""
        counted["compaction steps"] += 1
        self._look()
        self._agree(lambda: self._range("0..")[0], lambda naive: naive.raw(0))
        self._agree(lambda: self._range("0...jsonl"), lambda naive: naive.lines(0))

    def _anything_goes(self) -> None:
        for snapshot in self.snapshots:
            snapshot.must_hold = False
        self._another_log()

    def _another_log(self) -> None:
        """Whoever goes on with the log before is told so; through a mount he may not have looked yet."""
        self.cut_at = time.monotonic()
        for follower in self.followers:
            follower.must_hold = False
            follower.is_of_now = not self.door.stale_s

    @property
    def sees_now(self) -> bool:
        """Whether what is opened now cannot be of the log before."""
        return time.monotonic() >= self.cut_at + self.door.stale_s

    # Questions

    @rule(start=PLACES, length=st.none() | st.integers(0, 30), suffix=st.sampled_from(("", ".jsonl")))
    def ask_a_range(self, start: int, length: int | None, suffix: str) -> None:
        start = max(start, 0)
        end = None if length is None else start + length
        self._agree(
            lambda: self._range(f"{start}..{'' if end is None else end}{suffix}"),
            lambda naive: naive.lines(start, end) if suffix else (naive.raw(start, end), False),
        )

    @rule(offset=PLACES)
    def ask_a_point(self, offset: int) -> None:
        def batch(naive: Naive) -> object:
            item = naive.at(naive.end + offset if offset < 0 else offset)
            return None if item is None else item.data

        def record(naive: Naive) -> object:
            at = max(naive.end + offset if offset < 0 else offset, 0)
            records, fails = naive.records(at) if naive.start <= at < naive.end else ([], False)
            return line("t", 0, records[0]) if records else CorruptData if fails else None

        self._agree(lambda: self._whole(f"by-offset/{offset}"), batch)
        self._agree(lambda: self._whole(f"by-offset/{offset}.jsonl"), record)

    @rule(share=SHARES)
    def ask_a_time(self, share: float) -> None:
        times = [record.timestamp for item in self._look().items for record in item.records or ()]
        at = min(times, default=5) + int(share * (max(times, default=5) - min(times, default=5) + 10)) - 3

        def record(naive: Naive) -> object:
            found = naive.at_time(at)
            return line("t", 0, found) if found else None

        self._agree(lambda: self._whole(f"by-time/{at}.jsonl"), record)

    @rule()
    def list_and_concatenate(self) -> None:
        """Many questions, and each may be answered as of another moment: in time they all agree with what is."""
        if self.corrupt:
            self.door.names("by-offset")
            return
        naive = self._look()
        visible = naive.visible()
        links = [f"by-offset/{visible[at]}" for at in (0, -1)] if visible else []
        self._soon(self._concatenated, naive.raw(0))
        self._soon(lambda: [self.door.link(name) for name in ("earliest", "latest") if links], links)

    def _concatenated(self) -> bytes:
        return b"".join(self._range(name)[0] for name in self.door.names("by-offset"))

    @rule(start=st.integers(0, 12), suffix=st.sampled_from(("", ".jsonl")), closed=st.booleans())
    def keep_open(self, start: int, suffix: str, closed: bool) -> None:
        if len(self.snapshots) < 6:
            self._keep_open(start, suffix, self._look(), closed)

    def _keep_open(self, start: int, suffix: str, naive: Naive, closed: bool = True) -> None:
        end = naive.end if closed or not suffix else None
        must_hold = self.sees_now
        name = f"by-offset/{start}..{'' if end is None else max(start, end)}{suffix}"
        _, content = self._answered(lambda: self.door.open(name))

        def answer(naive: Naive) -> tuple[bytes, bool]:
            return naive.lines(start, end) if suffix else (naive.raw(start, end), False)

        text, fails = answer(naive)
        if len(self._recent(time.monotonic())) > 1:  # it must be asked which of them it was opened on
            text, fails = self._agree(lambda: read_all(content), answer)
        self.snapshots.append(Snapshot(content, text, fails, must_hold, is_fixed=bool(suffix)))

    @rule(start=st.integers(0, 12))
    def follow(self, start: int) -> None:
        if len(self.followers) < 4:
            self._follow(start)

    def _follow(self, start: int) -> None:
        is_of_now = self.sees_now
        _, content = self._answered(lambda: self.door.follow(f"by-offset/{start}...follow.jsonl"))
        self.followers.append(Follower(content, start, self.broker.known_epochs[-1], is_of_now))

    @rule(at=SHARES, size=st.integers(1, 5000))
    def read_what_is_open(self, at: float, size: int) -> None:
        for snapshot in self.snapshots:
            counted["reads" if snapshot.read(at, size) else "stale"] += 1
        self.snapshots = _still_good(self.snapshots)

    @rule()
    def read_on(self) -> None:
        self._read_on()

    def _read_on(self) -> None:
        naive = self._look()
        histories = [self.broker.history, *(self.pasts if self.door.stale_s else ())]
        epochs = self.broker.known_epochs
        for follower in self.followers:
            follower.must_hold = follower.must_hold and follower.epoch in epochs
            fresh = follower.catch_up(histories, naive, _offset_of, FOLLOWS_S if self.door.stale_s else 0.0)
            follower.epoch = epochs[-1]
            counted["follows" if fresh else "stale follows"] += 1
            follower.must_hold = follower.is_of_now and not self.corrupt
        self.followers = _still_good(self.followers)

    @invariant()
    def the_end_is_right(self) -> None:
        if hasattr(self, "broker"):
            naive = self._look()
            self._soon(self.door.ends, (naive.start, naive.end))
            counted["looks"] += 1
            self.steps += 1
            self.read_what_is_open(self.steps * 0.618 % 1, 1 + self.steps * 37 % 4000)


def _still_good(handles: list[Handle]) -> list[Handle]:
    for handle in handles:
        if handle.stale:
            handle.content.close()
    return [handle for handle in handles if not handle.stale]


def _offset_of(text: bytes) -> int:
    return int(json.loads(text)["offset"])


def _run(enter: Callable[[Path], Door], place: Callable[[], Path], examples: int) -> None:
    """The same examples each time, unless the environment asks for a number of them."""
    counted.clear()
    is_free = "KAFKAFS_MODEL_EXAMPLES" in os.environ
    for number in range(ROUNDS):  # a few examples may leave out a kind of answer
        machine = type("Machine", (BrokerBesideReader,), {"enter": staticmethod(enter), "place": staticmethod(place)})
        run_state_machine_as_test(
            machine if is_free else seed(number)(machine),
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        missing = [kind for kind in KINDS if not counted[kind]]
        if not missing:
            break
    print(dict(counted))
    assert missing == []


@pytest.mark.timeout(EXAMPLES * STEPS / 4 + 900)  # a failure takes its time to become a short one
def test_answers_are_those_of_a_naive_model(tmp_path):
    _run(InProcess, lambda: Path(tempfile.mkdtemp(dir=tmp_path)), EXAMPLES)


@pytest.mark.timeout(EXAMPLES * STEPS / 4 + 900)
def test_a_mount_answers_like_the_naive_model(mount, tmp_path: Path):
    (tmp_path / "meta.properties").write_text("version=1\n")
    mounted = mount(tmp_path, options=f"exact={EXACT}", guard_s=EXAMPLES * STEPS / 4 + 600)

    def emptied() -> Path:
        wait_until(lambda: all(name.startswith(".") for name in os.listdir(mounted.path)))
        return tmp_path

    _run(lambda _: ThroughMount(mounted.path), emptied, int(EXAMPLES * MOUNT_SHARE))
    assert "bug in" not in mounted.log
