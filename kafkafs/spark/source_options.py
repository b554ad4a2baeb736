"""The options of a read: names, defaults, preferences and refusals are those of Spark's Kafka source.

`path` replaces `kafka.bootstrap.servers`: data directories, several with commas between them or as a
glob. Other `kafka.` options are for a client's network and mean nothing here. Source: KafkaSourceProvider.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kafkafs.disk.objects import places_of
from kafkafs.errors import UsageError
from kafkafs.log.read_options import TierSource, isolation
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.tables.choice import FORMS, REPLICAS, Choice, Choosable, Form, ReadRequest, named_paths, one_of
from kafkafs.tables.offsets import (
    EARLIEST,
    LATEST,
    NO_MATCHES,
    AllAt,
    Limit,
    Specific,
    Timestamps,
    check_order,
    parse_offsets,
    parse_partitions,
    parse_time,
    parse_timestamps,
)

KNOWN = (
    "path", "paths", "subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets", "startingTimestamp",
    "endingTimestamp", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy",
    "includeHeaders", "failOnDataLoss", "minPartitions", "maxRecordsPerPartition", "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger", "maxTriggerDelay", "kafka.isolation.level", "replicas", "key", "value", "tiered",
    "tiered_key",
    "kafka.bootstrap.servers", "kafka.bootstrap.controllers", "kafka.key.serializer", "kafka.value.serializer",
    "kafka.group.id", "groupIdPrefix", "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "provider",
)  # fmt: skip
"""The names of options that this source or Spark's own knows; the last lines have those that mean nothing here."""
_NEAR = 0.8  # difflib's ratio: two slips in the shortest of them
_OF_COMMANDS = {
    "isolation": "kafka.isolation.level", "fromtime": "startingTimestamp", "totime": "endingTimestamp",
    "fromoffset": "startingOffsets", "fromoffsets": "startingOffsets",
    "tooffset": "endingOffsets", "tooffsets": "endingOffsets",
}  # fmt: skip
"""Words of kafkafs's own commands and mounts, without what joins their parts, for what has another name here."""
_STRATEGIES = ("assign", "subscribe", "subscribepattern")
_REFUSED = {
    "kafka.auto.offset.reset": "set startingOffsets to earliest or latest instead",
    "kafka.key.deserializer": "keys are bytes; the option 'key' makes string, json or registry of them",
    "kafka.value.deserializer": "values are bytes; the option 'value' makes string, json or registry of them",
    "kafka.enable.auto.commit": "Spark keeps its own offsets",
    "kafka.interceptor.classes": "nothing may change what is read",
    "pushFilters": "Spark keeps what it read under a filter for the frame's other queries; use startingOffsets,"
    " endingOffsets, startingTimestamp or endingTimestamp to read less",
}


@dataclass(frozen=True, slots=True)
class SourceOptions(ReadRequest):
    """The options of one `spark.read` or `spark.readStream`."""

    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_s: float = 900.0


def batch_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of a batch read; UsageError for what Spark's Kafka source refuses too."""
    options = _folded(given)
    starting = _limit(options, "starting", AllAt(EARLIEST))
    if starting == AllAt(LATEST) or (isinstance(starting, Specific) and LATEST in starting.offsets.values()):
        raise UsageError("startingOffsets cannot be latest (-1) in a batch query; name offsets or earliest")
    ending = _limit(options, "ending", AllAt(LATEST))
    if ending == AllAt(EARLIEST) or (isinstance(ending, Specific) and EARLIEST in ending.offsets.values()):
        raise UsageError("endingOffsets cannot be earliest (-2) in a batch query; name offsets or latest")
    _check_order(starting, ending)
    return _general(options, starting, ending)


def stream_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of a streaming read."""
    options = _folded(given)
    for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
        if name.lower() in options:
            raise UsageError(f"{name} is not valid in a streaming query: it has no end")
    return _general(options, _limit(options, "starting", AllAt(LATEST)), AllAt(LATEST))


def schema_options(given: Mapping[str, str]) -> SourceOptions:
    """Return the records that tell the types of columns: those of a batch, or, for a stream from the latest on, all
    that are there."""
    options = _folded(given)
    starting = _limit(options, "starting", AllAt(EARLIEST))
    if starting == AllAt(LATEST):
        starting = AllAt(EARLIEST)
    elif isinstance(starting, Specific):
        starting = Specific({place: EARLIEST if at == LATEST else at for place, at in starting.offsets.items()})
    return _general(options, starting, _limit(options, "ending", AllAt(LATEST)))


def forms(given: Mapping[str, str]) -> tuple[Form, Form]:
    """Return the forms of keys and values, for the schema."""
    options = _folded(given)
    return _one_of(options, "key", FORMS), _one_of(options, "value", FORMS)


def wants_headers(given: Mapping[str, str]) -> bool:
    """`includeHeaders`, for the schema; UsageError for what is neither true nor false."""
    return _flag(_folded(given), "includeHeaders", False)


def _folded(given: Mapping[str, str]) -> dict[str, str]:
    """The options by names in small letters: Spark's names are of either case."""
    return {name.lower(): value for name, value in given.items()}


