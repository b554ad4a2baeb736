"""Settings of topics and brokers with values that no Kafka takes, and that damaged or hostile metadata may have.

A broker that reads such a value of a topic does not start. If `min.insync.replicas` of all brokers is 0, partitions
have no leader for ever. So these values are left out, and named. A setting that a release does not know does no harm.
Sources: LogConfig, ConfigDef.parseType, DynamicBrokerConfig, PartitionChangeBuilder.
"""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

Check = Callable[[str], bool]
_INT, _LONG = 2**31 - 1, 2**63 - 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


def _between(least: int, most: int) -> Check:
    return lambda value: _NUMBER.fullmatch(value) is not None and least <= int(value) <= most


def _share(value: str) -> bool:
    with suppress(ValueError):
        return 0 <= float(value) <= 1
    return False


def _one_of(*words: str) -> Check:
    return lambda value: value in words


def _some_of(words: Collection[str]) -> Check:
    return lambda value: not value or all(each.strip() in words for each in value.split(","))


def _like(pattern: str) -> Check:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: compiled.fullmatch(value) is not None


def _flag(value: str) -> bool:
    return value.lower() in ("true", "false")


_REPLICAS = _like(r"\*|none||[0-9]+:[0-9]+(\s*,\s*[0-9]+:[0-9]+)*")
_TAKEN: Mapping[str, Check] = {
    **dict.fromkeys(("segment.ms", "flush.messages", "max.compaction.lag.ms"), _between(1, _LONG)),
    **dict.fromkeys((
        "segment.jitter.ms", "flush.ms", "delete.retention.ms", "min.compaction.lag.ms", "file.delete.delay.ms",
        "message.timestamp.difference.max.ms", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms",
    ), _between(0, _LONG)),
    **dict.fromkeys(("local.retention.ms", "local.retention.bytes"), _between(-2, _LONG)),
    **dict.fromkeys(("max.message.bytes", "index.interval.bytes"), _between(0, _INT)),
    **dict.fromkeys((
        "unclean.leader.election.enable", "preallocate", "message.downconversion.enable", "remote.storage.enable",
        "remote.log.copy.disable", "remote.log.delete.on.disable",
    ), _flag),
    **dict.fromkeys(
        ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"), _REPLICAS
    ),
    "retention.ms": _between(-1, _LONG),
    "retention.bytes": _between(-_LONG - 1, _LONG),
    "segment.bytes": _between(14, _INT),
    "segment.index.bytes": _between(4, _INT),
    "min.insync.replicas": _between(1, _INT),
    "min.cleanable.dirty.ratio": _share,
    "cleanup.policy": _some_of(("compact", "delete")),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.gzip.level": lambda value: _between(1, 9)(value) or value == "-1",
    "compression.lz4.level": _between(1, 17),
    "compression.zstd.level": _between(-131072, 22),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "message.format.version": _like(r"[0-9]+(\.[0-9]+)*(-IV[0-9]+)?"),
}  # fmt: skip


def is_taken(setting: str, value: str) -> bool:
    """True if a broker takes that value for a topic's setting, or does not know the setting."""
    check = _TAKEN.get(setting)
    return check is None or check(value.strip())


_OF_BROKERS = "log."
"""Most settings of topics have a default of that name with this prefix, and the others have one of the same name."""

_MOST_THREADS = 9999
"""With more, a node runs out of memory or descriptors before it has started."""

_POOLS = frozenset((
    "num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir",
    "background.threads", "log.cleaner.threads",
))  # fmt: skip


def is_taken_of_broker(setting: str, value: str) -> bool:
    """True if Kafka takes this value of a broker's setting."""
    if setting in _POOLS:
        return _between(1, _MOST_THREADS)(value.strip())
    return is_taken(setting.removeprefix(_OF_BROKERS), value)
