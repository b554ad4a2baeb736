"""Data that real brokers wrote, and the truth about them, for tests to read.

    data = Dataset("4.3.1", "stopped")
    data.path                                       a Kafka data directory; never write there, use `copy_to`
    data.partitions()                               [TopicPartition("binary", 0), ...]
    data.records("binary", 0)                       every Record that Kafka's consumer got, in order
    data.list_offsets("disorder", 0)                {asked ms: Found(offset, timestamp_ms)}
    data.dumps("print")                             {"binary-0/00000000000000000000.log": DumpLogSegments' output}

Data are made at their first use (about a minute, all releases at once) and kept under `cache.root()`; a change of the
generator's source makes them anew. The format of the truth files is told in `truth` and `dumps`.
"""

import base64
import functools
import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.kafka import cache, jars

State = Literal["live", "stopped"]
Isolation = Literal["read_uncommitted", "read_committed"]
STATES: tuple[State, ...] = ("live", "stopped")
GENERATOR = ("broker.py", "dumps.py", "generate.py", "jars.py", "truth.py", "writer.py", "topics/*.py")
REPOSITORY = Path(__file__).parents[2]


class TopicPartition(NamedTuple):
    """A partition by its topic and number."""

    topic: str
    partition: int

    @property
    def directory(self) -> str:
        """Its directory's name in the data directory."""
        return f"{self.topic}-{self.partition}"


class Found(NamedTuple):
    """ListOffsets' answer; both -1 where there is none."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True)
class Record:
    """One record as Kafka's Java consumer would report it: a record of format v0 has timestamp -1 and type None."""

    offset: int
    timestamp_ms: int
    timestamp_type: Literal["CreateTime", "LogAppendTime"] | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Offsets:
    """ListOffsets' special answers; `latest` is the high watermark, `latest_committed` the last stable offset."""

    earliest: int
    latest: int
    latest_committed: int
    max_timestamp: Found | None  # None where the broker does not know that question (before 3.0)


@dataclass(frozen=True)
class Dataset:
    """One release's data directory in one of its two states, and the truth about it."""

    release: str
    state: State

    @property
    def path(self) -> Path:
        """The data directory, kept for all test runs: read it, never write there."""
        return place(self.release) / self.state

    def directory(self, topic: str, partition: int = 0) -> Path:
        """A partition's directory."""
        return self.path / f"{topic}-{partition}"

    def copy_to(self, target: Path, *directories: str) -> Path:
        """A sparse copy to damage, of all or of some partition directories (with the checkpoints beside them)."""
        target.mkdir(parents=True, exist_ok=True)
        chosen = [each for each in self.path.iterdir() if not directories or each.is_file() or each.name in directories]
        subprocess.run(["cp", "-a", "--sparse=always", *chosen, target], check=True)
        return target

    def partitions(self, internal: bool = False) -> list[TopicPartition]:
        """All partitions that truth is told about and that are there; Kafka's own topics too where `internal`."""
        files = (place(self.release) / "truth").iterdir()
        names = [file.name.removesuffix(".json.gz").rpartition("-") for file in files]
        every = sorted(TopicPartition(topic, int(partition)) for topic, _, partition in names)
        return [
            each
            for each in every
            if (internal or not each.topic.startswith("__")) and (self.path / each.directory).is_dir()
        ]

    def records(self, topic: str, partition: int = 0, isolation: Isolation = "read_uncommitted") -> tuple[Record, ...]:
        """All records of a partition that Kafka's consumer got in `isolation`, in order."""
        return _records(self.release, topic, partition, isolation)

    def offsets(self, topic: str, partition: int = 0) -> Offsets:
        """Where a partition begins and ends."""
        reported = _truth(self.release, topic, partition)
        newest = reported["maxTimestamp"]
        return Offsets(
            reported["earliest"], reported["latest"], reported["latestCommitted"], Found(*newest) if newest else None
        )

    def list_offsets(
        self, topic: str, partition: int = 0, isolation: Isolation = "read_uncommitted"
    ) -> dict[int, Found] | None:
        """{asked timestamp: ListOffsets' answer}; None where the broker refuses to tell (format v0)."""
        rows = _truth(self.release, topic, partition)["byTime"][isolation]
        return None if rows is None else {asked: Found(offset, timestamp_ms) for asked, offset, timestamp_ms in rows}

    def dump_modes(self) -> dict[str, list[str]]:
        """{mode: the options that DumpLogSegments was given}."""
        return {mode: reported["options"] for mode, reported in _dumps(self.release, self.state).items()}

    def dumps(self, mode: str) -> dict[str, str]:
        """{path from the data directory: what DumpLogSegments printed of it}, the `Dumping` line included."""
        files: dict[str, str] = _dumps(self.release, self.state)[mode]["files"]
        return files

    def dump_crashes(self, mode: str) -> dict[str, str]:
        """{path: how DumpLogSegments ended on it}, for files that it cannot take."""
        crashes: dict[str, str] = _dumps(self.release, self.state)[mode]["crashes"]
        return crashes

    def dump_reports(self, mode: str) -> list[str]:
        """What DumpLogSegments found and told on standard error, line by line; paths begin at the data directory."""
        reports: list[str] = _dumps(self.release, self.state)[mode]["reports"]
        lines = [line for report in reports for line in report.splitlines()]
        return [line for line in lines if not line.startswith(("SLF4J", "\t"))]

    def __str__(self) -> str:
        return f"{self.release}-{self.state}"


