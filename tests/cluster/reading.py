"""`.cluster/` read without a mount: paths below it, as a user would write them."""

import base64
import json
from pathlib import Path
from typing import Any, cast

from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.look import Reader
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.node import DirectoryNode, FileNode, LinkNode, Node
from kafkafs.view.tree import Root


def node(root: Root, path: str) -> Node:
    """The node at a path below `.cluster`."""
    found: Node = root.child(".cluster")
    for name in filter(None, path.split("/")):
        found = cast(DirectoryNode, found).child(name)
    return found


def names(root: Root, path: str) -> list[str]:
    """What `ls` lists."""
    return [entry.name for entry in cast(DirectoryNode, node(root, path)).entries()]


def read(root: Root, path: str) -> bytes:
    """A whole file, as `cat` reads it."""
    content = cast(FileNode, node(root, path)).open()
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
    return cast(LinkNode, node(root, path)).target()


def scram_secrets(data: Path) -> list[bytes]:
    """Salts and keys that the metadata log has, as text of base64."""
    if not (data / "__cluster_metadata-0").exists():
        return []
    log = open_data_directory(data).partition("__cluster_metadata-0").log()
    found = []
    for records in Reader(log, ReadOptions(), OpenTransactions()).records(0):
        for number in range(len(records)):
            record = parse_record(InternalTopic.CLUSTER_METADATA, None, bytes(records.value(number) or b""))
            if isinstance(record, Message) and record.name == "UserScramCredentialRecord" and record.value:
                for field in ("salt", "storedKey", "serverKey"):
                    secret = record.value[field]
                    assert isinstance(secret, bytes)
                    found.append(base64.b64encode(secret))
    return found
