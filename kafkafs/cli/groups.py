"""`kafkafs groups`: who had read how far, from the data directories alone; a table on a terminal, JSONL in a pipe."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkafs.cli.endings import printable, say
from kafkafs.cluster import files, rows
from kafkafs.cluster.cluster import Cluster, FoundGroup
from kafkafs.cluster.coordinators import GROUPS_TOPIC
from kafkafs.errors import NotFound, UsageError
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import cluster_ids
from kafkafs.log.options import ReadOptions

HEAD = ("GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER")
_NUMBERS = slice(2, 6)  # the columns that stand to the right
_UNKNOWN = "-"


Line = tuple[str, ...]


def run(arguments: argparse.Namespace) -> int:
    """All groups' offsets, or one group's: 1 where there is no such group."""
    directories, group = _read(arguments.words)
    cluster = Cluster(directories, ReadOptions())
    cluster.look()
    if not cluster.group_partitions:
        raise NotFound("no partition of __consumer_offsets is on these disks: nothing is known of groups")
    found = [each for each in cluster.groups() if group is None or each.name == os.fsencode(group)]
    for problem in (*cluster_ids(directories)[1], *cluster.problems(), *files.missing(cluster, GROUPS_TOPIC)):
        say(problem)
    if group is not None and not found:
        if os.path.lexists(group) or os.sep in group:
            raise NotFound(f"there is no data directory {group!r}, nor a group of that name")
        raise NotFound(f"there is no group {group!r} here; `kafkafs groups` without a name shows all")
    if sys.stdout.isatty():
        _print_table([line for each in found for line in _table(cluster, each)])
        return 0
    for each in found:
        offsets = files.offsets(cluster, each)
        sys.stdout.buffer.write(offsets.lines(0, len(offsets.values)))
    return 0


def _read(words: Sequence[str]) -> tuple[list[DataDirectory], str | None]:
    """The data directories, and the group: the last of several words, if it is no data directory."""
    *first, last = words
    directories = [open_data_directory(Path(word).absolute()) for word in first]
    try:
        return [*directories, open_data_directory(Path(last).absolute())], None
    except UsageError:
        if not directories:
            raise
        return directories, last


def _table(cluster: Cluster, found: FoundGroup) -> Iterator[Line]:
    """A line for each offset, and for each partition that a member has and nobody committed."""
    name = printable(os.fsdecode(found.name)) + (" (stale)" if found.stale else "")
    readers = {
        (each.topic, number): member.member_id
        for member in found.group.members or ()
        for each in member.assignment or ()
        for number in each.partitions
    }
    is_empty = True
    for commit in cluster.commits(found):
        is_empty = False
        place = commit.topic, commit.partition
        ends = cluster.ends(*place)
        pending = commit.producer_id is not None
        yield (
            name,
            commit.topic,
            str(commit.partition),
            f"{commit.offset} (pending)" if pending else str(commit.offset),
            _number(ends.high_watermark),
            _number(rows.lag(commit, ends)),
            printable(readers.pop(place, _UNKNOWN)),
        )
    for (topic, number), member_id in sorted(readers.items(), key=str):
        is_empty = False
        end = None if topic is None else cluster.ends(topic, number).high_watermark
        yield name, topic or _UNKNOWN, str(number), _UNKNOWN, _number(end), _UNKNOWN, printable(member_id)
    if is_empty:
        yield (name, *[_UNKNOWN] * (len(HEAD) - 1))


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)


def _print_table(lines: Sequence[Line]) -> None:
    widths = [max(map(len, column)) for column in zip(HEAD, *lines, strict=True)]
    for line in (HEAD, *lines):
        cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        cells[_NUMBERS] = [text.rjust(width) for text, width in zip(line[_NUMBERS], widths[_NUMBERS], strict=True)]
        print("  ".join(cells).rstrip())
