"""The common part of `audit`, `reindex`, `export` and `profile`: what they read and write, where they run, how far they
are."""

import argparse
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from kafkafs.cli.status_line import StatusLine
from kafkafs.disk.data_paths import local_place
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import UsageError
from kafkafs.fuse.life.mountpoint import FILESYSTEM, mounted_at
from kafkafs.log.read_options import TierSource
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.spark.jobs import Engine, Step
from kafkafs.spark.session import session
from kafkafs.tables.choice import named_paths
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.locations import data_directories, with_their_tier


class SparkProgress:
    """One command's progress on standard error, from its first moment to the end of its block."""

    def __init__(self, name: str, first: str = "starting Spark") -> None:
        """`first` says what it does at first."""
        self.name, self._first = name, first
        self._line = StatusLine()

    def __enter__(self) -> "SparkProgress":
        self._line.say(f"{self.name}: {self._first}…")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.clear()

    def clear(self) -> None:
        """Takes the line away, until the next step: something is printed."""
        self._line.clear()

    def starting(self) -> None:
        """Shows that Spark is starting."""
        self._line.say(f"{self.name}: starting Spark…")

    def __call__(self, step: Step) -> None:
        """Shows how far a job is."""
        self._line.show(step.name, step.done_bytes, step.size, f"{step.done:,} of {step.units:,} parts")


def progress_of(arguments: argparse.Namespace, name: str) -> SparkProgress:
    """The progress of a command that looks at the disks first, or starts Spark."""
    return SparkProgress(name, "looking" if is_local(arguments) else "starting Spark")


def named_directories(words: Sequence[str]) -> tuple[Path, ...]:
    """The directories that are named, absolute, each once; UsageError for what is no data directory, or
    of another cluster than the first."""
    found = named_paths(words)
    for path in found:
        mount = mounted_at(path)
        if mount is not None and mount.filesystem == FILESYSTEM:
            raise UsageError(f"{str(path)!r} is a mount of kafkafs; name the data directory behind it: {mount.source}")
    data_directories(found)  # for what it refuses
    return found


def chosen_topics(
    arguments: argparse.Namespace, paths: Sequence[Path], source: TierSource | None = None
) -> TopicChoice:
    """The topics that `--topics` and `--topic-pattern` choose; UsageError for those that are not there, nor in the tier
    of that source."""
    topics = TopicChoice.parse(arguments.topics, arguments.topic_pattern)
    there = (
        name.topic
        for directory in with_their_tier(paths, source)
        for name in directory.names().values()
        if not name.mark
    )
    topics.check(there, ", ".join(repr(str(path)) for path in paths))
    return topics


def file_to_write(path: Path, data_directories: Sequence[Path]) -> Path:
    """The file that a job writes at its end, absolute; UsageError before it begins where that will not be possible."""
    place = local_place(path, "this file")
    if any(is_within(place, each) for each in data_directories):
        raise UsageError(f"{str(place)!r} is inside a data directory, where nothing is written")
    try:
        fault = "" if place.parent.is_dir() else f"there is no directory {str(place.parent)!r}"
        if place.is_dir():
            fault = "it is a directory"
        elif not fault and not os.access(place if place.exists() else place.parent, os.W_OK):
            fault = os.strerror(errno.EACCES)
    except OSError as error:  # a directory above it may not be entered, or a name is too long
        fault = str(error.strerror)
    if fault:
        raise UsageError(f"{str(place)!r} cannot be written: {fault}")
    return place


def write_shown(place: Path, text: str, mode: int) -> None:
    """Writes a file that nobody else may read but those whom `mode` lets, if it was there before, too."""
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode)
        with open(descriptor, "w", encoding="utf-8") as file:
            about = os.fstat(descriptor)
            if stat.S_ISREG(about.st_mode):
                os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & mode)
                os.ftruncate(descriptor, 0)
            file.write(text)
    except OSError as error:
        raise UsageError(f"{str(place)!r} cannot be written: {error.strerror}") from error


@contextmanager
def engine(arguments: argparse.Namespace, progress: SparkProgress) -> Iterator[Engine]:
    """The engine that `--engine` names; by default processes of this machine, or Spark if a master is named.

    Both run the same functions, and give the same report.
    """
    if is_local(arguments):
        yield LocalEngine()
    else:
        with session(arguments.master, progress.name, progress.starting) as spark:
            yield spark


def is_local(arguments: argparse.Namespace) -> bool:
    """True if the command runs without Spark. UsageError if the options contradict each other."""
    if arguments.engine == "local" and arguments.master is not None:
        raise UsageError("--master names a Spark, and --engine local takes none: leave one of them out")
    return bool(arguments.engine == "local" or (arguments.engine is None and arguments.master is None))
