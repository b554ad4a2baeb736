"""The content of a partition directory at one moment, by name and inode. No file is opened. Source of the rules:
LogLoader.

A segment is a regular file called `<offset>.log`. While compaction swaps files there is an instant at which a range of
offsets has only a complete `.log.swap`; that one then stands in, up to the next plain segment. If the log has its name
and an index is still called `.swap`, the two belong together.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from kafkafs.disk.data_file import is_settled
from kafkafs.disk.directory import Directory
from kafkafs.errors import Denied, NotFound, Vanished
from kafkafs.format.names import (
    LEADER_EPOCHS,
    OFFSET_DIGITS,
    PARTITION_METADATA,
    SEGMENT_KINDS,
    parse_offset,
    parse_segment_file,
    parse_transitional_file,
    segment_file,
)
from kafkafs.log.retries import ask_again

INDEX_KINDS = ("index", "timeindex", "txnindex")
_BESIDE = (LEADER_EPOCHS, PARTITION_METADATA)


class ListedFile(NamedTuple):
    """A regular file of the partition: its name, its inode and, of a log, its size and when it was last written.

    Two looks that find these alike have found the same file: inodes alone are used again soon after a deletion.
    """

    name: str
    inode: int
    size: int = 0
    mtime_ns: int = 0
    rebuilt: bool = False  # an index that is in the directory of rebuilt ones, not beside its log


@dataclass(frozen=True, slots=True)
class Listing:
    """One look at the directory. `segments` maps a base offset to its files by kind ("log", "index", ...)."""

    stamp: tuple[int, int]
    settled: bool
    segments: dict[int, dict[str, ListedFile]]
    producer_snapshots: dict[int, str]  # names by offset
    names: tuple[str, ...]  # all regular files, sorted
    logless: tuple[int, ...] = ()  # offsets of indexes whose log is missing
    problems: tuple[str, ...] = field(default=())
    compacting: bool = False  # the cleaner is at it, or was a moment ago

    def all_problems(self, is_in_tier: Callable[[int], bool]) -> list[str]:
        """Return the problems that the names alone tell: entries that are not regular files, and indexes whose log is
        missing. `is_in_tier` tells if a tier answers for an offset."""
        problems = [*self.problems]
        for offset in self.logless:
            missing = f"{segment_file(offset, 'log')} is missing though its index is there"
            problems.append(missing if is_in_tier(offset) else f"{missing}: a gap in the offsets")
        return problems


NOTHING = Listing((0, 0), True, {}, {}, ())
"""The listing of a partition that has no directory."""


def list_partition(root: Directory, partition: str, indexes: Directory | None = None) -> Listing:
    """The segments in `partition` now, sorted by base offset; a change during the look starts it again.

    If `indexes` has an index for a segment, that index counts, and not the broker's own.
    """
    found: list[Listing] = []

    def look() -> Listing:
        """One look. Raise Vanished if the directory changed meanwhile."""
        found.clear()
        about = root.stat(partition)
        found.append(_look(root, partition, (about.st_ino, about.st_mtime_ns)))
        after = root.stat(partition)
        if (after.st_ino, after.st_mtime_ns) != found[0].stamp:
            raise Vanished(f"{partition} changes again and again while it is listed; try again")
        return found[0]

    try:
        listing = ask_again(look, found.clear)
    except Vanished:
        if not found:
            raise
        listing = found[0]  # this directory never rests
    if indexes is not None:
        _prefer_rebuilt(listing, indexes, partition)
    return listing


def _prefer_rebuilt(listing: Listing, indexes: Directory, partition: str) -> None:
    try:
        with indexes.scan(partition) as entries:
            found = [(entry.name, entry.inode()) for entry in entries if entry.is_file(follow_symlinks=False)]
    except (NotFound, Denied):
        return
    for name, inode in found:
        parsed = parse_segment_file(name)
        if parsed and parsed.kind in INDEX_KINDS and parsed.offset in listing.segments:
            listing.segments[parsed.offset][parsed.kind] = ListedFile(name, inode, rebuilt=True)


def _look(root: Directory, partition: str, stamp: tuple[int, int]) -> Listing:
    """List the directory once. There can be 100,000 names, so as little as possible is asked about each.

    They come in the order of hashes, and are taken in their own: what is kept of one segment then is together in
    memory, and of neighbours side by side, which saves whoever asks all of 20,000 segments a tenth of the time.
    """
    grouped: defaultdict[str, dict[str, ListedFile]] = defaultdict(dict)  # by digits: each offset is parsed once
    producer_snapshots: list[str] = []
    others: list[os.DirEntry[str]] = []
    names: list[str] = []
    problems: list[str] = []
    with root.scan(partition) as entries:
        for entry in sorted(entries, key=attrgetter("name")):
            name = entry.name
            if not entry.is_file(follow_symlinks=False):
                problems += _not_served(entry)
                continue
            names.append(name)
            kind = SEGMENT_KINDS.get(name[OFFSET_DIGITS:])
            if kind is None:
                others.append(entry)
            elif kind == "snapshot":
                producer_snapshots.append(name)
            else:
                grouped[name[:OFFSET_DIGITS]][kind] = _listed(entry, kind)
        swaps, cleaned, deleted = _transitional(others)
    found = {base: kinds for digits, kinds in grouped.items() if (base := parse_offset(digits)) is not None}
    for base, kinds in swaps.items():
        if not any(other <= base for other in cleaned):
            found[base] = _with_swaps(found.get(base, {}), kinds)
    segments = {base: found[base] for base in sorted(found) if "log" in found[base]}
    logless = tuple(sorted(found.keys() - segments.keys() - deleted))  # a broker deletes the log first
    by_offset = {
        offset: name for name in producer_snapshots if (offset := parse_offset(name[:OFFSET_DIGITS])) is not None
    }
    compacting = bool(swaps or cleaned) or max(deleted, default=-1) >= min(segments, default=0)
    return Listing(
        stamp, is_settled(stamp[1]), segments, by_offset, tuple(names), logless, tuple(sorted(problems)), compacting
    )


def _with_swaps(plain: dict[str, ListedFile], swaps: dict[str, ListedFile]) -> dict[str, ListedFile]:
    """A segment's files while its swap files get their names, the log first: by then the old ones have lost theirs."""
    if ("log" in plain) == ("log" in swaps):
        return plain
    return swaps if "log" in swaps else {**swaps, **plain}


