"""`kafkafs stat DATA_DIR PATH...`: what `stat` and `getfattr` tell of a view, without a mount."""

import argparse
from typing import cast

from kafkafs.cli import unmounted
from kafkafs.cli.ls import STYLES, owner_names, shown_time
from kafkafs.view.node import Attributes, FileNode, LinkNode, Tree
from kafkafs.view.paths import resolve

_WORDS = {"directory": "directory", "file": "regular file", "symlink": "symbolic link"}


def run(arguments: argparse.Namespace) -> int:
    """Prints a few lines for each path, of a link those of itself: 1 if one of them failed."""
    tree, failures = unmounted.open_tree(arguments), unmounted.Failures("stat")
    for path in unmounted.expanded(tree, arguments.paths):
        with failures.at(path):
            _stat(tree, path)
    return failures.code


def _stat(tree: Tree, path: str) -> None:
    node = resolve(tree, path, follow=False)
    about = node.attributes()
    shown = f"{path} -> {cast(LinkNode, node).target()}" if about.kind == "symlink" else path
    xattrs = cast(FileNode, node).xattrs() if about.kind == "file" else {}
    print(f"  File: {shown}")
    print(f"  Size: {about.size:<15} Blocks: {about.blocks:<10} {_word(about)}")
    mode = unmounted.mode_text(about)
    owner, group = owner_names(about.uid, about.gid)
    print(f"Access: ({about.mode:04o}/{mode})  Uid: ({about.uid:5}/{owner:>8})   Gid: ({about.gid:5}/{group:>8})")
    print(f"Modify: {shown_time(about.mtime_ns, STYLES['full-iso'])}")
    for name, value in sorted(xattrs.items()):
        print(f"{name}={value.decode('utf-8', 'backslashreplace')}")


def _word(about: Attributes) -> str:
    return "regular empty file" if about.kind == "file" and not about.size else _WORDS[about.kind]
