"""`kafkafs ls DATA_DIR [PATH...]`: what a mount would list, without a mount, with those flags of ls(1) that count."""

import argparse
import locale
from contextlib import suppress
from functools import partial
from typing import cast

from kafkafs.cli import unmounted
from kafkafs.cli.listing import TIME_STYLES, Line, Look, ordered, printable_name, show, time_style, total
from kafkafs.errors import UsageError
from kafkafs.view.node import DirectoryNode
from kafkafs.view.paths import resolve


def run(arguments: argparse.Namespace) -> int:
    """Files first, then directories, each under its name where there are several: 2 if a path failed, as of ls(1)."""
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "")
    look = _look(arguments)
    tree = unmounted.open_tree(arguments)
    files: list[Line] = []
    directories: list[Line] = []

    def find(path: str) -> None:
        """Notes a directory, which is listed later; makes a line of anything else."""
        node = resolve(tree, path, follow=not arguments.long)
        is_listed = hasattr(node, "entries") and not arguments.directory
        (directories if is_listed else files).append(Line(path, node, node.attributes()))

    paths = unmounted.expanded(tree, arguments.paths or [""])
    failed = unmounted.for_each("ls", paths, find)
    show(ordered(files, look), look)
    listing = _Listing(look, arguments.all, arguments.recursive and not arguments.directory, bool(files))
    for path, node, _ in ordered(directories, look):
        failed |= listing.show(path or ".", cast(DirectoryNode, node), headed=len(paths) > 1)
    return 2 if failed else 0


def _look(arguments: argparse.Namespace) -> Look:
    formats = time_style(arguments.time_style)
    if formats is None:
        raise UsageError(f"--time-style {arguments.time_style!r} is none: write one of {', '.join(TIME_STYLES)}")
    return Look(
        arguments.long, arguments.single, arguments.human, arguments.order or "name", arguments.reverse, formats
    )


class _Listing:
    """One directory after the other, with those below them where all are wanted."""

    def __init__(self, look: Look, all_names: bool, recursive: bool, begun: bool) -> None:
        self._look, self._all, self._recursive = look, all_names, recursive
        self._begun = begun  # whether something stands above, from which the next directory is set apart

    def show(self, path: str, directory: DirectoryNode, headed: bool = True) -> int:
        """Prints a directory, then with `-R` those in it: 1 if something could not be looked at, which was said."""
        if headed or self._recursive:
            print(("\n" if self._begun else "") + f"{printable_name(path)}:")
        self._begun = True
        below: list[Line] = []
        failed = unmounted.for_each("ls", [path], lambda _: below.extend(self._list(directory)))
        for name, node, _ in below:
            found = node or directory.child(name)
            failed |= self.show(f"{path.rstrip('/')}/{name}", cast(DirectoryNode, found))
        return failed

    def _list(self, directory: DirectoryNode) -> list[Line]:
        """Prints what is in it; answers the directories that are to follow."""
        kinds = {entry.name: entry.kind for entry in directory.entries()}
        lines = [Line(name, None, None) for name in kinds if self._all or not name.startswith(".")]
        if self._all:
            lines += [Line(dots, directory, None) for dots in (".", "..")]
        if self._look.needs_attributes:
            lines = [found for line in lines if (found := _looked_up(directory, line)) is not None]
        lines = ordered(lines, self._look)
        if self._look.long:
            print(total(lines, self._look))
        show(lines, self._look)
        return [line for line in lines if self._recursive and kinds.get(line.name) == "directory"]


def _looked_up(directory: DirectoryNode, line: Line) -> Line | None:
    """The line with the node behind its name; None, after a word, where that is gone or cannot be looked at."""
    found: list[Line] = []
    unmounted.for_each("ls", [line.name], partial(_look_up, directory, line, found))
    return found[0] if found else None


def _look_up(directory: DirectoryNode, line: Line, found: list[Line], name: str) -> None:
    """Looks one name up: one that is gone since it was listed is an error of its own."""
    node = line.node or directory.child(name)
    found.append(Line(name, node, node.attributes()))
