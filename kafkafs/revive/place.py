"""The new data directory, the one place that is written.

The first file is `revive.json`, which says that the rest is unfinished. Then each partition follows, whole or not at
all, with a line about it in `revive.progress`. So the same command can go on where another one ended. If the machine
may have restarted since, it is unknown what had reached the disk, and the command begins again. All is on the disk
before the directory is whole.
"""

import fcntl
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from kafkafs.disk.system_calls import sync_file_system
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import UsageError
from kafkafs.format.names import METADATA_LOG, parse_partition_name
from kafkafs.revive.target import DIRECTORY, TMP, Target, errors_named

REPORT = "revive.json"
_PROGRESS = "revive.progress"
_UNFINISHED = "unfinished-partition"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STATE, REQUEST, BOOT = "state", "request", "bootId"
_FILES = "files"
CORRUPT, REFUSE, TOPICS = "corrupt", "refuse", "topics"


def _is_partition(name: str) -> bool:
    return name != METADATA_LOG and parse_partition_name(name) is not None


class NewDirectory(Target):
    """NEW_DIR, ours: made by this command, or by the same one before. `done` has what was said of each partition. No
    second command writes there until it is closed."""

    def __init__(self, path: Path, request: Mapping[str, Any], boot_id: Path = BOOT_ID) -> None:
        """`request` is what makes two commands the same. UsageError if the directory is not ours to write."""
        check_target(path, request)
        with errors_named(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, DIRECTORY & ~os.O_NOFOLLOW)  # a link here is what was asked for
        super().__init__(path, descriptor)
        _lock(self)
        check_target(path, request)  # again: another command may have ended since
        with errors_named(path):
            os.fchmod(descriptor, 0o700)
        self.done: dict[str, dict[str, Any]] = {}
        boot = _boot_id(boot_id)
        if boot and _earlier_report(path).get(BOOT) == boot:
            self._read_progress()
        else:
            self.remove(_PROGRESS)
        self.write(REPORT, as_json({STATE: "unfinished", REQUEST: dict(request), BOOT: boot}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let other commands in."""
        descriptor, self.descriptor = getattr(self, "descriptor", -1), -1
        if descriptor >= 0:
            os.close(descriptor)

    def _read_progress(self) -> None:
        try:
            descriptor = os.open(_PROGRESS, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self.descriptor)
        except FileNotFoundError:
            return
        with open(descriptor, encoding="utf-8") as file:
            for line in file:
                with suppress(ValueError):  # cut when the command ended
                    entry = json.loads(line)
                    if entry.pop(_FILES, None) == self._files(entry["directory"]):
                        self.done[entry["directory"]] = entry

    def _files(self, name: str) -> list[list[Any]]:
        """Name, size and time of each file of a partition: somebody may have made room there since. Empty if it is
        gone."""
        try:
            descriptor = os.open(name, DIRECTORY, dir_fd=self.descriptor)
        except FileNotFoundError:
            return []
        try:
            found = {each: os.stat(each, dir_fd=descriptor, follow_symlinks=False) for each in os.listdir(descriptor)}
        finally:
            os.close(descriptor)
        return [[each, about.st_size, about.st_mtime_ns] for each, about in sorted(found.items())]

    @contextmanager
    def partition(self, name: str) -> Iterator[Target]:
        """A new directory for a partition. It gets its name when it is complete."""
        self.remove_directory(_UNFINISHED)
        self.remove_directory(name)
        with self.below(_UNFINISHED) as target:
            yield target
        self.rename(_UNFINISHED, name)

    def unfinished(self) -> Target:
        """The directory of the partition that is being made, opened again. Its descriptor stays open."""
        with errors_named(self.path, _UNFINISHED):
            descriptor = os.open(_UNFINISHED, DIRECTORY, dir_fd=self.descriptor)
        return Target(self.path / _UNFINISHED, descriptor)

    def keep_only(self, names: Collection[str]) -> list[str]:
        """Takes away the directories of all other partitions, which are no longer to be revived: their names."""
        gone = [each for each in sorted(os.listdir(self.descriptor)) if each not in names and _is_partition(each)]
        for each in gone:
            self.remove_directory(each)
            self.done.pop(each, None)
        return gone

    def note(self, entry: dict[str, Any]) -> None:
        """A partition is whole: what is to be said of it."""
        self.done[entry["directory"]] = entry
        entry = {**entry, _FILES: self._files(entry["directory"])}
        with errors_named(self.path, _PROGRESS):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(_PROGRESS, flags, 0o600, dir_fd=self.descriptor)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def settle(self) -> None:
        """All that was written is on the disk when this returns."""
        with errors_named(self.path):
            sync_file_system(self.descriptor)

    def finish(self, report: Mapping[str, Any]) -> None:
        """All is whole, and on the disk: after `settle`, which waits for whatever else is written there, what came
        last was written through."""
        self.remove_directory(_UNFINISHED)
        self.remove(_PROGRESS)
        self.write(REPORT, as_json({STATE: "finished", **report}), through=True)


def _lock(place: Target) -> None:
    """UsageError if another command writes there."""
    try:
        fcntl.flock(place.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"another kafkafs revive writes in {str(place.path)!r}; wait until it ends, or name another directory"
        ) from None
    except OSError:
        return  # a file system without locks


def check_target(path: Path, request: Mapping[str, Any]) -> None:
    """UsageError if NEW_DIR may not be written. It may be missing or empty. The same command may have left it
    unfinished, or any command that was refused before it had done something."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise UsageError(f"{str(path)!r} is a link to {os.readlink(path)!r}, which does not exist") from None
        return
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be used: {error.strerror}") from error
    if not stat.S_ISDIR(about.st_mode):
        raise UsageError(f"{str(path)!r} is not a directory")
    names = {*os.listdir(path)} - {REPORT + TMP}  # the first moment of this command leaves this file
    if not names:
        return
    report = _earlier_report(path)
    state, before = report.get(STATE), report.get(REQUEST)
    if state is None or before is None:
        raise UsageError(f"{str(path)!r} is not empty; name an empty directory, or a new one")
    if state != "unfinished":
        raise UsageError(f"{str(path)!r} holds a cluster that was revived already; name another directory")
    if names == {REPORT}:
        return
    wanted = json.loads(json.dumps(dict(request)))
    if isinstance(before, dict) and isinstance(before.get(TOPICS), list):
        before = {**before, TOPICS: sorted({*map(str, before[TOPICS])})}  # older releases kept them as they were typed
    if before not in (wanted, {**wanted, CORRUPT: REFUSE}):  # whole under `refuse` is whole under the others
        raise UsageError(f"{str(path)!r} was begun by another command, with other disks or options; name another one")


def _earlier_report(path: Path) -> dict[str, Any]:
    """Return the earlier report. Return nothing if there is none, or if it is another cluster's."""
    try:
        report = json.loads((path / REPORT).read_bytes()[: 64 << 20])
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


def _boot_id(place: Path) -> str:
    """Changes whenever the machine starts; empty if it is unknown."""
    try:
        return place.read_text().strip()
    except OSError:
        return ""


def check_apart(path: Path, sources: Iterable[Path]) -> None:
    """UsageError if NEW_DIR and a directory that is read are in each other, or `log.dirs` could not name it."""
    if "," in str(path) or str(path) != str(path).strip():
        raise UsageError(f"{str(path)!r} cannot be a log.dirs of Kafka: it has a comma, or a blank at an end")
    if os.fsencode(path).decode(errors="replace") != str(path):
        raise UsageError(f"{str(path)!r} cannot be a log.dirs of Kafka: Java names no file by bytes that are no UTF-8")
    for each in sources:
        if is_within(path, each) or is_within(each, path):
            raise UsageError(f"{str(path)!r} and {str(each)!r} are inside each other; name a directory elsewhere")


def as_json(value: Mapping[str, Any]) -> bytes:
    """JSON as people read it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
