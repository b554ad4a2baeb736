"""Work over many segments side by side: bundled into tasks of some megabytes, with progress for who waits.

A unit of work is a picklable value with a weight in bytes; a function of this package maps it to a result. Nothing
differs between an embedded Spark and a cluster.
"""

import functools
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_BYTES = 64 << 20
MOST_TASKS = 2000
_REDRAW_S = 0.2
_CLEAR_LINE = "\r\x1b[K"


class Unit(Protocol):
    """What a task is made of."""

    @property
    def weight(self) -> int:
        """Bytes that it will read, about."""
        ...


Work = TypeVar("Work", bound=Unit)
Result = TypeVar("Result")


def run(spark: "SparkSession", name: str, units: Sequence[Work], function: Callable[[Work], Result]) -> list[Result]:
    """The results, in the order of the units."""
    if not units:
        return []
    context = spark.sparkContext
    bundles = _bundles(units)
    done, finished = context.accumulator(0), context.accumulator(0)

    def work(bundle: list[Work]) -> list[Result]:
        results = []
        for unit in bundle:
            results.append(function(unit))
            done.add(unit.weight)
            finished.add(1)
        return results

    job = context.parallelize(bundles, len(bundles)).map(work)
    progress = _Progress(name, len(units), sum(unit.weight for unit in units))
    return [result for bundle in progress.watch(job.collect, done, finished) for result in bundle]


def _bundles(units: Sequence[Work]) -> list[list[Work]]:
    """Neighbours together, up to some megabytes."""
    enough = max(TASK_BYTES, sum(unit.weight for unit in units) // MOST_TASKS)
    bundles: list[list[Work]] = []
    size = enough
    for unit in units:
        if size >= enough or len(bundles[-1]) >= 64:
            bundles.append([])
            size = 0
        bundles[-1].append(unit)
        size += unit.weight
    return bundles


class _Progress:
    """One line on a terminal, drawn anew while a job runs: how far it is, its rate, the time left."""

    def __init__(self, name: str, units: int, size: int) -> None:
        self._name, self._units, self._size = name, units, size
        self._started = time.monotonic()

    def watch(self, job: Callable[[], list[Result]], done: Any, finished: Any) -> list[Result]:
        """Runs the job, in a thread of its own where a person watches."""
        if not sys.stderr.isatty():
            return job()
        answers: list[Any] = []
        failures: list[BaseException] = []
        thread = threading.Thread(target=functools.partial(_keep, job, answers, failures), daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_REDRAW_S)
            self._draw(done.value, finished.value)
        sys.stderr.write(_CLEAR_LINE)
        sys.stderr.flush()
        if failures:
            raise failures[0]
        found: list[Result] = answers[0]
        return found

    def _draw(self, done: int, finished: int) -> None:
        passed = time.monotonic() - self._started
        line = f"{self._name}: {finished:,} of {self._units:,} parts, {done / 1e6:,.0f} of {self._size / 1e6:,.0f} MB"
        if done and passed > 1:
            left = max(self._size - done, 0) * passed / done
            line += f", {done / passed / 1e6:,.0f} MB/s, {_duration(left)} left"
        sys.stderr.write(_CLEAR_LINE + line)
        sys.stderr.flush()


def _keep(job: Callable[[], Any], answers: list[Any], failures: list[BaseException]) -> None:
    try:
        answers.append(job())
    except BaseException as error:
        failures.append(error)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
