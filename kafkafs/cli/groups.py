"""`kafkafs groups`: who had read how far, from the data directories alone; a table on a terminal, JSONL in a pipe."""

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from kafkafs.cli.exit_codes import EXIT_FAILED, say
from kafkafs.cli.group_history import print_history
from kafkafs.cli.tables import aligned
from kafkafs.cluster import files, rows
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.groups import FoundGroup
from kafkafs.cluster.progress import CommitProgress
from kafkafs.disk.data_paths import data_path
from kafkafs.errors import NotFound, UsageError, did_you_mean, printable
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids
from kafkafs.log.read_options import ReadOptions

HEAD = ("GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "BEHIND", "MEMBER")
TOTAL = "TOTAL"
_NUMBERS = range(2, 7)  # the columns that stand to the right
_UNKNOWN = "-"
_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
_AT_ONCE = 20_000
"""Offsets that are looked up together."""

Item = TypeVar("Item")


class GroupLine(NamedTuple):
    """A partition of one group; `counts` where its lag is one that somebody has yet to read."""

    group: bytes
    columns: tuple[str, ...]
    lag: int | None
    lag_ms: int | None = None
    counts: bool = True


class Offsets(NamedTuple):
    """The offsets of a group, each with where it is in its partition."""

    found: FoundGroup
    commits: Sequence[Commit]
    progress: Sequence[CommitProgress]


def run(arguments: argparse.Namespace) -> int:
    """All groups' offsets, or those of some: 1 where one of them is not there, or where something was left out."""
    directories, names = _read(arguments.words, arguments.group)
    if arguments.history and (len(names) != 1 or arguments.sort):
        raise UsageError(
            "--history shows one group in the order of the log: name it with --group, and leave out --sort"
        )
    check_one_cluster(directories)
    cluster = Cluster(directories, ReadOptions())
    cluster.look()
    if not cluster.groups.partitions:
        raise NotFound("no partition of __consumer_offsets is on these disks: nothing is known of groups")
    is_table = arguments.form == "table" or (arguments.form is None and sys.stdout.isatty())
    wanted = {os.fsencode(name) for name in names}
    found = [each for each in cluster.groups.all() if not wanted or each.name in wanted]
    for problem in (*cluster_ids(directories)[1], *cluster.problems(), *cluster.groups.missing()):
        say(problem)
    left_out = any(True for _ in cluster.groups.problems())
    if arguments.history:
        print_history(cluster, names[0], arguments.topic, is_table=is_table)
        return EXIT_FAILED if left_out else 0
    _check_found(names, {each.name for each in found}, cluster)
    offsets = _offsets(cluster, found, arguments.topic)
    if arguments.topic is not None:
        there = {name.topic for each in directories for name in each.names().values() if not name.mark}
        offsets = _about(arguments.topic, offsets, there)
    if is_table:
        show(cluster, offsets, arguments.sort or "lag", arguments.topic)
    else:
        _print_lines(offsets, arguments.sort or "name")
    for sentence in cluster.progress.unreadable.values():
        say(sentence)
    return EXIT_FAILED if left_out or cluster.progress.unreadable else 0


def _offsets(cluster: Cluster, groups: Iterable[FoundGroup], topic: str | None) -> Iterator[Offsets]:
    """The offsets of each group, those of many groups looked up at once; of one topic, where one is named."""
    waiting: list[tuple[FoundGroup, list[Commit]]] = []
    size = 0
    for found in groups:
        commits = cluster.groups.commits(found)
        waiting.append((found, [each for each in commits if topic is None or each.topic == topic]))
        size += len(waiting[-1][1])
        if size >= _AT_ONCE:
            yield from _looked_up(cluster, waiting)
            waiting, size = [], 0
    yield from _looked_up(cluster, waiting)


def _about(topic: str, groups: Iterable[Offsets], there: Iterable[str]) -> Iterator[Offsets]:
    """The groups that have something to do with a topic. NotFound at the end of none; `there`: the topics on disk."""
    is_known = False
    for each in groups:
        assigned = (one.topic for member in each.found.group.members or () for one in member.assignment or ())
        if each.commits or topic in assigned:
            is_known = True
            yield each
    if not is_known:
        near = did_you_mean(topic, there)
        raise NotFound(
            f"no group here has an offset of a topic {topic!r}"
            + (near or "; `kafkafs groups` without --topic shows all")
        )


def _looked_up(cluster: Cluster, groups: Sequence[tuple[FoundGroup, Sequence[Commit]]]) -> Iterator[Offsets]:
    progress = iter(cluster.progress.of([each for _, commits in groups for each in commits]))
    for found, commits in groups:
        yield Offsets(found, commits, list(islice(progress, len(commits))))


def _read(words: Sequence[str], named: Sequence[str]) -> tuple[list[DataDirectory], Sequence[str]]:
    """The data directories, and the groups: those with a flag, or the last of several words, if it is no directory."""
    *first, last = words
    is_a_name = bool(first) and os.sep not in first[0] and not os.path.lexists(first[0])
    if is_a_name and os.path.isdir(last):
        raise UsageError(f"{first[0]!r} is no directory; a group's name comes last, behind the data directories")
    directories = [open_data_directory(data_path(word)) for word in first]
    try:
        return [*directories, open_data_directory(data_path(last))], named
    except UsageError:
        if named or not directories:
            raise
        return directories, [last]


def _check_found(names: Sequence[str], found: set[bytes], cluster: Cluster) -> None:
    """NotFound for the first group that is not there."""
    for name in names:
        if os.fsencode(name) not in found:
            if os.path.lexists(name) or os.sep in name:
                raise NotFound(f"there is no data directory {name!r}, nor a group of that name")
            near = did_you_mean(name, (os.fsdecode(each.name) for each in cluster.groups.all()))
            raise NotFound(f"there is no group {name!r} here" + (near or "; `kafkafs groups` without a name shows all"))


def _print_lines(groups: Iterable[Offsets], order: str) -> None:
    """The lines of each group's `offsets.jsonl`, one group after the other as its lines are made."""
    made = ((each, files.offset_lines(each.found.name, each.commits, each.progress)) for each in groups)
    if order == "name":
        for _, offsets in made:
            sys.stdout.buffer.writelines(offsets)
        return
    lines = [
        (each.found.name, rows.lag(commit, there.ends), there.lag_ms, line)
        for each, offsets in made
        for commit, there, line in zip(each.commits, each.progress, offsets, strict=True)
    ]
    ordered = (
        by_lag(lines, lambda item: item[:2]) if order == "lag" else sorted(lines, key=lambda item: behind(item[2]))
    )
    for *_, line in ordered:
        sys.stdout.buffer.write(line)


def behind(lag_ms: int | None) -> tuple[bool, int]:
    """The place of a lag in time: the largest first, unknown ones last."""
    return lag_ms is None, -(lag_ms or 0)


def time_span(lag_ms: int | None) -> str:
    """A lag in its two largest units, rounded down: `2h13m`, `5m2s`, `0s`; `-` for an unknown one."""
    if lag_ms is None:
        return _UNKNOWN
    seconds, parts = lag_ms // 1000, list[str]()
    for unit, size in _UNITS:
        if seconds >= size or parts or size == 1:
            parts.append(f"{seconds // size}{unit}")
            seconds %= size
    return "".join(parts[:2])


def by_lag(items: Sequence[Item], about: Callable[[Item], tuple[bytes, int | None]]) -> list[Item]:
    """The group that is furthest behind first, of each its partition that is; `about`: the group and the lag of one."""
    totals: Counter[bytes] = Counter()
    for group, lag in map(about, items):
        totals[group] += lag or 0

    def place(item: Item) -> tuple[int, bytes, bool, int]:
        """Unknown lags are last."""
        group, lag = about(item)
        return -totals[group], group, lag is None, -(lag or 0)

    return sorted(items, key=place)


def show(cluster: Cluster, groups: Iterable[Offsets], order: str, topic: str | None) -> None:
    """Prints the table and, below it, how much is left to read in all."""
    lines = [line for each in groups for line in _lines(cluster, each, topic)]
    if order == "lag":
        lines = by_lag(lines, lambda line: (line.group, line.lag))
    elif order == "behind":
        lines.sort(key=lambda line: behind(line.lag_ms))
    table = [HEAD, *(line.columns for line in lines)]
    counted = [line for line in lines if line.counts]
    if len(counted) > 1:
        unknown = sum(line.lag is None for line in counted)
        note = f"{unknown} unknown" if unknown else ""
        table.append((TOTAL, note, "", "", "", str(sum(line.lag or 0 for line in counted)), "", ""))
    for text in aligned(table, _NUMBERS):
        print(text)


def _lines(cluster: Cluster, group: Offsets, topic: str | None) -> Iterator[GroupLine]:
    """A line for each offset, and for each partition that members have and nobody committed."""
    found = group.found
    name = printable(os.fsdecode(found.name)) + (" (stale)" if found.stale else "")
    readers: defaultdict[tuple[str | None, int], list[str]] = defaultdict(list)  # a share group's members may share one
    for member in found.group.members or ():
        for assigned in member.assignment or ():
            for number in assigned.partitions if topic in (None, assigned.topic) else ():
                readers[assigned.topic, number].append(printable(member.member_id))
    is_empty = topic is None
    for commit, (ends, _, lag_ms) in zip(group.commits, group.progress, strict=True):
        is_empty = False
        is_pending = commit.producer_id is not None
        lag = rows.lag(commit, ends)
        offset = f"{commit.offset} (pending)" if is_pending else str(commit.offset)
        members = ",".join(readers.pop((commit.topic, commit.partition), [_UNKNOWN]))
        end, behind_by = _number(ends.high_watermark), time_span(lag_ms)
        columns = name, commit.topic, str(commit.partition), offset, end, _number(lag), behind_by, members
        yield GroupLine(found.name, columns, lag, lag_ms, not (found.stale or is_pending))
    for (read, number), member_ids in sorted(readers.items(), key=lambda each: (each[0][0] or "", each[0][1])):
        is_empty = False
        end = _number(None if read is None else cluster.progress.ends(read, number).high_watermark)
        columns = name, read or _UNKNOWN, str(number), _UNKNOWN, end, _UNKNOWN, _UNKNOWN, ",".join(member_ids)
        yield GroupLine(found.name, columns, None, None, not found.stale)
    if is_empty:
        yield GroupLine(found.name, (name, *[_UNKNOWN] * (len(HEAD) - 1)), None, None, False)


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)
