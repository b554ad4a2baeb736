"""`kafkafs cat DATA_DIR PATH...`: the content of views, without a mount."""

import argparse
import errno
import os
import sys
import time
from typing import cast

from kafkafs.cli import unmounted
from kafkafs.view.node import Content, FileNode, Tree
from kafkafs.view.paths import resolve

_PIECE = 1 << 20
_LOOK_S = 0.1
"""How often a follower looks for more, as a mount does."""


def run(arguments: argparse.Namespace) -> int:
    """Writes all paths' contents, one behind the other: 1 if one of them failed."""
    tree, failures = unmounted.open_tree(arguments), unmounted.Failures("cat")
    for path in unmounted.expanded(tree, arguments.paths):
        with failures.at(path):
            _cat(tree, path)
    return failures.code


def _cat(tree: Tree, path: str) -> None:
    node = resolve(tree, path)
    if hasattr(node, "entries"):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    content = cast(FileNode, node).open()
    try:
        _copy(content)
    finally:
        content.close()


def _copy(content: Content) -> None:
    """Writes all of it to standard output; a follower's content has no end but Ctrl-C."""
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
