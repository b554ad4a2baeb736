"""The offset of a stream: the next offset of each partition, and the log that the records before it were read from.

The JSON is that of Spark's Kafka source, `{"orders":{"0":30}}`, and one member more. The name of that member holds the
topic ids and the last batches, and its value is an empty object. No topic can have such a name, so Spark's Kafka source
and earlier releases of kafkafs see a topic without partitions, and go on with a checkpoint of this release.
Source: JsonUtils.partitionOffsets.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from kafkafs.errors import UsageError
from kafkafs.log.lineage import BatchMark, LogIdentity
from kafkafs.log.log import Log
from kafkafs.tables.offsets import PartitionOffsets, TopicPartition, from_dict, to_dict
from kafkafs.tables.planning import PartitionLook

LOGS = "kafkafs logs "
"""The beginning of the member's name; JSON follows: {topic: {topic id: {partition: last batch}}}."""

Logs = Mapping[TopicPartition, LogIdentity]


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The next offset of each partition, and the log of each, as far as it is known."""

    at: PartitionOffsets = field(default_factory=dict)
    logs: Logs = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object that Spark writes into a checkpoint; equal offsets make equal text."""
        return to_dict(self.at) | _member({name: self.logs[name] for name in sorted(self.at) if name in self.logs})


def stream_offset(words: Mapping[str, Any]) -> StreamOffset:
    """The offset in such an object. Without the member nothing is known of the logs. UsageError for a damaged one."""
    logs: dict[TopicPartition, LogIdentity] = {}
    for name in words:
        if name.startswith(LOGS):
            try:
                logs |= _logs(json.loads(name.removeprefix(LOGS)))
            except (ValueError, TypeError, AttributeError) as error:
                raise UsageError(
                    "the checkpoint's offset names logs that this release of kafkafs cannot read; go on with the"
                    " release that wrote the checkpoint, or begin a new checkpoint"
                ) from error
    return StreamOffset(from_dict(words), logs)


def _member(logs: Logs) -> dict[str, dict[str, int]]:
    tree: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for name, known in logs.items():
        if known != LogIdentity():
            of_topic = tree.setdefault(name.topic, {}).setdefault(known.topic_id or "", {})
            of_topic[str(name.partition)] = list(known.last or ())
    return {LOGS + json.dumps(tree, separators=(",", ":")): {}} if tree else {}


def _logs(tree: Mapping[str, Mapping[str, Mapping[str, list[Any]]]]) -> dict[TopicPartition, LogIdentity]:
    return {
        TopicPartition(topic, int(number)): LogIdentity(topic_id or None, last=BatchMark(*mark) if mark else None)
        for topic, ids in tree.items()
        for topic_id, partitions in ids.items()
        for number, mark in partitions.items()
    }


class KnownLogs:
    """The logs of one stream's partitions. A log that has not changed is asked once, while its partition has it."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, tuple[ref[Log], int, LogIdentity | None, LogIdentity]] = {}

    def of(self, look: PartitionLook, end: int, before: StreamOffset) -> LogIdentity:
        """The log of a partition, as one that reads up to `end` knows it, and knew it `before`."""
        name, log = look.location.name, look.log
        known = before.logs.get(name)
        seen = self._seen.get(name)
        if seen is not None and seen[0]() is log and seen[1:3] == (end, known):
            return seen[3]
        is_same = known is not None and known.difference(log) is None
        if known is not None and is_same and before.at.get(name) == end:
            found = known  # a batch that was compacted meanwhile begins no micro-batch
        else:
            found = LogIdentity.before(log, end)
            if known is not None and is_same:
                found = known.extended_by(found)
        self._seen[name] = ref(log), end, known, found
        return found
