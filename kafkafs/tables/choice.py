"""The choice of data directories, of their partitions, and of one of several replicas."""

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from kafkafs.disk.data_paths import data_path, named_now
from kafkafs.disk.objects import address_of, is_bucket
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import EMPTY_NAME, UsageError
from kafkafs.tables.offsets import TopicPartition

Replicas = Literal["furthest", "refuse"]
REPLICAS: tuple[Replicas, ...] = get_args(Replicas)
"""What several brokers' replicas of a partition mean: the one that got furthest is read, or none."""


Form = Literal["binary", "string", "json", "registry"]
FORMS: tuple[Form, ...] = get_args(Form)
"""What keys and values are made: bytes, text, or columns of the type that is found in them, or that a schema names."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The partitions to read: exactly one of the three is set."""

    assign: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    pattern: str = ""


def named_paths(words: Iterable[str]) -> tuple[Path, ...]:
    """The paths that words name, some of which may be globs: absolute, each once. UsageError if a glob fits none."""
    found: list[Path] = []
    for word in words:
        address = address_of(word)
        if not address:
            raise UsageError(EMPTY_NAME)
        if is_bucket(address):
            found.append(named_now(data_path(address)))
            continue
        is_glob = glob.has_magic(address) and not os.path.exists(address)
        matches = sorted(glob.glob(address)) if is_glob else [address]
        if not matches:
            raise UsageError(f"no directory matches {word!r}; name Kafka data directories, the broker's log.dirs")
        found += [Path(match).absolute() for match in matches]
    return tuple(each_once(found))
