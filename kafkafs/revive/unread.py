"""Records on the disks that no topic has: in files that a broker had deleted or replaced, and where none would look."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from kafkafs.errors import UNREADABLE
from kafkafs.format.names import (
    BROKER_DIRECTORIES,
    parse_partition_name,
    parse_segment_file,
    parse_transitional_file,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition

_GONE = ("deleted", "cleaned")
_MOST_NAMED = 10


def unread_files(directories: Iterable[DataDirectory]) -> Iterator[str]:
    """A sentence for each data directory with such files, and for each directory with segments that is no partition."""
    for directory in directories:
        if not directory.is_tier:
            yield from _deleted(directory)
            yield from _foreign(directory)


def _deleted(directory: DataDirectory) -> Iterator[str]:
    sizes = []
    for name in directory.names():
        for file, size in _files(directory, name):
            found = parse_transitional_file(file)
            if found is not None and found[0].kind == "log" and found[1] in _GONE and size:
                sizes.append(size)
    if sizes:
        files = "1 file" if len(sizes) == 1 else f"{len(sizes):,} files"
        yield (
            f"{str(directory.path)!r}: left out are {files} of {sum(sizes):,} bytes, .log.deleted or .log.cleaned:"
            " a broker had deleted or replaced them"
        )


def _foreign(directory: DataDirectory) -> Iterator[str]:
    with directory.root.scan() as entries:
        others = [
            each.name for each in entries
            if each.is_dir(follow_symlinks=False) and parse_partition_name(each.name) is None
        ]  # fmt: skip
    for name in sorted(each for each in others if each not in BROKER_DIRECTORIES):
        logs = [size for file, size in _files(directory, name) if (found := parse_segment_file(file)) is not None
                and found.kind == "log" and size]  # fmt: skip
        if logs:
            segments = "1 segment" if len(logs) == 1 else f"{len(logs):,} segments"
            yield (
                f"{str(directory.path / name)!r} is left out, with {segments} of {sum(logs):,} bytes: no partition's"
                " directory has such a name"
            )


def only_in_checkpoints(directories: Sequence[DataDirectory], wanted: Collection[str] | None) -> Iterator[str]:
    """A sentence for each partition of the `wanted` topics that a checkpoint has and no disk. Without metadata, nothing
    else tells of the last partitions of a topic."""
    there = {(each.topic, each.partition) for directory in directories for each in directory.names_on_disk().values()}
    for directory in directories:
        for topic, number in sorted(directory.checkpoints.read().high_watermarks):
            if (topic, number) not in there and (wanted is None or topic in wanted):
                there.add((topic, number))
                place = repr(str(directory.path))
                yield f"{topic}-{number} is in a checkpoint of {place}, and no disk has it: it was deleted or lost"


def _files(directory: DataDirectory, name: str) -> list[tuple[str, int]]:
    """Name and size of the files in a directory."""
    try:
        with directory.root.scan(name) as entries:
            return [(each.name, each.stat(follow_symlinks=False).st_size) for each in entries]
    except (*UNREADABLE, OSError):
        return []


def below_start(partitions: Sequence[Partition]) -> list[str]:
    """A sentence about partitions that have whole segments below their log start."""
    names = [
        each.name.directory for each in partitions
        if len(each.segments()) > len(each.visible_segments())
    ]  # fmt: skip
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    shown = ", ".join(names[:_MOST_NAMED])
    return [f"segments below the log start of {shown}{more} are left out: their records had been deleted"]
