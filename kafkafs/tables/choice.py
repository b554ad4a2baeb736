"""The choice of data directories, of their partitions, and of one of several replicas; and the request of a read."""

import glob
import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, TypeVar, get_args

from kafkafs.disk.data_paths import data_path, named_now
from kafkafs.disk.objects import address_of, is_bucket
from kafkafs.disk.whereabouts import each_once
from kafkafs.errors import EMPTY_NAME, UsageError
from kafkafs.log.read_options import Isolation, TierSource
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Limit, TopicPartition, without

Choosable = TypeVar("Choosable", bound=str)
Replicas = Literal["furthest", "refuse"]
REPLICAS: tuple[Replicas, ...] = get_args(Replicas)
"""The rule for several brokers' replicas of a partition: read the one that got furthest, or refuse."""


Form = Literal["binary", "string", "json", "registry"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The forms of keys and values: bytes, text, columns of the type that is found in them, or of the type that a schema
names."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The partitions to read: exactly one of the three is set."""

    assign: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    pattern: str = ""


_WHOLE = AllAt(EARLIEST), AllAt(LATEST)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The records that a read or a job asks for: which partitions of which data directories, of which replica of each
    and with which tier, between which limits."""

    paths: tuple[Path, ...]
    choice: Choice
    starting: Limit = _WHOLE[0]
    ending: Limit = _WHOLE[1]
    isolation: Isolation = "read_uncommitted"
    replicas: Replicas = "furthest"
    tiered: TierSource | None = None
    fail_on_data_loss: bool = True

    def without(self, gone: Container[TopicPartition]) -> Self:
        """The request with limits that do not name the partitions that are `gone`."""
        return replace(self, starting=without(self.starting, gone), ending=without(self.ending, gone))


def one_of(name: str, word: str, words: Sequence[Choosable]) -> Choosable:
    """The word, if it is one of these. UsageError for any other."""
    for each in words:
        if word == each:
            return each
    raise UsageError(f"{name} is {', '.join(words[:-1])} or {words[-1]}, not {word!r}")


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