def _not_served(entry: "os.DirEntry[str]") -> Iterator[str]:
    """Return the sentence about an entry that is not a regular file. A directory of another program gets none."""
    if parse_segment_file(entry.name) or entry.name in _BESIDE:
        kind = "link" if entry.is_symlink() else "directory" if entry.is_dir() else "special file"
        yield f"{entry.name} is a {kind} and not served: only regular files are"
    elif not entry.is_dir(follow_symlinks=False):
        yield f"{entry.name!r} is not a regular file and not served"


def _listed(entry: "os.DirEntry[str]", kind: str) -> ListedFile:
    if kind != "log":
        return ListedFile(entry.name, entry.inode())
    try:
        about = entry.stat(follow_symlinks=False)
    except FileNotFoundError as error:  # as such `scan` would take it for the directory's
        raise Vanished(f"{entry.name!r} disappeared while its directory was listed; read again") from error
    return ListedFile(entry.name, about.st_ino, about.st_size, about.st_mtime_ns)


def _transitional(entries: Iterable["os.DirEntry[str]"]) -> tuple[dict[int, dict[str, ListedFile]], set[int], set[int]]:
    """Files that wait to be swapped in, by offset and kind; the offsets of unfinished ones, and of logs that go."""
    swaps: defaultdict[int, dict[str, ListedFile]] = defaultdict(dict)
    cleaned, deleted = set[int](), set[int]()
    for entry in entries:
        if transitional := parse_transitional_file(entry.name):
            parsed, state = transitional
            if state == "swap":
                swaps[parsed.offset][parsed.kind] = _listed(entry, parsed.kind)
            elif state == "cleaned":
                cleaned.add(parsed.offset)
            elif parsed.kind == "log":
                deleted.add(parsed.offset)
    return swaps, cleaned, deleted
