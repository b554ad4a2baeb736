"""`kafkafs groups --history`: all that the disks still know of one group, a line a record."""

import os
import sys
from collections.abc import Iterator

from kafkafs.cli.tables import aligned
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.group_history import COMMIT, EXPIRE
from kafkafs.cluster.row_lines import Json, Row, line
from kafkafs.errors import NotFound, printable
from kafkafs.format.times import utc_text

_HEAD = (
    "LOG-OFFSET", "TIME", "EVENT", "TOPIC", "PARTITION", "OFFSET", "CHANGE", "END-THEN", "LAG-THEN", "TRANSACTION",
    "STATE", "GENERATION", "MEMBERS",
)  # fmt: skip
_FIELDS = (
    "logOffset", "timestamp", "event", "topic", "partition", "offset", "change", "logEndThen", "lagThen", "transaction",
    "state", "generation", "members",
)  # fmt: skip
_NUMBERS = frozenset((0, 4, 5, 6, 7, 8, 11, 12))
_UNKNOWN = "-"


def print_history(cluster: Cluster, group: str, topic: str | None, *, is_table: bool) -> None:
    """Print a line for each record about the group, in the order of the log. NotFound without one."""
    history = cluster.groups.history(os.fsencode(group))
    if history is None:
        raise NotFound(f"no record about a group {group!r} is left here; `kafkafs groups` shows the groups there are")
    rows = history.rows()
    if topic is not None:
        rows = _about(topic, rows)
    if is_table:
        for text in aligned([_HEAD, *map(_columns, rows)], _NUMBERS):
            print(text)
        return
    for row in rows:
        sys.stdout.buffer.write(line(row))


def _about(topic: str, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of a topic's offsets. NotFound at the end of none."""
    is_known = False
    for row in rows:
        if row["event"] in (COMMIT, EXPIRE) and row["topic"] == topic:
            is_known = True
            yield row
    if not is_known:
        raise NotFound(f"the group has no record of a topic {topic!r}; without --topic all its records are shown")


def _columns(row: Row) -> tuple[str, ...]:
    return tuple(_text(name, row[name]) for name in _FIELDS)


def _text(name: str, value: Json) -> str:
    if value is None:
        return _UNKNOWN
    if name == "timestamp" and isinstance(value, int):
        return utc_text(value)
    return f"{value:+d}" if name == "change" and isinstance(value, int) else printable(str(value))
