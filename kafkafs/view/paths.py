"""Paths within a tree, walked as the kernel walks them: for those who look at a tree without mounting it.

    resolve("test-0/latest")          the node that `open` would get: links are followed, `.` and `..` go where they go
    resolve(path, follow=False)       the same, for `lstat`
    expand("test-0/by-offset/*")      the listed names that a shell's pattern stands for

A missing name is NotFound, with the name that was probably meant. A path through a file, and links in a circle, are an
OSError with the kernel's errno.
"""

import errno
import os
import re
from fnmatch import fnmatchcase
from typing import cast

from kafkafs.errors import KafkafsError, NotFound
from kafkafs.view.node import DirectoryNode, LinkNode, Node, Tree
from kafkafs.view.reasons import meant

_MAX_LINKS = 40  # path_resolution(7)
_ADVICE = ("did you mean", "no source for")  # words of errors that need no nearest name
_PATTERN = re.compile(r"[*?\[]")


def resolve(tree: Tree, path: str, *, follow: bool = True) -> Node:
    """The node at `path`, from the tree's root. `follow`: a link at the end leads to what it points at."""
    trail: list[Node] = [tree]  # from the root down to where the walk stands, for `..`
    parts, links = _parts(path), 0
    while parts:
        part = parts.pop(0)
        _check_directory(trail[-1])
        if part == "..":
            trail = trail[:-1] or [tree]
            continue
        directory = cast(DirectoryNode, trail[-1])
        try:
            node = directory.child(part)
        except NotFound as error:
            near = "" if any(words in str(error) for words in _ADVICE) else meant(directory, part)
            raise NotFound(f"{error}{near}") from None
        if (parts or follow) and hasattr(node, "target"):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            parts = _parts(cast(LinkNode, node).target()) + parts
        else:
            trail.append(node)
    if path.endswith("/"):
        _check_directory(trail[-1])
    return trail[-1]


def _check_directory(node: Node) -> None:
    """NotADirectoryError for a file; for the name of one that is not there what the kernel hears first: that."""
    if not hasattr(node, "child"):
        node.attributes()
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def expand(tree: Tree, pattern: str) -> list[str]:
    """The paths of listed names that `pattern` fits, sorted; the pattern itself where it fits none, as in a shell."""
    if not _PATTERN.search(pattern):
        return [pattern]
    found = [""]
    for part in _parts(pattern):
        if _PATTERN.search(part):
            found = [f"{path}{name}/" for path in found for name in _fitting(tree, path, part)]
        else:
            found = [f"{path}{part}/" for path in found]
    paths = [path.rstrip("/") for path in found]
    return sorted(path for path in paths if _exists(tree, path)) or [pattern]


def _fitting(tree: Tree, path: str, pattern: str) -> list[str]:
    """The listed names in the directory at `path`; a leading dot has to be written."""
    try:
        node = resolve(tree, path)
        names = [entry.name for entry in cast(DirectoryNode, node).entries()] if hasattr(node, "entries") else []
    except (KafkafsError, OSError):
        return []
    return [n for n in names if fnmatchcase(n, pattern) and (pattern.startswith(".") or not n.startswith("."))]


def _exists(tree: Tree, path: str) -> bool:
    try:
        resolve(tree, path, follow=False)
    except (KafkafsError, OSError):
        return False
    return True
