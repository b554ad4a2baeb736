"""Streaming: micro-batches between two sets of offsets, which Spark keeps in its checkpoint as the Kafka source's JSON.

Sources: KafkaMicroBatchStream, KafkaOffsetReader.
"""

import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkafs.spark import planning
from kafkafs.spark.frame import Frame
from kafkafs.spark.locations import Location, chosen
from kafkafs.spark.offsets import PartitionOffsets, Specific, TopicPartition, from_dict, names, to_dict
from kafkafs.spark.planning import PartitionLooks, planned
from kafkafs.spark.source_options import SourceOptions
from kafkafs.spark.tasks import data_loss, in_executor, tasks

logger = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader):
    """Answers Spark's questions about one stream; reading is the same as in a batch."""

    def __init__(self, options: SourceOptions, frame: Frame) -> None:
        self._options, self._frame = options, frame
        self._latest: PartitionOffsets = {}
        self._first: PartitionOffsets | None = None
        """Where a new stream starts, once that was asked."""
        self._at_end: PartitionOffsets = {}
        """Of those the ones at which a log ended."""

    def initialOffset(self) -> dict[str, Any]:
        """Where a new stream starts: as the options say, by default at the end. The same each time: Spark asks once for
        where the first micro-batch may end, and once for what it reads."""
        if self._first is None:
            starts, ends = planned(self._locations(), self._options.isolation, self._bounds)
            self._first = self._not_behind(self._latest, starts)
            self._at_end = {name: at for name, at in self._first.items() if at == ends[name]}
        return to_dict(self._first)

    def _bounds(self, looks: PartitionLooks) -> tuple[PartitionOffsets, PartitionOffsets]:
        return planning.resolve(self._options.starting, looks, starting=True), planning.latest(looks)

    def _not_behind(self, ends: PartitionOffsets, starts: PartitionOffsets) -> PartitionOffsets:
        """The starts of a new stream, none of them behind an end that was settled before, but for those that the
        options name."""
        starting = self._options.starting
        named = {name for name, at in starting.offsets.items() if at >= 0} if isinstance(starting, Specific) else ()
        return {name: at if name in named else min(at, ends.get(name, at)) for name, at in starts.items()}

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # as before 4.2
        """Where the logs end now."""
        self._latest = self._now()
        return to_dict(self._latest)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The ends of the logs as last seen, for the query's progress."""
        return to_dict(self._latest) if self._latest else None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch. NotFound for records that are gone, unless `failOnDataLoss` is false."""
        begun, ends = from_dict(start), from_dict(end)
        if begun == self._first:  # a first micro-batch once more, whose end was settled before the stream was ended
            begun = self._not_behind(ends, begun)
        lost = data_loss(self._options.fail_on_data_loss)
        locations = self._locations()
        gone = (set(begun) | set(ends)) - set(locations)
        if gone:
            lost(f"the partitions {names(gone)} are gone, and some of their records may have been missed")
        locations = {name: locations[name] for name in ends if name in locations}

        def plan(looks: PartitionLooks) -> list[InputPartition]:
            """The tasks between `begun` and `ends`, as the logs allow it in one look at all of them."""
            starts, options = self._starts(looks, begun, ends), self._options
            ranges = planning.checked_ranges(looks, starts, ends, lost)
            groups = planning.splits(ranges, looks, options.min_partitions, options.max_records_per_partition)
            return tasks(groups, options)

        return planned(locations, self._options.isolation, plan)

    def _starts(self, looks: PartitionLooks, begun: PartitionOffsets, ends: PartitionOffsets) -> PartitionOffsets:
        """Where each partition goes on; a new one begins at its earliest offset."""
        lost = data_loss(self._options.fail_on_data_loss)
        starts = dict(begun)
        for name, look in looks.items():
            if name not in starts:
                starts[name] = offset = look.start_offset
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
        return in_executor(self._frame.read(partition))

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark's checkpoint is the only memory of a stream."""

    def _locations(self) -> dict[TopicPartition, Location]:
        options = self._options
        return chosen(options.paths, options.choice, options.replicas, options.tiered)

    def _now(self) -> PartitionOffsets:
        return planned(self._locations(), self._options.isolation, planning.latest)