def _general(options: Mapping[str, str], starting: Limit, ending: Limit) -> SourceOptions:
    check_names(options)
    for name, why in _REFUSED.items():
        if name.lower() in options:
            raise UsageError(f"the option {name!r} is not supported: {why}")
    least, most = _number(options, "minOffsetsPerTrigger"), _positive(options, "maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise UsageError(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return SourceOptions(
        paths=_paths(options),
        choice=_choice(options),
        starting=starting,
        ending=ending,
        isolation=isolation(
            "kafka.isolation.level", options.get("kafka.isolation.level", "read_uncommitted").strip().lower()
        ),
        fail_on_data_loss=_flag(options, "failOnDataLoss", True),
        min_partitions=_positive(options, "minPartitions"),
        max_records_per_partition=_positive(options, "maxRecordsPerPartition"),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_s=_duration(options, "maxTriggerDelay"),
        replicas=_one_of(options, "replicas", REPLICAS),
        tiered=TierSource.parse(options.get("tiered", ""), options.get("tiered_key", "").split(",")),
    )


def check_names(options: Iterable[str]) -> None:
    """UsageError for a name that nobody knows and that is close to one which is known, or says that elsewhere in
    kafkafs: a slip there reads everything.

    A name that is like none of them is passed over, as by Spark's source: sessions and platforms add options of their
    own.
    """
    known = {name.lower(): name for name in (*KNOWN, *_REFUSED)}
    for name in options:
        meant = _OF_COMMANDS.get(re.sub("[-_.]", "", name))
        if meant is None and name not in known:
            meant = next((known[near] for near in get_close_matches(name, known, 1, _NEAR)), None)
        if meant is not None:
            raise UsageError(f"there is no option {name!r}; did you mean {meant}?")


def _one_of(options: Mapping[str, str], name: str, words: tuple[Choosable, ...]) -> Choosable:
    """The word that an option has, by default the first; UsageError for any other."""
    return one_of(name, options.get(name.lower(), words[0]).strip().lower(), words)


def _paths(options: Mapping[str, str]) -> tuple[Path, ...]:
    if "paths" in options:  # load() with a list
        words = [str(word) for word in json.loads(options["paths"])]
    else:
        words = [word.strip() for word in places_of(options.get("path", "")) if word.strip()]
    if not words:
        raise UsageError("the option 'path' must name a Kafka data directory (several with commas, or a glob)")
    return named_paths(words)


def _choice(options: Mapping[str, str]) -> Choice:
    given = [name for name in _STRATEGIES if name in options]
    if len(given) != 1:
        raise UsageError(
            f"{'one' if not given else 'only one'} of the options subscribe, subscribePattern and assign must be given"
        )
    value = options[given[0]].strip()
    match given[0]:
        case "assign":
            if not value.startswith("{"):
                raise UsageError(f"no topic partitions to assign in the option 'assign': {value!r}")
            return Choice(assign=parse_partitions(value))
        case "subscribe":
            topics = tuple(topic.strip() for topic in value.split(",") if topic.strip())
            if not topics:
                raise UsageError(f"no topics to subscribe to in the option 'subscribe': {value!r}")
            return Choice(topics=topics)
        case _:
            if not value:
                raise UsageError("the pattern in the option 'subscribePattern' is empty")
            TopicChoice.check_pattern(value, f"the pattern {value!r} in the option 'subscribePattern'")
            return Choice(pattern=value)


def _limit(options: Mapping[str, str], side: str, default: Limit) -> Limit:
    """The first of one timestamp, timestamps and offsets that is given."""
    strategy = _one_of(options, "startingOffsetsByTimestampStrategy", NO_MATCHES)
    if side == "ending":
        strategy = "latest"
    if (text := options.get(f"{side}timestamp")) is not None:
        time = parse_time(text)
        if time is None:
            raise UsageError(
                f"{side}Timestamp is one number, milliseconds since 1970, or a time in ISO 8601, not {text!r}"
            )
        return Timestamps(time, strategy)
    if (times := options.get(f"{side}offsetsbytimestamp")) is not None:
        return Timestamps(parse_timestamps(times.strip()), strategy)
    offsets = options.get(f"{side}offsets")
    if offsets is None:
        return default
    match offsets.strip().lower():
        case "latest":
            return AllAt(LATEST)
        case "earliest":
            return AllAt(EARLIEST)
        case _:
            return Specific(parse_offsets(offsets.strip()))


def _check_order(starting: Limit, ending: Limit) -> None:
    match starting, ending:
        case (Specific(starts), Specific(ends)) | (Timestamps(Mapping() as starts), Timestamps(Mapping() as ends)):
            if set(starts) != set(ends):
                kind = "offset" if isinstance(starting, Specific) else "timestamp"
                raise UsageError(f"the starting and the ending {kind}s must name the same topic partitions")
    check_order(starting, ending)


def _flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = options.get(name.lower(), str(default)).strip().lower()
    if value not in ("true", "false"):
        raise UsageError(f"{name} is true or false, not {value!r}")
    return value == "true"


def _number(options: Mapping[str, str], name: str) -> int | None:
    value = options.get(name.lower())
    if value is None:
        return None
    try:
        return int(value.strip())
    except ValueError:
        raise UsageError(f"{name} is a number, not {value!r}") from None


def _positive(options: Mapping[str, str], name: str) -> int | None:
    value = _number(options, name)
    if value is not None and value <= 0:
        raise UsageError(f"{name} must be positive, not {value}")
    return value


_UNITS = {"us": 1e-6, "ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def _duration(options: Mapping[str, str], name: str) -> float:
    value = options.get(name.lower(), "15m").strip().lower()
    found = re.fullmatch(r"([0-9]+)(us|ms|s|m|min|h|d)?", value)
    if found is None:
        raise UsageError(f"{name} is a time such as 15m or 30s, not {value!r}")
    return int(found[1]) * _UNITS[found[2] or "ms"]
