"""Errors of the data source as Spark shows them: a sentence, without the traceback of Spark's Python process.

That process writes the traceback of what ends it into the error that the user gets, unless SPARK_HIDE_TRACEBACK is set.
Sources: `handle_worker_exception` in pyspark/util.py, python_streaming_source_runner.py, PythonWorkerFactory.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader

from kafkafs.disk import store_session
from kafkafs.errors import KafkafsError

_OF_WORKERS = "PYTHON_WORKER_FACTORY_"
"""The beginning of variables that Spark gives to its Python processes alone."""


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Let an error of kafkafs end Spark's Python process without a traceback. Others keep theirs: they are bugs."""
    try:
        with store_session.current.complete():
            yield
    except KafkafsError:
        if any(name.startswith(_OF_WORKERS) for name in os.environ):
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # the process ends with this error
        raise


class RefusedStream(DataSourceStreamReader):
    """A stream that cannot be: it says why as soon as Spark asks for an offset.

    Spark's process puts an error of its own behind one that is raised where the reader is made.
    """

    def __init__(self, error: KafkafsError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, Any]:
        """Raise the error."""
        self._refuse()

    def latestOffset(self, *_: object) -> dict[str, Any]:
        """Raise the error."""
        self._refuse()

    def read(self, *_: object) -> Iterator[tuple[Any, ...]]:
        """Raise the error."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        with in_a_sentence():
            raise self._error
