"""Streams in tests, run to their end."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import StreamingQueryException

from kafkafs.spark.stream_offset import LOGS

ATTEMPTS = 3


def finish(query: Callable[[], object]) -> None:
    """Calls `query`, which runs a stream to its end, again where Spark could not even start its Python worker.

    A stream's worker has ten seconds to start, which no setting changes (`PythonWorkerFactory.createSimpleWorker`): a
    loaded machine takes longer now and then. What a stream has done stays done, so it may be run again.
    """
    for attempt in range(ATTEMPTS):
        try:
            query()
            return
        except StreamingQueryException as error:
            if attempt == ATTEMPTS - 1 or "failed to connect back" not in str(error):
                raise


def offsets(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The offsets of a stream as Spark's own source would write them: without what they know of the logs."""
    return {topic: partitions for topic, partitions in progress.items() if not topic.startswith(LOGS)}
