"""The common part of `ls`, `cat` and `stat`: the tree of the data directories, unmounted, and errors as the kernel
words them.

Needs neither FUSE nor root: the same nodes that a mount serves are asked in this process.
"""

import argparse
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf

from kafkafs.cli import mount_options
from kafkafs.cli.exit_codes import is_unwritable, say
from kafkafs.disk.data_paths import bucket_of, data_path
from kafkafs.disk.objects import places_of
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import ERRNO, CorruptData, KafkafsError, UsageError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.view.about import AboutDirectory, Top
from kafkafs.view.node import Attributes, Tree
from kafkafs.view.paths import expand
from kafkafs.view.tree import Root

_KINDS = {"directory": stat.S_IFDIR, "file": stat.S_IFREG, "symlink": stat.S_IFLNK}


def open_tree(arguments: argparse.Namespace) -> Tree:
    """The tree of the data directories that were named; UsageError says which is none. Further data directories behind
    the first one are taken off the paths, as commands take them that have no paths.

    `.kafkafs` has only the README, because without a mount nobody can ask how a mount fares.
    """
    named: str = arguments.data_dirs
    _check_order(named, arguments.paths)
    paths = [named] if os.path.isdir(named) else places_of(named)
    while arguments.paths and is_data_directory(arguments.paths[0]):
        paths.append(arguments.paths.pop(0))
    reading = mount_options.parse(arguments.options).reading
    places = [data_path(path) for path in each_once(paths)]
    if any(map(bucket_of, places)):
        reading = replace(reading, glance_s=inf)  # no kernel waits, and a request has a limit of its own
    root = Root(places, reading)
    root.check_tier()
    return Top(root, AboutDirectory({}, reading.exact))


def _check_order(named: str, paths: Sequence[str]) -> None:
    """UsageError if a path comes first, and the data directory behind it."""
    if not paths or os.path.lexists(named) or not is_data_directory(paths[-1]):
        return
    first = [word for word in places_of(named) if not is_data_directory(word)]
    if len(first) == 1 and "://" not in first[0]:
        right = shlex.join([paths[-1], named, *paths[:-1]])
        raise UsageError(f"{named!r} is not a directory, but {paths[-1]!r} is: the data directory comes first: {right}")


def is_data_directory(word: str) -> bool:
    """True if the word names a data directory, and so is no path in the tree."""
    try:
        path = data_path(word)
        return (bool(bucket_of(path)) or os.path.isdir(path)) and bool(open_data_directory(path))
    except UsageError:
        return False


def expanded(tree: Tree, patterns: list[str]) -> list[str]:
    """The paths that each pattern fits, in the order of the patterns."""
    return [path for pattern in patterns for path in expand(tree, pattern)]


def mode_text(about: Attributes) -> str:
    """`-r--r--r--`, as ls(1) and stat(1) write kind and mode."""
    return stat.filemode(_KINDS[about.kind] | about.mode)


class Failures:
    """The paths that a command could not show: each is said, and stops none of the others. `code` is 1 after one."""

    def __init__(self, command: str) -> None:
        self._command, self.code = command, 0

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Say `cat: PATH: the reason: No such file or directory` if the block fails. The last words are those of the
        error below a mount point; a mount has no room for those before them."""
        try:
            yield
        except (KafkafsError, OSError) as error:
            if isinstance(error, BrokenPipeError) or is_unwritable(error):
                raise
            self.code = 1
            if isinstance(error, OSError):
                say(f"{self._command}: {path}: {os.strerror(error.errno or 0)}")
                return
            cure = "; `-o corrupt=skip` reads past it" if isinstance(error, CorruptData) else ""
            say(f"{self._command}: {path}: {error}{cure}: {os.strerror(ERRNO[type(error)])}")
