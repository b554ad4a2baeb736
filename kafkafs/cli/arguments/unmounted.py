"""The arguments that `ls`, `cat` and `stat` share."""

from collections.abc import Sequence
from typing import Any

from kafkafs.cli.parser import Commands, Parser


def new_parser(commands: Commands, name: str, what: str, examples: Sequence[str], **more: Any) -> Parser:
    """A command's parser, with examples below its help."""
    return commands.add_parser(
        name,
        help=f"{what}, without a mount",
        description=f"{what[0].upper()}{what[1:]}, as `{name}` does below a mount point, without one.",
        examples=examples,
        **more,
    )


def add_arguments(parser: Parser, paths: str) -> None:
    """Data directories, paths within (`+` or `*` of them) and the options of a mount that are about reading."""
    parser.add_argument("data_dirs", metavar="DATA_DIR[,DATA_DIR...]", help="a broker's log.dirs")
    parser.add_argument("paths", metavar="PATH", nargs=paths, help="as below a mount point; patterns fit listed names")
    parser.add_argument("-o", dest="options", metavar="OPT[,OPT...]", action="append", default=[], help="as of mount")
    parser.spread = "paths"
