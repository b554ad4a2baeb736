"""Streams of Spark 4.2 and later, which asks for read limits and for Trigger.AvailableNow.

Sources: KafkaMicroBatchStream, `rateLimit` and `delayBatch`.
"""

import logging
import math
import time
from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafkafs.spark.frame import Frame
from kafkafs.spark.refusals import in_a_sentence
from kafkafs.spark.source_options import SourceOptions
from kafkafs.spark.stream import StreamReader
from kafkafs.spark.stream_offset import stream_offset
from kafkafs.tables.offsets import LATEST, AllAt, PartitionOffsets
from kafkafs.tables.planning import planned

logger = logging.getLogger(__name__)


class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):
    """A stream whose micro-batches end where a limit, or the trigger `availableNow` says."""

    def __init__(self, options: SourceOptions, frame: Frame) -> None:
        super().__init__(options, frame)
        self._target: PartitionOffsets | None = None
        self._triggered = -math.inf
        self._is_new = self._has_warned = False

    def getDefaultReadLimit(self) -> ReadLimit:
        """The values of `maxOffsetsPerTrigger` or `minOffsetsPerTrigger`."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    @in_a_sentence()
    def prepareForTriggerAvailableNow(self) -> None:
        """Let the stream end at the present end of the logs."""
        self._target = self._latest = self._now()
        self._report_unread()

    def initialOffset(self) -> dict[str, Any]:
        """The initial offset, as of `StreamReader`. Spark asks only a new stream for it, twice."""
        first = super().initialOffset()
        self._is_new = True
        self._report_unread()
        return first

    def _report_unread(self) -> None:
        """A query that reads nothing of a disk full of records looks like one of an empty disk."""
        is_due = self._is_new and not self._has_warned
        if is_due and self._target is not None and self._options.starting == AllAt(LATEST):
            self._has_warned = True
            logger.warning(
                "this new stream (availableNow) reads none of the records that are there: startingOffsets is latest"
                " unless it is given, as in Spark's own source; set it to earliest to read them"
            )

    @in_a_sentence()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # type: ignore[override]
        """Return the end of the micro-batch that begins at `start`, or `start` itself if it is too early for one.

        A first one takes nothing of what comes while the stream begins at a log's end. Spark's checkpoint has where a
        micro-batch ends alone, and of one that was not done when a stream was ended it asks again where it begins.
        """
        at_end, self._at_end = self._at_end, {}
        begun = stream_offset(start)
        self._latest = self._now() if self._target is None else self._target
        left = self._left_at(begun.at)
        ends = left | {name: at_end.get(name, end) for name, end in self._end(begun.at, limit).items()}
        return self._with_logs(ends, begun).to_json()

    def _end(self, begun: PartitionOffsets, limit: ReadLimit) -> PartitionOffsets:
        if not self._latest:
            return begun
        if isinstance(limit, ReadAllAvailable):
            return self._latest
        least, most = self._options.min_offsets_per_trigger, self._options.max_offsets_per_trigger
        if least is not None and self._target is None and self._is_too_early(begun, least):
            return begun
        return self._latest if most is None else self._limited(begun, most)

    def _begin(self, begun: PartitionOffsets) -> PartitionOffsets:
        """Return the offset at which each partition goes on. A new one begins at its earliest offset."""
        locations = self._locations()
        added = {name: locations[name] for name in self._latest if name not in begun and name in locations}
        return begun | planned(added, self._options.isolation, lambda look: look.start_offset)

    def _is_too_early(self, begun: PartitionOffsets, least: int) -> bool:
        """True if fewer than `minOffsetsPerTrigger` have come, and `maxTriggerDelay` has not passed yet."""
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
