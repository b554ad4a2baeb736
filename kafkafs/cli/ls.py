"""`kafkafs ls DATA_DIR [PATH...]`: what a mount would list, without a mount, with those flags of ls(1) that count.

Columns of `-l`, sizes, times and order are as ls(1) of GNU coreutils has them.
"""

import argparse
import grp
import locale
import os
import pwd
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, cast

from kafkafs.cli import unmounted
from kafkafs.cli.tables import human
from kafkafs.cli.unmounted import mode_text
from kafkafs.errors import UsageError
from kafkafs.view.node import LINKS, Attributes, DirectoryNode, LinkNode, Node
from kafkafs.view.paths import resolve

_HALF_A_YEAR_S = 31556952 // 2  # within which a time counts as recent
STYLES = {  # (of what is not recent, of what is recent), for strftime(3)
    "locale": ("%b %e  %Y", "%b %e %H:%M"),
    "long-iso": ("%Y-%m-%d %H:%M",) * 2,
    "full-iso": ("%Y-%m-%d %H:%M:%S.%N %z",) * 2,
    "iso": ("%Y-%m-%d ", "%m-%d %H:%M"),
}
TIME_STYLES = (*STYLES, "+FORMAT")


class Line(NamedTuple):
    """One name of a listing, with its node and attributes if the name was looked up."""

    name: str
    node: Node | None
    attributes: Attributes | None


@dataclass(frozen=True, slots=True)
class ListingStyle:
    """The wanted form of a listing: a line each or all that there is to know, in which order, and how times and sizes
    look."""

    long: bool = False
    single: bool = False
    human: bool = False
    order: str = "name"  # or "time", "size"
    reverse: bool = False
    times: tuple[str, str] = STYLES["locale"]

    @property
    def needs_attributes(self) -> bool:
        """True if each name has to be looked up, to show or to order it."""
        return self.long or self.order != "name"


def run(arguments: argparse.Namespace) -> int:
    """Files first, then directories, each under its name where there are several: as of ls(1) 2 if a path failed, 1 if
    something below one did."""
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "")
    look = _look(arguments)
    tree, failures = unmounted.open_tree(arguments), unmounted.Failures("ls")
    files: list[Line] = []
    directories: list[Line] = []
    paths = unmounted.expanded(tree, arguments.paths or [""])
    for path in paths:
        with failures.at(path):
            node = resolve(tree, path, follow=not arguments.long)
            is_listed = hasattr(node, "entries") and not arguments.directory
            (directories if is_listed else files).append(Line(path, node, node.attributes()))
    show(ordered(files, look), look)
    listing = _Listing(look, arguments.all, arguments.recursive and not arguments.directory, bool(files))
    for line in ordered(directories, look):
        listing.show(line.name or ".", cast(DirectoryNode, line.node), failures, headed=len(paths) > 1)
    return 2 if failures.code else listing.below.code


def _look(arguments: argparse.Namespace) -> ListingStyle:
    formats = time_style(arguments.time_style)
    if formats is None:
        raise UsageError(f"--time-style {arguments.time_style!r} is unknown: write one of {', '.join(TIME_STYLES)}")
    return ListingStyle(
        arguments.long, arguments.single, arguments.human, arguments.order or "name", arguments.reverse, formats
    )


class _Listing:
    """One directory after the other, with those below them where all are wanted."""

    def __init__(self, look: ListingStyle, all_names: bool, recursive: bool, begun: bool) -> None:
        self._look, self._all, self._recursive = look, all_names, recursive
        self._begun = begun  # true if lines were printed: a blank line separates the next directory
        self.below = unmounted.Failures("ls")  # names that were listed but could not be read

    def show(self, path: str, directory: DirectoryNode, failures: unmounted.Failures, *, headed: bool = True) -> None:
        """Print a directory, then with `-R` those in it. `failures`: where it counts if it cannot be listed."""
        if headed or self._recursive:
            print(("\n" if self._begun else "") + f"{printable_name(path)}:")
        self._begun = True
        with failures.at(path):
            for line in self._list(directory):
                deeper = f"{path.rstrip('/')}/{line.name}"
                with self.below.at(deeper):
                    self.show(deeper, cast(DirectoryNode, line.node or directory.child(line.name)), self.below)

    def _list(self, directory: DirectoryNode) -> list[Line]:
        """Prints what is in it; answers the directories that are to follow."""
        kinds = {entry.name: entry.kind for entry in directory.entries()}
        lines = [Line(name, None, None) for name in kinds if self._all or not name.startswith(".")]
        if self._all:
            lines += [Line(dots, directory, None) for dots in (".", "..")]
        if self._look.needs_attributes:
            lines = self._looked_up(directory, lines)
        lines = ordered(lines, self._look)
        if self._look.long:
            print(total(lines, self._look))
        show(lines, self._look)
        return [line for line in lines if self._recursive and kinds.get(line.name) == "directory"]

    def _looked_up(self, directory: DirectoryNode, lines: Sequence[Line]) -> list[Line]:
        """The lines with the nodes behind their names, without those that are gone or cannot be looked at."""
        found = list[Line]()
        for line in lines:
            with self.below.at(line.name):
                node = line.node or directory.child(line.name)
                found.append(Line(line.name, node, node.attributes()))
        return found


