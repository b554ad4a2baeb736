"""Streaming: micro-batches between two sets of offsets, which Spark keeps in its checkpoint as the Kafka source's JSON.

Sources: KafkaMicroBatchStream, KafkaOffsetReader.
"""

import logging
import math
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafkafs.spark import planning
from kafkafs.spark.locations import Location, chosen
from kafkafs.spark.offsets import PartitionOffsets, TopicPartition, from_dict, names, to_dict
from kafkafs.spark.options import SourceOptions
from kafkafs.spark.snapshots import Snapshots, planned
from kafkafs.spark.tasks import data_loss, read, tasks

logger = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Answers Spark's questions about one stream; reading is the same as in a batch."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._latest: PartitionOffsets = {}
        self._target: PartitionOffsets | None = None
        self._triggered = 0.0

    def initialOffset(self) -> dict[str, Any]:
        """Where a new stream starts: as the options say, by default at the end."""
        options = self._options
        starts = planned(
            self._locations(), options.isolation, lambda found: planning.resolve(options.starting, found, starting=True)
        )
        return to_dict(starts)

    def getDefaultReadLimit(self) -> ReadLimit:
        """What `maxOffsetsPerTrigger` or `minOffsetsPerTrigger` asks for."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on the stream ends where the logs end now."""
        self._target = self._now()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the micro-batch that begins at `start` ends; `start` itself where it is too early for one."""
        begun = from_dict(start)
        self._latest = self._now() if self._target is None else self._target
        if not self._latest:
            return start
        if isinstance(limit, ReadAllAvailable):
            return to_dict(self._latest)
        least, most = self._options.min_offsets_per_trigger, self._options.max_offsets_per_trigger
        if least is not None and self._target is None and self._is_too_early(begun, least):
            return start
        return to_dict(self._latest if most is None else self._limited(begun, most))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The ends of the logs as last seen, for the query's progress."""
        return to_dict(self._latest) if self._latest else None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch. NotFound for records that are gone, unless `failOnDataLoss` is false."""
        begun, ends = from_dict(start), from_dict(end)
        lost = data_loss(self._options.fail_on_data_loss)
        locations = self._locations()
        gone = (set(begun) | set(ends)) - set(locations)
        if gone:
            lost(f"the partitions {names(gone)} are gone, and some of their records may have been missed")
        locations = {name: locations[name] for name in ends if name in locations}

        def plan(snapshots: Snapshots) -> list[InputPartition]:
            starts, options = self._starts(snapshots, begun, ends), self._options
            ranges = planning.checked_ranges(snapshots, starts, ends, lost)
            groups = planning.splits(ranges, snapshots, options.min_partitions, options.max_records_per_partition)
            return tasks(groups, options)

        return planned(locations, self._options.isolation, plan)

    def _starts(self, snapshots: Snapshots, begun: PartitionOffsets, ends: PartitionOffsets) -> PartitionOffsets:
        """Where each partition goes on; a new one begins at its earliest offset."""
        lost = data_loss(self._options.fail_on_data_loss)
        starts = dict(begun)
        for name, snapshot in snapshots.items():
            if name not in starts:
                starts[name] = offset = snapshot.start_offset
                if offset:
                    lost(
                        f"the new partition {name} begins at offset {offset}; some of its records may have been missed"
                    )
            if ends[name] < starts[name]:
                lost(f"{name} went back from offset {starts[name]} to {ends[name]}")
                starts[name] = ends[name]
        return starts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task, in an executor."""
        return read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark's checkpoint is the only memory of a stream."""

    def _locations(self) -> dict[TopicPartition, Location]:
        return chosen(self._options.paths, self._options.choice)

    def _now(self) -> PartitionOffsets:
        return planned(self._locations(), self._options.isolation, planning.latest)

    def _begin(self, begun: PartitionOffsets) -> PartitionOffsets:
        """Where each partition goes on; a new one at its earliest offset."""
        locations = self._locations()
        added = {name: locations[name] for name in self._latest if name not in begun and name in locations}
        return begun | planned(added, self._options.isolation, planning.earliest)

    def _is_too_early(self, begun: PartitionOffsets, least: int) -> bool:
        """Whether fewer than `minOffsetsPerTrigger` have come, and `maxTriggerDelay` has not passed yet."""
        now = time.monotonic()
        begin = self._begin(begun)
        fresh = sum(end - begin.get(name, end) for name, end in self._latest.items())
        if fresh < least and now - self._triggered < self._options.max_trigger_delay_s:
            return True
        self._triggered = now
        return False

    def _limited(self, begun: PartitionOffsets, most: int) -> PartitionOffsets:
        """`most` offsets shared out in proportion to what waits in each partition, at least one for each."""
        begin = self._begin(begun)
        waiting = {name: end - begin[name] for name, end in self._latest.items() if end > begin.get(name, end)}
        total = sum(waiting.values())
        if total <= 0:
            return self._latest
        ends = dict(self._latest)
        for name, size in waiting.items():
            share = most * size / total
            ends[name] = min(ends[name], begin[name] + (math.ceil(share) if share < 1 else math.floor(share)))
        return ends
