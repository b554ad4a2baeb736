"""Random moves of a broker, with key indexes made, broken and mixed up between them: keys are found as by a dictionary.

The model is a plain dictionary over all that the naive reader sees (`naive`), so nothing of an index, of what a scan
remembers or of a lookup is in it. A failing run prints its moves, and its seed gives them again.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kafkafs.errors import CorruptData, NotFound
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.live.moves import Moves
from tests.live.naive import Naive
from tests.log.making import log_of
from tests.search.test_key_indexes import write_indexes
from tests.view.trees import cat

EXAMPLES = int(os.environ.get("KAFKAFS_MODEL_EXAMPLES", "100")) // 8
KEYS = (*(f"key-{number}" for number in range(5)), "key-5")
"""Those of `Moves`, and one that no record has."""


class KeysBesideBroker(RuleBasedStateMachine):
    """One partition, its broker, its key indexes, and a tree that has stood since the beginning."""

    @staticmethod
    def place() -> Path:
        """An empty directory."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        home = self.place()
        self.broker, self.indexes = Moves(home / "data"), home / "indexes"
        self.indexes.mkdir()
        self.root = tree_of(home)
        self.compacting: Iterator[str] = iter(())
        self.corrupt = False

    @rule(counts=st.lists(st.integers(1, 4), min_size=1, max_size=4), packed=st.booleans())
    def append(self, counts: list[int], packed: bool) -> None:
        self.broker.append(counts, packed=packed)

    @rule(counts=st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def append_and_roll(self, counts: list[int]) -> None:
        self.broker.append(counts)
        self.broker.roll()

    @rule(count=st.integers(1, 3), part=st.floats(0, 1, width=16))
    def tear(self, count: int, part: float) -> None:
        self.broker.tear(count, part)

    @rule(reported=st.booleans())
    def retain(self, reported: bool) -> None:
        self._finish()
        self.broker.retain(reported)

    @rule(below=st.integers(0, 40))
    def delete_records(self, below: int) -> None:
        self.broker.delete_records(below)

    @rule(batches=st.integers(1, 8), regrown=st.lists(st.integers(1, 4), max_size=4))
    def truncate(self, batches: int, regrown: list[int]) -> None:
        self._finish()
        self.broker.truncate(batches)
        self.broker.append(regrown)

    @rule(at_once=st.booleans())
    def recreate(self, at_once: bool) -> None:
        self._finish()
        self.broker.recreate(at_once)
        self.corrupt = False

    @rule(sources=st.integers(1, 3), mask=st.integers(0, 255))
    def compact(self, sources: int, mask: int) -> None:
        self._finish()
        if not self.corrupt:
            self.compacting = self.broker.compaction(sources, lambda base: bool(mask >> base % 8 & 1))

    @rule(steps=st.integers(1, 6))
    def go_on_compacting(self, steps: int) -> None:
        for _ in range(steps):
            next(self.compacting, None)

    @rule(batch=st.integers(0, 20), byte=st.integers(0, 300))
    def corrupt_a_byte(self, batch: int, byte: int) -> None:
        self._finish()
        self.corrupt |= self.broker.corrupt(batch, byte)

    def _finish(self) -> None:
        for _ in self.compacting:
            pass

    @rule()
    def reindex(self) -> None:
        write_indexes(log_of(self.broker.data), self.indexes)

    @rule(which=st.integers(0, 9), at=st.floats(0, 1, width=16), how=st.sampled_from(["flip", "cut", "zeros", "gone"]))
    def break_an_index(self, which: int, at: float, how: str) -> None:
        files = sorted(self.indexes.rglob("*.keys"))
        if files:
            file = files[which % len(files)]
            content = bytearray(file.read_bytes())
            place = min(int(len(content) * at), len(content) - 1)
            if content and how == "flip":
                content[place] ^= 4
            elif how == "cut":
                del content[place:]
            file.write_bytes(bytes(len(content)) if how == "zeros" else content)  # in place: it may be open
            if how == "gone":
                file.unlink()

    @rule(one=st.integers(0, 9), other=st.integers(0, 9))
    def mix_up_indexes(self, one: int, other: int) -> None:
        files = sorted(self.indexes.rglob("*.keys"))
        if files and files[one % len(files)] != files[other % len(files)]:
            shutil.copy(files[one % len(files)], files[other % len(files)])

    @invariant()
    def keys_are_found_as_in_a_dictionary(self) -> None:
        naive = Naive(self.broker.directory, self.broker.made)
        model: dict[str, list[int]] = {}
        for item in naive.items:
            for record in item.records or ():
                if record.offset >= naive.start:
                    model.setdefault((record.key or b"").decode(), []).append(record.offset)
        for key in KEYS:
            assert last(self.root, key) == model.get(key, [None])[-1], key
            found = history(self.root, key)
            assert found in (model.get(key), CorruptData if self.corrupt else None), key


def tree_of(home: Path) -> Root:
    """What a mount serves that looks at its disks for each question."""
    options = ReadOptions(index_dir=home / "indexes", log_fresh_s=0.0, names_fresh_s=0.0, indexes_fresh_s=0.0)
    return Root([home / "data"], options)


def last(root: Root, key: str) -> int | None:
    """The offset that a key's line tells."""
    try:
        line = json.loads(cat(root, f"t-0/by-key/{key}.jsonl"))
    except NotFound:
        return None
    assert line["key"] == key
    return int(line["offset"])


def history(root: Root, key: str) -> list[int] | type[CorruptData] | None:
    try:
        return [json.loads(line)["offset"] for line in cat(root, f"t-0/by-key/{key}.history.jsonl").splitlines()]
    except NotFound:
        return None
    except CorruptData:
        return CorruptData


def test_keys_beside_a_broker_are_those_of_a_dictionary(tmp_path):
    """Appended, rolled, retained, cut, compacted, made anew; indexes whole, stale, damaged, foreign, cut in use."""
    place = staticmethod(lambda: Path(tempfile.mkdtemp(dir=tmp_path)))
    run_state_machine_as_test(
        type("Machine", (KeysBesideBroker,), {"place": place}),
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=20, deadline=None,
            derandomize="KAFKAFS_MODEL_EXAMPLES" not in os.environ, suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


def test_lookups_while_the_broker_goes_on(tmp_path):
    """Each answer is of a moment between question and answer, though segments come, go and are indexed meanwhile."""
    broker, over, problems = Moves(tmp_path / "data"), threading.Event(), list[str]()
    (tmp_path / "indexes").mkdir()
    root, answers = tree_of(tmp_path), [0]
    broker.append([5])

    def ask() -> None:
        while not over.is_set():
            least = broker.next_offset - 10  # five records have all keys, and five are counted before they are written
            found = last(root, f"key-{answers[0] % 5}")
            if found is None or not least <= found < broker.next_offset:
                problems.append(f"{found} is not in {least}..{broker.next_offset}")
            with suppress(CorruptData):
                reported = history(root, "key-1")
                if not isinstance(reported, list) or reported != sorted(set(reported)):
                    problems.append(f"history: {reported}")
            answers[0] += 1

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            problems.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(ask,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    ends = time.monotonic() + 20
    moves = 0
    while not problems and time.monotonic() < ends and (answers[0] < 200 or moves < 60):
        broker.append([5, 5])
        moves += 1
        if moves % 3 == 0:
            broker.roll()
        if moves % 10 == 0:
            write_indexes(log_of(broker.data), tmp_path / "indexes")
        if moves % 7 == 0:
            for _ in broker.compaction(2, lambda base: base % 3 == 0 or base >= broker.next_offset - 10):
                pass
        if moves % 8 == 0:
            broker.retain(reported=True)
        time.sleep(0.005)
    over.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert answers[0] >= 200