def time_style(word: str) -> tuple[str, str] | None:
    """The formats behind a word of `--time-style`; None for what is none. `+FORMAT` may have one in a second line."""
    if word.startswith("+"):
        old, _, recent = word[1:].partition("\n")
        return old, recent or old
    return STYLES.get(word)


def ordered(lines: Sequence[Line], look: ListingStyle) -> list[Line]:
    """The lines as they are to be shown: the newest or the largest first, names where those are equal."""
    keys: dict[str, Callable[[Attributes], int]] = {"time": lambda it: -it.mtime_ns, "size": lambda it: -it.size}
    key = keys.get(look.order)
    found = sorted(lines, key=lambda line: _collated(line.name))
    if key is not None:
        found.sort(key=lambda line: key(cast(Attributes, line.attributes)))
    return found[::-1] if look.reverse else found


def show(lines: Sequence[Line], look: ListingStyle) -> None:
    """Prints the lines; names alone in columns on a terminal, one a line elsewhere."""
    if look.long:
        _show_long(lines, look)
        return
    names = [printable_name(line.name) for line in lines]
    if sys.stdout.isatty() and not look.single:
        _show_columns(names)
    else:
        print(*names, sep="\n", end="\n" if names else "")


def _show_columns(names: list[str]) -> None:
    """Down and then across, as many columns as fit."""
    width = shutil.get_terminal_size().columns
    widest = max((len(name) for name in names), default=0) + 2
    columns = max(1, min(len(names), width // widest))
    rows = -(-len(names) // columns)
    for row in range(rows):
        print("".join(f"{name:{widest}}" for name in names[row::rows]).rstrip())


def total(lines: Sequence[Line], look: ListingStyle) -> str:
    """The first line of `-l` for a directory: its files' blocks on the disk, in KiB or with a unit."""
    size = 512 * sum(line.attributes.blocks for line in lines if line.attributes)
    return f"total {human(size) if look.human else size // 1024}"


def _show_long(lines: Sequence[Line], look: ListingStyle) -> None:
    rows = [_columns(line, look) for line in lines if line.attributes is not None]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    for mode, links, owner, group, size, when, name in rows:
        left = f"{mode} {links:>{widths[1]}} {owner:{widths[2]}} {group:{widths[3]}} {size:>{widths[4]}}"
        print(f"{left} {when} {name}")


def _columns(line: Line, look: ListingStyle) -> tuple[str, str, str, str, str, str, str]:
    about = cast(Attributes, line.attributes)
    name = printable_name(line.name)
    if about.kind == "symlink":
        name += f" -> {printable_name(cast(LinkNode, line.node).target())}"
    owner, group = owner_names(about.uid, about.gid)
    size = human(about.size) if look.human else str(about.size)
    return mode_text(about), str(LINKS[about.kind]), owner, group, size, shown_time(about.mtime_ns, look.times), name


def owner_names(uid: int, gid: int) -> tuple[str, str]:
    """The names of a user and a group, their numbers where they have none."""
    owner, group = str(uid), str(gid)
    with suppress(KeyError):
        owner = pwd.getpwuid(uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(gid).gr_name
    return owner, group


def shown_time(mtime_ns: int, formats: tuple[str, str]) -> str:
    """A time by the formats of a style."""
    seconds, fraction = divmod(mtime_ns, 10**9)
    is_recent = 0 <= time.time() - seconds < _HALF_A_YEAR_S
    text = re.sub("%([%N])", lambda found: "%%" if found[1] == "%" else f"{fraction:09}", formats[is_recent])
    return time.strftime(text, time.localtime(seconds))


def _collated(name: str) -> str:
    try:
        return locale.strxfrm(name)
    except (OSError, ValueError):  # bytes that are no text in this locale
        return name


def printable_name(name: str) -> str:
    """The name itself for a pipe; for a terminal, with `?` for what it would obey, as ls(1) has it."""
    if not sys.stdout.isatty():
        return os.fsencode(name).decode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")
    return "".join(c if c.isprintable() else "?" for c in name)
