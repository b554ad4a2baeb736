"""`kafkafs groups`: who had read how far, from the data directories alone; a table on a terminal, JSONL in a pipe."""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from kafkafs.cli.endings import EXIT_FAILED, say
from kafkafs.cluster import files, rows
from kafkafs.cluster.cluster import Cluster, FoundGroup
from kafkafs.errors import NotFound, UsageError, printable
from kafkafs.format.names import GROUPS_TOPIC
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids
from kafkafs.log.read_options import ReadOptions

HEAD = ("GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER")
TOTAL = "TOTAL"
_NUMBERS = slice(2, 6)  # the columns that stand to the right
_UNKNOWN = "-"

Item = TypeVar("Item")


class GroupLine(NamedTuple):
    """A partition of one group; `counts` where its lag is one that somebody has yet to read."""

    group: bytes
    columns: tuple[str, ...]
    lag: int | None
    counts: bool = True


def run(arguments: argparse.Namespace) -> int:
    """All groups' offsets, or those of some: 1 where one of them is not there, or where something was left out."""
    directories, names = _read(arguments.words, arguments.group)
    check_one_cluster(directories)
    cluster = Cluster(directories, ReadOptions())
    cluster.look()
    if not cluster.group_partitions:
        raise NotFound("no partition of __consumer_offsets is on these disks: nothing is known of groups")
    wanted = {os.fsencode(name) for name in names}
    found = [each for each in cluster.groups() if not wanted or each.name in wanted]
    for problem in (*cluster_ids(directories)[1], *cluster.problems(), *files.missing(cluster, GROUPS_TOPIC)):
        say(problem)
    left_out = any(True for _ in cluster.group_problems())
    _check_found(names, {each.name for each in found})
    if arguments.form == "table" or (arguments.form is None and sys.stdout.isatty()):
        show(cluster, found, arguments.sort or "lag")
    else:
        _print_lines(cluster, found, arguments.sort or "name")
    return EXIT_FAILED if left_out else 0


def _read(words: Sequence[str], named: Sequence[str]) -> tuple[list[DataDirectory], Sequence[str]]:
    """The data directories, and the groups: those with a flag, or the last of several words, if it is no directory."""
    *first, last = words
    directories = [open_data_directory(Path(word).absolute()) for word in first]
    try:
        return [*directories, open_data_directory(Path(last).absolute())], named
    except UsageError:
        if named or not directories:
            raise
        return directories, [last]


def _check_found(names: Sequence[str], found: set[bytes]) -> None:
    """NotFound for the first group that is not there."""
    for name in names:
        if os.fsencode(name) not in found:
            if os.path.lexists(name) or os.sep in name:
                raise NotFound(f"there is no data directory {name!r}, nor a group of that name")
            raise NotFound(f"there is no group {name!r} here; `kafkafs groups` without a name shows all")


def _print_lines(cluster: Cluster, groups: Sequence[FoundGroup], order: str) -> None:
    """The lines of each group's `offsets.jsonl`, one group after the other as its lines are made."""
    if order == "name":
        for each in groups:
            offsets = files.offsets(cluster, each)
            sys.stdout.buffer.write(offsets.lines(0, len(offsets.values)))
        return
    lines: list[tuple[bytes, int | None, bytes]] = []
    for each in groups:
        offsets = files.offsets(cluster, each)
        for number, commit in enumerate(offsets.values):
            lag = rows.lag(commit, cluster.ends(commit.topic, commit.partition))
            lines.append((each.name, lag, offsets.lines(number, number + 1)))
    for *_, line in by_lag(lines, lambda item: item[:2]):
        sys.stdout.buffer.write(line)


def by_lag(items: Sequence[Item], about: Callable[[Item], tuple[bytes, int | None]]) -> list[Item]:
    """The group that is furthest behind first, of each its partition that is; `about`: the group and the lag of one."""
    totals: Counter[bytes] = Counter()
    for group, lag in map(about, items):
        totals[group] += lag or 0

    def place(item: Item) -> tuple[int, bytes, bool, int]:
        """Unknown lags stand last."""
        group, lag = about(item)
        return -totals[group], group, lag is None, -(lag or 0)

    return sorted(items, key=place)


def show(cluster: Cluster, groups: Sequence[FoundGroup], order: str) -> None:
    """Prints the table and, below it, how much is left to read in all."""
    lines = [line for each in groups for line in _lines(cluster, each)]
    if order == "lag":
        lines = by_lag(lines, lambda line: (line.group, line.lag))
    table = [HEAD, *(line.columns for line in lines)]
    counted = [line for line in lines if line.counts]
    if len(counted) > 1:
        unknown = sum(line.lag is None for line in counted)
        note = f"{unknown} unknown" if unknown else ""
        table.append((TOTAL, note, "", "", "", str(sum(line.lag or 0 for line in counted)), ""))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        texts = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        texts[_NUMBERS] = [text.rjust(width) for text, width in zip(row[_NUMBERS], widths[_NUMBERS], strict=True)]
        print("  ".join(texts).rstrip())


def _lines(cluster: Cluster, found: FoundGroup) -> Iterator[GroupLine]:
    """A line for each offset, and for each partition that members have and nobody committed."""
    name = printable(os.fsdecode(found.name)) + (" (stale)" if found.stale else "")
    readers: defaultdict[tuple[str | None, int], list[str]] = defaultdict(list)  # a share group's members may share one
    for member in found.group.members or ():
        for assigned in member.assignment or ():
            for number in assigned.partitions:
                readers[assigned.topic, number].append(printable(member.member_id))
    is_empty = True
    for commit in cluster.commits(found):
        is_empty = False
        place = commit.topic, commit.partition
        ends, is_pending = cluster.ends(*place), commit.producer_id is not None
        lag = rows.lag(commit, ends)
        offset = f"{commit.offset} (pending)" if is_pending else str(commit.offset)
        members = ",".join(readers.pop(place, [_UNKNOWN]))
        columns = name, commit.topic, str(commit.partition), offset, _number(ends.high_watermark), _number(lag), members
        yield GroupLine(found.name, columns, lag, not (found.stale or is_pending))
    for (topic, number), member_ids in sorted(readers.items(), key=lambda each: (each[0][0] or "", each[0][1])):
        is_empty = False
        end = None if topic is None else cluster.ends(topic, number).high_watermark
        columns = name, topic or _UNKNOWN, str(number), _UNKNOWN, _number(end), _UNKNOWN, ",".join(member_ids)
        yield GroupLine(found.name, columns, None, not found.stale)
    if is_empty:
        yield GroupLine(found.name, (name, *[_UNKNOWN] * (len(HEAD) - 1)), None, False)


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)
