"""A store that fails in the middle of a command: each command with each fault.

A fault of a moment is asked again, and the answer is that of the disk. A fault that lasts, and a copy that changes, are
one sentence and an exit code. No answer is short, and none is a mixture.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path
from urllib.parse import quote

import pytest

import kafkafs
from kafkafs.cli.main import main
from kafkafs.errors import KafkafsError
from tests.kafka.buckets import Store, bucket_of

pytestmark = [pytest.mark.usefixtures("bucket_keys"), pytest.mark.timeout(300)]

LOCAL = ("--engine", "local")
COMMANDS: dict[str, tuple[str, ...]] = {
    "ls": ("ls", "DATA", "orders-0/segments"),
    "point": ("cat", "DATA", "orders-0/by-offset/3.jsonl"),
    "range": ("cat", "DATA", "orders-0/by-offset/0...jsonl"),
    "time": ("cat", "DATA", "test-0/by-time/1632390207806.jsonl"),
    "topic": ("cat", "DATA", ".topics/orders/by-time/2020-01-01...jsonl"),
    "groups in files": ("cat", "DATA", ".cluster/groups/dashboard/offsets.jsonl"),
    "info": ("cat", "DATA", "orders-0/info.json"),
    "grep": ("grep", "order", "DATA"),
    "groups": ("groups", "DATA"),
    "dump": ("dump", "--print-data-log", "DATA/orders-0/00000000000000000000.log"),
    "audit": ("audit", *LOCAL, "DATA"),
    "deep audit": ("audit", "--deep", *LOCAL, "DATA"),
    "export": ("export", *LOCAL, "DATA", "--to", "OUT"),
    "du": ("du", "DATA"),
    "triage": ("triage", "DATA"),
    "diff": ("diff", "--stat", *LOCAL, "DATA", "--against", "DATA"),
    "profile": ("profile", *LOCAL, "DATA", "--json", "OUT/p.json"),
    "reindex": ("reindex", *LOCAL, "DATA", "--index-dir", "OUT"),
    "keys": ("reindex", "--keys", *LOCAL, "DATA", "--index-dir", "OUT"),
    "revive": ("revive", "DATA", "--to", "OUT"),
    "scan": (),
}
PASSING = ("500", "503", "429", "reset", "short", "slow", "page", "nothing")
LASTING = (*PASSING, "403", "changed", "gone", "listing")
QUICK = ("range", "du", "export", "grep", "point", "groups")


def _pairs(faults: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each fault with some command, or with all: minutes, by hand (`scripts/soak buckets 1`)."""
    is_all = "KAFKAFS_BUCKETS" in os.environ
    return list(product(COMMANDS, faults)) if is_all else list(zip(cycle(QUICK), faults, strict=False))


class Script:
    """A fault from the middle of a command on, or in its middle only."""

    def __init__(self, store: Store, fault: str, at: int, lasts: bool) -> None:
        self._store, self._fault, self._at, self._lasts = store, fault, at, lasts
        self._count = 0
        self.has_failed = False

    def __call__(self, method: str, key: str) -> str:
        self._count += 1
        path = self._store.top / key
        if self._fault == "listing":
            self._change_behind_the_first_page(path, key)
            return ""
        is_due = self._count > self._at and (self._lasts or not self.has_failed)
        if not is_due or (self._fault in ("changed", "gone") and not (path.is_file() and method == "GET")):
            return ""
        if self._fault == "short" and method == "HEAD":
            return ""
        self.has_failed = True
        if self._fault == "gone":
            path.unlink()
        elif self._fault == "changed":
            other = path.with_name(".other")
            other.write_bytes(path.read_bytes())
            os.utime(other, (1, 1))
            other.replace(path)
        return "" if self._fault in ("changed", "gone") else self._fault

    def _change_behind_the_first_page(self, folder: Path, prefix: str) -> None:
        """Deletes a log that was listed before the store is asked for the next page."""
        is_next = (
            f"prefix={quote(prefix, safe='')}" in self._store.asked[-1] and "continuation" in self._store.asked[-1]
        )
        if is_next and not self.has_failed and (logs := sorted(folder.glob("*.log"))):
            self.has_failed = True
            logs[0].unlink()


