"""Offsets as Spark's Kafka source writes them: JSON by topic and partition, and what its options may name as a limit.

Sources: JsonUtils, KafkaOffsetRangeLimit, KafkaSourceProvider of Spark's connector.
"""

import json
import re
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from kafkafs.errors import UsageError
from kafkafs.format.times import BEFORE_1970, parse_time_ms

LATEST, EARLIEST = -1, -2
_NUMBER = re.compile(r"[+-]?[0-9]+")


class TopicPartition(NamedTuple):
    """A partition by its topic and number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


PartitionOffsets = dict[TopicPartition, int]
NoMatch = Literal["error", "latest"]
NO_MATCHES: tuple[NoMatch, ...] = get_args(NoMatch)


@dataclass(frozen=True, slots=True)
class AllAt:
    """Every partition at its earliest (-2) or latest (-1) offset."""

    offset: int


@dataclass(frozen=True, slots=True)
class Specific:
    """Each partition at the offset given; -1 and -2 as in `AllAt`."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Each partition at its first record at or after a time [ms]: one time for all, or one each."""

    times: Mapping[TopicPartition, int] | int
    no_match: NoMatch = "error"


Limit = AllAt | Specific | Timestamps


def without(limit: Limit, gone: Container[TopicPartition]) -> Limit:
    """The limit without the partitions that are `gone`."""
    match limit:
        case Specific(offsets):
            return Specific({name: at for name, at in offsets.items() if name not in gone})
        case Timestamps(Mapping() as times):
            return Timestamps({name: at for name, at in times.items() if name not in gone}, limit.no_match)
    return limit


def check_order(starting: Limit, ending: Limit) -> None:
    """UsageError if the end is before the start in any partition, where both are offsets, or both are times."""
    match starting, ending:
        case Specific(starts), Specific(ends):
            kind = "offset"
        case Timestamps(Mapping() as starts), Timestamps(ends):
            kind, ends = "timestamp", dict.fromkeys(starts, ends) if isinstance(ends, int) else ends
        case Timestamps(int(start)), Timestamps(Mapping() as ends):
            kind, starts = "timestamp", dict.fromkeys(ends, start)
        case Timestamps(int(start)), Timestamps(int(end)):
            if 0 <= end < start:
                raise UsageError(f"the starting timestamp {start} is greater than the ending timestamp {end}")
            return
        case _:
            return
    for place, start in starts.items():
        if 0 <= ends.get(place, LATEST) < start:
            raise UsageError(f"the starting {kind} {start} of {place} is greater than its ending {kind} {ends[place]}")


def parse_partitions(text: str) -> tuple[TopicPartition, ...]:
    """The value of `assign`: {"topicA":[0,1]}."""
    expected = f'expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}'
    parsed = _object(text, expected)
    found = []
    for topic, partitions in parsed.items():
        if not isinstance(partitions, list) or not all(_is_int(number) for number in partitions):
            raise UsageError(expected)
        found += [TopicPartition(topic, number) for number in partitions]
    return tuple(found)


def parse_offsets(text: str) -> PartitionOffsets:
    """Offsets by topic and partition: {"topicA":{"0":23,"1":-1}}."""
    return _numbers(text, f'expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text}')


def parse_timestamps(text: str) -> PartitionOffsets:
    """Times by topic and partition, as `parse_time` takes them: in milliseconds."""
    return _numbers(
        text,
        f'expected e.g. {{"topicA":{{"0":123456789,"1":"2021-09-23T09:43Z"}},"topicB":{{"0":123456789}}}}, got {text}',
        _time,
    )


def parse_time(text: str) -> int | None:
    """A time: milliseconds since 1970, -1 for the latest, -2 for the earliest, or what `by-time/` takes, ISO 8601. None
    for what is none. One before 1970 is the earliest."""
    if _NUMBER.fullmatch(text.strip()):
        return int(text)
    found = parse_time_ms(text.strip(), time.time_ns() // 1_000_000)
    return EARLIEST if found == BEFORE_1970 else found


def to_dict(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The JSON object, sorted by topic and partition."""
    tree: dict[str, dict[str, int]] = {}
    for place in sorted(offsets):
        tree.setdefault(place.topic, {})[str(place.partition)] = offsets[place]
    return tree


def from_dict(tree: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """The offsets in such an object."""
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, partitions in tree.items()
        for number, offset in partitions.items()
    }


def names(partitions: Iterable[TopicPartition]) -> str:
    """The first few names, sorted, for messages."""
    every = sorted(partitions)
    shown = ", ".join(map(str, every[:8]))
    return shown + (f" and {len(every) - 8} more" if len(every) > 8 else "") if every else "none"


def _object(text: str, expected: str) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except ValueError:
        raise UsageError(expected) from None
    if not isinstance(parsed, dict):
        raise UsageError(expected)
    return parsed


def _time(value: object) -> int | None:
    return parse_time(value) if isinstance(value, str) and not _NUMBER.fullmatch(value) else _whole(value)


def _whole(value: object) -> int | None:
    return int(str(value)) if _is_int(value) else None


def _numbers(text: str, expected: str, parse: Callable[[object], int | None] = _whole) -> PartitionOffsets:
    found: PartitionOffsets = {}
    for topic, partitions in _object(text, expected).items():
        if not isinstance(partitions, dict):
            raise UsageError(expected)
        for number, value in partitions.items():
            parsed = parse(value)
            if not (number.isascii() and number.isdigit()) or parsed is None:
                raise UsageError(expected)
            found[TopicPartition(topic, int(number))] = parsed
    return found


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
