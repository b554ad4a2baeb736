"""The numbers that the page shows, as data: `kafkafs profile --json`.

Sizes are bytes, times are milliseconds since 1970. The same figures stand for all partitions together, for each topic
and for each partition.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kafkafs.spark.profile.figures import LAGS_MS, Codec, Figures, KeptBytes, TopKeys, by_topic, sum_of
from kafkafs.tables.offsets import TopicPartition

MOST_KEYS = 24
"""Most keys that are shown of a topic or a partition: the heaviest ones."""


def numbers_of(figures: Mapping[TopicPartition, Figures], places: Sequence[str]) -> dict[str, Any]:
    """The document, for partitions of these data directories."""
    topics = by_topic(figures)
    total = sum_of(each for _, each in sorted(figures.items()))
    partitions = Counter(name.topic for name in figures)
    return {
        "dataDirectories": list(places),
        "total": {"topics": len(topics), "partitions": len(figures), **_numbers(total)},
        "topics": [{"topic": name, "partitions": partitions[name], **_numbers(each)} for name, each in topics.items()],
        "partitions": [
            {"topic": name.topic, "partition": name.partition, **_numbers(each)}
            for name, each in sorted(figures.items())
        ],
    }


def _numbers(each: Figures) -> dict[str, Any]:
    return {
        "records": each.records,
        "size": each.size,
        "indexSize": each.index_size,
        "contentSize": sum(codec.content for codec in each.codecs.values()),
        "segments": each.segments,
        "batches": each.batches,
        "damaged": each.damaged,
        "firstTimestamp": each.first_ms,
        "lastTimestamp": each.last_ms,
        "withoutTimestamp": each.untimed,
        "outOfOrder": sum(each.lags[1:]),
        "keys": each.keys,
        "withoutKey": each.null_keys,
        "tombstones": each.tombstones,
        "transactional": each.transactional,
        "abortedTransactions": each.aborts,
        "codecs": [_codec(name, codec) for name, codec in sorted(each.codecs.items())],
        "recordSizes": _powers(each.record_sizes),
        "batchSizes": _powers(each.batch_sizes),
        "lags": [{"upToMs": up_to, "records": count} for up_to, count in zip((*LAGS_MS, None), each.lags, strict=True)],
        "volume": _volume(each),
        "heaviestKeys": _keys(each.top_keys),
        "kept": _kept(each.kept),
    }


def _codec(name: str, codec: Codec) -> dict[str, Any]:
    return {
        "codec": name, "batches": codec.batches, "records": codec.records, "size": codec.stored,
        "contentSize": codec.content,
    }  # fmt: skip


def _powers(histogram: Counter[int]) -> list[dict[str, int]]:
    """How many sizes are smaller than a power of two, and no smaller than the one before."""
    return [{"below": 1 << power, "count": count} for power, count in sorted(histogram.items())]


def _volume(each: Figures) -> dict[str, Any]:
    steps = [
        {"timestamp": number * each.step_s * 1000, "records": records, "contentSize": size}
        for number, (records, size) in sorted(each.volume.items())
    ]
    return {"stepSeconds": each.step_s, "steps": steps}


def _keys(keys: TopKeys) -> list[dict[str, Any]]:
    """The first bytes of each key, as the page shows them."""
    return [
        {"key": key.shown.decode("utf-8", "backslashreplace"), "records": key.records, "contentSize": key.size}
        for key in keys.heaviest(MOST_KEYS)
    ]


def _kept(kept: KeptBytes) -> dict[str, Any]:
    return {
        "writtenTo": kept.active, "fromTheFuture": kept.future, "until": kept.future_until_ms,
        "belowLogStart": kept.below_start, "withoutTimestamp": kept.untimed, "waiting": kept.waiting,
        "waitingSince": kept.waits_since_ms,
    }  # fmt: skip