Run = Callable[[str, str, Path], tuple[int, bytes, str]]


@pytest.fixture
def run(capfdbinary, forgotten) -> Run:
    """Runs a command over a copy: the exit code, what it said and wrote, and its error."""

    def run(name: str, place: str, out: Path) -> tuple[int, bytes, str]:
        forgotten()
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        try:
            if name == "scan":
                return 0, repr(kafkafs.scan(place, "orders").to_arrow().to_pylist()).encode(), ""
            folder, _, query = place.partition("?")
            words = [
                str(out / word[4:]) if word.startswith("OUT")
                else f"{folder}{word[4:]}?{query}" if word.startswith("DATA") else word
                for word in COMMANDS[name]
            ]  # fmt: skip
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        except KafkafsError as error:
            return 1, b"", str(error)
        printed, said = capfdbinary.readouterr()
        written = [
            (str(path.relative_to(out)), _content(path)) for path in sorted(out.rglob("*"))
            if path.is_file() and "__cluster_metadata-0" not in path.parts
        ]  # fmt: skip
        lines = sorted(printed.replace(place.encode(), b"DATA").replace(str(out).encode(), b"OUT").splitlines())
        return code, repr((lines, written)).encode(), said.decode()

    return run


def _content(path: Path) -> object:
    """What a file says that is the same in each run."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).to_pylist()
    return path.read_bytes() if path.suffix in (".log", ".index", ".timeindex", ".keys") else None


@pytest.fixture(scope="module")
def clean() -> dict[str, tuple[int, bytes, int]]:
    """By command: the exit code and the answer of a store without faults, and how many requests it took."""
    return {}


@pytest.fixture
def copy(data, tmp_path) -> Iterator[Store]:
    shutil.copytree(data, tmp_path / "top" / data.name, symlinks=True)
    with bucket_of(tmp_path / "top") as store:
        yield store


def _compared(name, copy, data, tmp_path, run, clean) -> tuple[int, bytes, int]:
    if name not in clean:
        code, answer, said = run(name, copy.address(data.name), tmp_path / "out")
        assert code == 0, said
        clean[name] = code, answer, len(copy.asked)
    found: tuple[int, bytes, int] = clean[name]
    return found


@pytest.fixture(autouse=True)
def _soon(store_limits):
    store_limits(waits_s=(0.01,) * 6, attempts=1, refuse_s=0.0)


@pytest.mark.parametrize(("name", "fault"), _pairs(PASSING))
def test_the_answer_is_whole_after_a_fault_of_a_moment(name, fault, copy, data, tmp_path, run, clean, store_limits):
    _, answer, requests = _compared(name, copy, data, tmp_path, run, clean)
    if fault == "slow":
        store_limits(request_s=1.0)
    copy.fault = script = Script(copy, fault, requests // 2, lasts=False)
    code, found, said = run(name, copy.address(data.name), tmp_path / "out")
    assert script.has_failed
    assert (code, found == answer) == (0, True), said


@pytest.mark.parametrize(("name", "fault"), _pairs(LASTING))
def test_a_fault_that_lasts_is_one_sentence(name, fault, copy, data, tmp_path, run, clean, store_limits):
    _, answer, requests = _compared(name, copy, data, tmp_path, run, clean)
    if fault == "slow":
        store_limits(request_s=0.2, question_s=0.5, listing_s=0.5)
    copy.page = 3 if fault == "listing" else copy.page
    copy.fault = script = Script(copy, fault, requests // 2, lasts=True)
    code, found, said = run(name, copy.address(data.name), tmp_path / "out")
    if not script.has_failed or (fault == "listing" and code == 0):
        assert (code, found == answer) == (0, True), "the object was not asked for"
        return
    assert code, said
    reported = [line for line in said.splitlines() if "s3://" in line or "DATA" in line]
    assert reported, said
    assert "Traceback" not in said
    assert "bug" not in said
