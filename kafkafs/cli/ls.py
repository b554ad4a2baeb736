"""`kafkafs ls DATA_DIR [PATH...]`: what a mount would list, without a mount; `-l` looks as ls(1) does."""

import argparse
import grp
import locale
import os
import pwd
import shutil
import sys
import time
from contextlib import suppress
from functools import partial
from typing import NamedTuple, cast

from kafkafs.cli import unmounted
from kafkafs.view.node import Attributes, DirectoryNode, LinkNode, Node
from kafkafs.view.paths import resolve

_HALF_A_YEAR_S = 31556952 // 2  # within which ls(1) shows the time of day rather than the year


class Line(NamedTuple):
    """One name of a listing, with what stands behind it: the node where it was looked up."""

    name: str
    node: Node | None
    attributes: Attributes | None


def run(arguments: argparse.Namespace) -> int:
    """Files first, then directories, each under its name where there are several: 2 if a path failed, as of ls(1)."""
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "")
    tree = unmounted.open_tree(arguments)
    files: list[Line] = []
    directories: list[tuple[str, DirectoryNode]] = []

    def look(path: str) -> None:
        """Notes a directory, which is listed later; makes a line of anything else."""
        node = resolve(tree, path, follow=not arguments.long)
        if hasattr(node, "entries") and not arguments.directory:
            directories.append((path, cast(DirectoryNode, node)))
        else:
            files.append(Line(path, node, node.attributes()))

    paths = unmounted.expanded(tree, arguments.paths or [""])
    failed = unmounted.for_each("ls", paths, look)
    _show(files, arguments.long)
    headed = len(paths) > 1
    for number, (path, directory) in enumerate(directories):
        if headed:
            print(("\n" if files or number else "") + f"{_printable(path)}:")
        failed |= unmounted.for_each("ls", [path or "."], partial(_list, directory, arguments))
    return 2 if failed else 0


def _list(directory: DirectoryNode, arguments: argparse.Namespace, _: str) -> None:
    """The names in it; the path is what `for_each` calls it."""
    names = [entry.name for entry in directory.entries()]
    shown = sorted((n for n in names if arguments.all or not n.startswith(".")), key=_collated)
    lines = [Line(name, None, None) for name in shown]
    if arguments.all:
        lines = [Line(dots, directory, None) for dots in (".", "..")] + lines
    if arguments.long:
        lines = [line for name in lines if (line := _looked_up(directory, name)) is not None]
        print(f"total {sum(line.attributes.blocks for line in lines if line.attributes) // 2}")
    _show(lines, arguments.long)


def _looked_up(directory: DirectoryNode, line: Line) -> Line | None:
    """The line with the node behind its name; None, after a word, where that is gone or cannot be looked at."""
    found: list[Line] = []

    def look(name: str) -> None:
        """Looks one name up: one that is gone since it was listed is an error of its own."""
        node = line.node or directory.child(name)
        found.append(Line(name, node, node.attributes()))

    unmounted.for_each("ls", [line.name], look)
    return found[0] if found else None


def _show(lines: list[Line], long: bool) -> None:
    if long:
        _show_long(lines)
        return
    names = [_printable(line.name) for line in lines]
    if sys.stdout.isatty():
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


def _show_long(lines: list[Line]) -> None:
    rows = [_columns(line) for line in lines if line.attributes is not None]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    for mode, links, owner, group, size, when, name in rows:
        left = f"{mode} {links:>{widths[1]}} {owner:{widths[2]}} {group:{widths[3]}} {size:>{widths[4]}}"
        print(f"{left} {when} {name}")


def _columns(line: Line) -> tuple[str, str, str, str, str, str, str]:
    about = cast(Attributes, line.attributes)
    name = _printable(line.name)
    if about.kind == "symlink":
        name += f" -> {_printable(cast(LinkNode, line.node).target())}"
    when = _when(about.mtime_ns)
    owner, group = owner_names(about.uid, about.gid)
    return unmounted.mode_text(about), str(about.nlink), owner, group, str(about.size), when, name


def owner_names(uid: int, gid: int) -> tuple[str, str]:
    """The names of a user and a group, their numbers where they have none."""
    owner, group = str(uid), str(gid)
    with suppress(KeyError):
        owner = pwd.getpwuid(uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(gid).gr_name
    return owner, group


def _when(mtime_ns: int) -> str:
    seconds = mtime_ns // 10**9
    moment = time.localtime(seconds)
    is_recent = 0 <= time.time() - seconds < _HALF_A_YEAR_S
    clock = time.strftime("%H:%M", moment) if is_recent else f"{moment.tm_year:5}"
    return f"{time.strftime('%b', moment)} {moment.tm_mday:2} {clock}"


def _collated(name: str) -> str:
    try:
        return locale.strxfrm(name)
    except (OSError, ValueError):  # bytes that are no text in this locale
        return name


def _printable(name: str) -> str:
    """The name itself for a pipe; for a terminal, with `?` for what it would obey, as ls(1) has it."""
    if not sys.stdout.isatty():
        return os.fsencode(name).decode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")
    return "".join(c if c.isprintable() else "?" for c in name)
