"""`.cluster/` read without a mount: paths below it, as a user would write them."""

import json
from typing import Any, cast

from kafkafs.view.node import Directory, File, Link, Node
from kafkafs.view.tree import Root


def node(root: Root, path: str) -> Node:
    """The node at a path below `.cluster`."""
    found: Node = root.child(".cluster")
    for name in filter(None, path.split("/")):
        found = cast(Directory, found).child(name)
    return found


def names(root: Root, path: str) -> list[str]:
    """What `ls` lists."""
    return [entry.name for entry in cast(Directory, node(root, path)).entries()]


def read(root: Root, path: str) -> bytes:
    """A whole file, as `cat` reads it."""
    content = cast(File, node(root, path)).open()
    text = b""
    while piece := content.read(len(text), 1 << 16):
        text += bytes(piece)
    content.close()
    return text


def lines(root: Root, path: str) -> list[dict[str, Any]]:
    """The rows of a file of lines."""
    return [json.loads(line) for line in read(root, path).splitlines()]


def target(root: Root, path: str) -> str:
    """Where a link leads."""
    return cast(Link, node(root, path)).target()
