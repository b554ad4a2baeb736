"""Why a name leads nowhere, and what was probably meant: for the log, and for those who read without a mount.

A mount can only answer "No such file or directory"; a person who has mistyped a suffix wants to know that it is that.
"""

import logging
from collections.abc import Callable
from difflib import get_close_matches

from kafkafs.disk.whereabouts import partitions_of
from kafkafs.errors import KafkafsError, NotFound
from kafkafs.view.grammar import LONGEST_FIRST, Suffix, is_of_open_ranges_only, is_of_points_only
from kafkafs.view.node import DirectoryNode

OFFSETS = "an offset, earliest, latest or -N, or a range of them as FROM..TO or FROM.., and a suffix"
TIMES = (
    "milliseconds, @seconds, an ISO 8601 date, now, -15m or before-TIME, or a range of them as FROM..TO,"
    " FROM..+10m or FROM.., and a suffix"
)
Parse = Callable[[str], object | None]
"""Reads a name: None for one that is no query."""

_SUFFIXES = [suffix.value for suffix in Suffix if suffix.value]
_MOST_NAMES = 10_000
_ALIKE = 0.6

logger = logging.getLogger(__name__)


def refused(where: str, name: str, parse: Parse, syntax: str) -> NotFound:
    """The error for a name that is no query, logged. `parse` reads names there, and `syntax` says what they are."""
    error = NotFound(f"{name!r} is not a query: {_fault(name, parse, syntax)}")
    logger.info("%s: %s", where, error)
    return error


def _fault(name: str, parse: Parse, syntax: str) -> str:
    for text, suffix in LONGEST_FIRST:
        stem = name.removesuffix(text)
        if stem != name and parse(stem) is not None:
            return _misplaced(suffix, stem, parse)
    for at in range(len(name) - 1, 0, -1):
        if name[at] == "." and parse(name[:at]) is not None:
            near = get_close_matches(name[at:], _SUFFIXES, 1, _ALIKE)
            return f"there is no suffix {name[at:]!r}; " + (
                f"did you mean {name[:at] + near[0]!r}?" if near else f"there are {', '.join(_SUFFIXES)}"
            )
    return f"a name here is {syntax}"


def _misplaced(suffix: Suffix, stem: str, parse: Parse) -> str:
    if is_of_open_ranges_only(suffix):
        open_range = f": {stem}..{suffix.value}" if parse(f"{stem}..{suffix.value}") else ""
        return f"{suffix.value} is of open ranges only{open_range}"
    if is_of_points_only(suffix):
        return f"{suffix.value} is of points only, not of ranges"
    return f"a name has one suffix, and this one has {suffix.value} after another"


def meant(directory: DirectoryNode, name: str) -> str:
    """Return the listed name that was probably meant, as the end of a sentence. Return "" if no name is like it."""
    try:
        entries = directory.entries()
    except KafkafsError:
        return ""
    names = [entry.name for entry in entries[:_MOST_NAMES]]
    near = partitions_of(name, names) or ", ".join(map(repr, get_close_matches(name, names, 1, _ALIKE)))
    return f"; did you mean {near}?" if near else ""
