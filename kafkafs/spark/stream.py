"""Streaming: micro-batches between two sets of offsets, which Spark keeps in its checkpoint as the Kafka source's JSON.

Sources: KafkaMicroBatchStream, KafkaOffsetReader.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkafs.cluster.topic_partitions import TopicPartitions
from kafkafs.disk.data_paths import named_now
from kafkafs.log.lineage import LogIdentity
from kafkafs.spark.frame import Frame
from kafkafs.spark.refusals import in_a_sentence
from kafkafs.spark.source_options import SourceOptions
from kafkafs.spark.stream_offset import KnownLogs, StreamOffset, stream_offset
from kafkafs.spark.tasks import in_executor, tasks
from kafkafs.tables import planning
from kafkafs.tables.cutting import planned_tasks
from kafkafs.tables.locations import Location
from kafkafs.tables.missing import chosen_here, missing_names, missing_of, missing_sentence
from kafkafs.tables.offsets import LATEST, AllAt, PartitionOffsets, Specific, TopicPartition, names, to_dict, without
from kafkafs.tables.planning import PartitionLook, PartitionRange, planned
from kafkafs.tables.ranges import NAME_ALL, data_loss

logger = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader):
    """Answers Spark's questions about one stream; reading is the same as in a batch."""

    def __init__(self, options: SourceOptions, frame: Frame) -> None:
        self._options, self._frame = options, frame
        self._logs = KnownLogs()
        self._latest: PartitionOffsets = {}
        self._ended = StreamOffset()
        """The end of the last micro-batch, before Spark 4.2, which does not tell it."""
        self._missing: list[TopicPartitions] = []
        self._gone: set[TopicPartition] = set()
        """Partitions that the stream has read, and that are missing: those of the last report."""
        self._first: StreamOffset | None = None
        """The start of a new stream, once Spark has asked for it."""
        self._at_end: PartitionOffsets = {}
        """The offsets of `_first` at which a log ended."""

    @in_a_sentence()
    def initialOffset(self) -> dict[str, Any]:
        """Return the start of a new stream: as the options say, by default the end. The same each time: Spark asks once
        for where the first micro-batch may end, and once for what it reads."""
        if self._first is None:
            self._first, self._at_end = self._bounds()
        return self._first.to_json()

    def _bounds(self) -> tuple[StreamOffset, PartitionOffsets]:
        """The start of a new stream, and those of its offsets at which a log ends."""
        locations = self._locations()
        starting = without(self._options.starting, missing_names(self._missing))
        planning.check_named(starting, AllAt(LATEST), locations)

        def begin(look: PartitionLook) -> tuple[int, LogIdentity, bool]:
            at = self._not_behind(self._latest, look.location.name, planning.resolved(starting, look))
            return at, self._logs.of(look, at, StreamOffset()), at == look.visible_end

        found = planned(locations, self._options.isolation, begin)
        first = StreamOffset(
            {name: at for name, (at, _, _) in found.items()}, {name: each[1] for name, each in found.items()}
        )
        return first, {name: at for name, (at, _, is_end) in found.items() if is_end}

    def _not_behind(self, ends: PartitionOffsets, name: TopicPartition, at: int) -> int:
        """The start of a new stream, not behind an end that was settled before, unless the options name it."""
        starting = self._options.starting
        is_named = isinstance(starting, Specific) and starting.offsets.get(name, -1) >= 0
        return at if is_named else min(at, ends.get(name, at))

    @in_a_sentence()
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # as before 4.2
        """Return the present ends of the logs."""
        self._latest = self._now()
        self._ended = self._with_logs(self._latest | self._left_at(self._ended.at), self._ended)
        return self._ended.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The ends of the logs as last seen, for the query's progress."""
        return to_dict(self._latest) if self._latest else None

    @in_a_sentence()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch. NotFound for records that are gone, unless `failOnDataLoss` is false."""
        begun, ends = stream_offset(start), stream_offset(end)
        if self._first is not None and begun.at == self._first.at:
            # a first micro-batch once more, whose end was settled before the stream was ended
            begun = replace(begun, at={name: self._not_behind(ends.at, name, at) for name, at in begun.at.items()})
        lost = data_loss(self._options.fail_on_data_loss)
        locations = self._locations()
        self._report_gone((set(begun.at) | set(ends.at)) - set(locations))
        locations = {name: locations[name] for name in ends.at if name in locations}

        def range_of(look: PartitionLook) -> PartitionRange | None:
            """The range to read between `begun` and `ends`, as far as the log has it."""
            return planning.checked_range(look, self._start(look, begun, ends), ends.at[look.location.name], lost)

        options = self._options
        groups = planned_tasks(
            locations, options.isolation, range_of, options.min_partitions, options.max_records_per_partition
        )
        return tasks(groups, options)

    def _start(self, look: PartitionLook, begun: StreamOffset, ends: StreamOffset) -> int:
        """The place at which a partition goes on. `failOnDataLoss` decides about a log that is not the one that the
        stream has read.

        A topic that was deleted and created again is read from its beginning, but not by a micro-batch that was planned
        for the topic before it.
        """
        lost = data_loss(self._options.fail_on_data_loss)
        name, end = look.location.name, ends.at[look.location.name]
        start = begun.at.get(name, look.start_offset)
        if name not in begun.at and start:
            lost(f"the new partition {name} begins at offset {start}; some of its records may have been missed")
        for known, begin in ((ends.logs.get(name), end), (begun.logs.get(name), look.start_offset)):
            if known is not None and (reason := known.difference(look.log)):
                lost(f"{name} {reason}; some of its records may have been missed")
                return min(end, begin if known.is_another_topic(look.log) else start)
        if end < start:
            lost(f"{name} went back from offset {start} to {end}")
        return min(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task, in an executor."""
        return in_executor(self._frame.read(partition))

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark's checkpoint is the only memory of a stream."""

    def _left_at(self, begun: PartitionOffsets) -> PartitionOffsets:
        """The offsets of partitions that the stream has read, and that are missing: data loss, reported once.

        Without new records elsewhere Spark asks for no plan, so `partitions` alone would not tell it. The stream keeps
        the offsets: a partition that comes back is read on from there.
        """
        left = {name: at for name, at in begun.items() if name not in self._latest}
        self._report_gone(set(left))
        return left

    def _report_gone(self, gone: set[TopicPartition]) -> None:
        if gone and gone != self._gone:
            data_loss(self._options.fail_on_data_loss)(
                f"the partitions {names(gone)} are gone, and some of their records may have been missed"
            )
        self._gone = gone

    def _locations(self) -> dict[TopicPartition, Location]:
        """The partitions that are here. Data loss where the metadata name others; reported when these change."""
        missing = missing_of(self._options)
        if missing and missing != self._missing:
            data_loss(self._options.fail_on_data_loss, NAME_ALL)(missing_sentence(missing))
        self._missing = missing
        paths = tuple(map(named_now, self._options.paths))
        return chosen_here(missing, replace(self._options, paths=paths))

    def _now(self) -> PartitionOffsets:
        return planned(self._locations(), self._options.isolation, lambda look: look.visible_end)

    def _with_logs(self, ends: PartitionOffsets, before: StreamOffset) -> StreamOffset:
        """The offset of a stream that has read up to `ends`, and was at `before`."""
        there = {name: location for name, location in self._locations().items() if name in ends}
        found = planned(
            there, self._options.isolation, lambda look: self._logs.of(look, ends[look.location.name], before)
        )
        return StreamOffset(ends, {**before.logs, **found})
