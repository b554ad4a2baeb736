"""What `ls`, `cat` and `stat` share: the tree of the data directories, unmounted, and errors as the kernel words them.

Needs neither FUSE nor root: the same nodes that a mount serves are asked in this process.
"""

import argparse
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from kafkafs.cli.endings import say
from kafkafs.cli.parser import Commands
from kafkafs.errors import KafkafsError
from kafkafs.view.node import Attributes, Tree

_KINDS = {"directory": stat.S_IFDIR, "file": stat.S_IFREG, "symlink": stat.S_IFLNK}


def add_arguments(parser: argparse.ArgumentParser, paths: str) -> None:
    """Data directories, paths within (`+` or `*` of them) and the options of a mount that are about reading."""
    parser.add_argument("data_dirs", metavar="DATA_DIR[,DATA_DIR...]", help="a broker's log.dirs")
    parser.add_argument("paths", metavar="PATH", nargs=paths, help="as below a mount point; patterns fit listed names")
    parser.add_argument("-o", dest="options", metavar="OPT[,OPT...]", action="append", default=[], help="as of mount")


def new_parser(commands: Commands, name: str, what: str, examples: Sequence[str]) -> argparse.ArgumentParser:
    """A command's parser, with two examples below its help."""
    return commands.add_parser(
        name,
        help=f"{what}, without a mount",
        description=f"{what[0].upper()}{what[1:]}, as `{name}` does below a mount point, without one.",
        examples=examples,
    )


def open_tree(arguments: argparse.Namespace) -> Tree:
    """The tree of the data directories that were named; UsageError says which is none.

    Of `.kafkafs` it has the README: how a mount fares, its other files, nobody can ask where none is.
    """
    from kafkafs.cli import options as mount_options
    from kafkafs.view.about import AboutDirectory, Top
    from kafkafs.view.tree import Root

    named: str = arguments.data_dirs
    paths = [named] if os.path.isdir(named) else named.split(",")
    root = Root([Path(path).absolute() for path in paths], mount_options.parse(arguments.options).reading)
    return Top(root, AboutDirectory({}))


def expanded(tree: Tree, patterns: list[str]) -> list[str]:
    """The paths that each pattern fits, in the order of the patterns."""
    from kafkafs.view.paths import expand

    return [path for pattern in patterns for path in expand(tree, pattern)]


def mode_text(about: Attributes) -> str:
    """`-r--r--r--`, as ls(1) and stat(1) write kind and mode."""
    return stat.filemode(_KINDS[about.kind] | about.mode)


def for_each(command: str, paths: list[str], work: Callable[[str], None]) -> int:
    """Does the work on one path after the other: 1 if one failed, which is said and stops none of the others."""
    code = 0
    for path in paths:
        try:
            work(path)
        except BrokenPipeError:
            raise
        except (KafkafsError, OSError) as error:
            tell(command, path, error)
            code = 1
    return code


def tell(command: str, path: str, error: Exception) -> None:
    """`cat: PATH: No such file or directory`, whatever error of ours the kernel would have made that of."""
    from kafkafs.fuse.serve.errnos import ERRNO

    number = error.errno if isinstance(error, OSError) else ERRNO[type(error)]  # type: ignore[index]
    say(f"{command}: {path}: {os.strerror(number or 0)}")
