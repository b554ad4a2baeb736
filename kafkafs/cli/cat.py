"""`kafkafs cat DATA_DIR PATH...`: the content of views, without a mount."""

import argparse
import errno
import os
import sys
import time
from typing import cast

from kafkafs.cli import unmounted
from kafkafs.cli.parser import Commands
from kafkafs.view.node import Content, FileNode, Tree

_PIECE = 1 << 20
_LOOK_S = 0.1
"""How often a follower looks for more, as a mount does."""


def add(commands: Commands) -> None:
    """The command's arguments."""
    parser = unmounted.new_parser(
        commands,
        "cat",
        "print what is in a topic",
        [
            "kafkafs cat /var/kafka-logs test-0/by-offset/latest.jsonl",
            "kafkafs cat /var/kafka-logs 'test-*/by-time/-1h...jsonl' | jq .value",
        ],
    )
    unmounted.add_arguments(parser, "+")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """All paths' contents, one behind the other: 1 if one of them failed."""
    tree = unmounted.open_tree(arguments)
    return unmounted.for_each("cat", unmounted.expanded(tree, arguments.paths), lambda path: _cat(tree, path))


def _cat(tree: Tree, path: str) -> None:
    from kafkafs.view.paths import resolve

    node = resolve(tree, path)
    if hasattr(node, "entries"):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    content = cast(FileNode, node).open()
    try:
        _copy(content)
    finally:
        content.close()


def _copy(content: Content) -> None:
    """Everything to standard output; a follower's content has no end but Ctrl-C."""
    position = 0
    while True:
        data = content.read(position, _PIECE)
        if data:
            sys.stdout.buffer.write(data)
            position += len(data)
        elif content.follows:
            sys.stdout.buffer.flush()
            time.sleep(_LOOK_S)
        else:
            return
