"""What `kafkafs groups` prints for people: a line for each partition that a group reads, and what is left in all."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kafkafs.cli.endings import printable
from kafkafs.cluster import rows
from kafkafs.cluster.cluster import Cluster, FoundGroup

HEAD = ("GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER")
TOTAL = "TOTAL"
_NUMBERS = slice(2, 6)  # the columns that stand to the right
_UNKNOWN = "-"

Item = TypeVar("Item")


class Line(NamedTuple):
    """A partition of one group; `counts` where its lag is one that somebody has yet to read."""

    group: bytes
    cells: tuple[str, ...]
    lag: int | None
    counts: bool = True


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
    table = [HEAD, *(line.cells for line in lines)]
    counted = [line for line in lines if line.counts]
    if len(counted) > 1:
        unknown = sum(line.lag is None for line in counted)
        note = f"{unknown} unknown" if unknown else ""
        table.append((TOTAL, note, "", "", "", str(sum(line.lag or 0 for line in counted)), ""))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        cells[_NUMBERS] = [text.rjust(width) for text, width in zip(row[_NUMBERS], widths[_NUMBERS], strict=True)]
        print("  ".join(cells).rstrip())


def _lines(cluster: Cluster, found: FoundGroup) -> Iterator[Line]:
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
        ends, is_pending = cluster.ends(*place), commit.producer_id is not None
        lag = rows.lag(commit, ends)
        offset = f"{commit.offset} (pending)" if is_pending else str(commit.offset)
        member = printable(readers.pop(place, _UNKNOWN))
        cells = name, commit.topic, str(commit.partition), offset, _number(ends.high_watermark), _number(lag), member
        yield Line(found.name, cells, lag, not (found.stale or is_pending))
    for (topic, number), member_id in sorted(readers.items(), key=str):
        is_empty = False
        end = None if topic is None else cluster.ends(topic, number).high_watermark
        member = printable(member_id)
        cells = name, topic or _UNKNOWN, str(number), _UNKNOWN, _number(end), _UNKNOWN, member
        yield Line(found.name, cells, None, not found.stale)
    if is_empty:
        yield Line(found.name, (name, *[_UNKNOWN] * (len(HEAD) - 1)), None, False)


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)