def every() -> list[Dataset]:
    """All releases in both states."""
    return [Dataset(release, state) for release in jars.RELEASES for state in STATES]


def place(release: str) -> Path:
    """The directory of one release's data and truth; makes those of all releases, side by side, if it is not there."""
    wanted = _place(release)
    if not wanted.is_dir():
        ensure_all()
    return wanted


def ensure_all() -> None:
    """Makes what is missing, each release in a process of its own."""
    missing = [release for release in jars.RELEASES if not _place(release).is_dir()]
    if missing:
        cache.about_to_make(f"the data of Kafka {', '.join(missing)}")
    command = [sys.executable, "-m", "tests.kafka.generate"]
    makers = [subprocess.Popen([*command, release], cwd=REPOSITORY) for release in missing]
    endings = [maker.wait() for maker in makers]
    if any(endings):
        raise RuntimeError(f"the data of Kafka {' or '.join(missing)} could not be made, see above")


def ensure(release: str, make: Callable[[str, Path], None]) -> Path:
    """One release's data, made by `make(release, directory)` unless they are there."""
    return cache.once(_place(release), lambda unfinished: make(release, unfinished))


@functools.cache
def _place(release: str) -> Path:
    digest = hashlib.sha256()
    for pattern in GENERATOR:
        for source in sorted(Path(__file__).parent.glob(pattern)):
            digest.update(source.read_bytes())
    return cache.root() / "datasets" / f"{release}-{digest.hexdigest()[:12]}"


@functools.cache
def _truth(release: str, topic: str, partition: int) -> dict[str, Any]:
    return _load(place(release) / "truth" / f"{topic}-{partition}.json.gz")


@functools.cache
def _dumps(release: str, state: State) -> dict[str, Any]:
    return _load(place(release) / f"dumps-{state}.json.gz")


def _load(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return loaded


@functools.cache
def _records(release: str, topic: str, partition: int, isolation: Isolation) -> tuple[Record, ...]:
    reported = _truth(release, topic, partition)
    visible = {row[0] for row in reported["records"]} if isolation == "read_uncommitted" else set(reported["committed"])
    return tuple(_record(*row) for row in reported["records"] if row[0] in visible)


def _record(offset: int, timestamp_ms: int, kind: Any, key: str | None, value: str | None, headers: Any) -> Record:
    pairs = tuple((name, _bytes(content)) for name, content in headers)
    return Record(offset, timestamp_ms, kind, _bytes(key), _bytes(value), pairs)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
