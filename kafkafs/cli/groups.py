"""`kafkafs groups`: who had read how far, from the data directories alone; a table on a terminal, JSONL in a pipe."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkafs.cli.endings import EXIT_FAILED, say
from kafkafs.cli.groups_table import by_lag, show
from kafkafs.cluster import files, rows
from kafkafs.cluster.cluster import Cluster, FoundGroup
from kafkafs.cluster.coordinators import GROUPS_TOPIC
from kafkafs.errors import NotFound, UsageError
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids
from kafkafs.log.options import ReadOptions


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
