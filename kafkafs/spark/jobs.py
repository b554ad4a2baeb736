"""Work over many segments side by side: bundled into tasks of some megabytes.

A unit of work is a picklable value with a weight in bytes; a function of this package maps it to a result. Nothing
differs between an embedded Spark and a cluster. How far a job is, its caller is told, and shows or does not.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from kafkafs.spark.waiting import awaited

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUNDLE_BYTES = 64 << 20
"""Bytes of units that a task is given at least, if there are so many."""

MOST_TASKS = 2000
_MOST_UNITS = 64  # in a task


class Step(NamedTuple):
    """How far a job is: units of work that are done, of all, and their bytes."""

    name: str
    done: int
    units: int
    done_bytes: int
    size: int


Progress = Callable[[Step], None]
"""What hears some times a second how far a job is."""


def no_progress(_: Step) -> None:
    """The `Progress` of a job that is not watched."""


class Unit(Protocol):
    """What a task is made of."""

    @property
    def weight(self) -> int:
        """Bytes that it will read, about."""
        ...


Work = TypeVar("Work", bound=Unit)
Result = TypeVar("Result")


def run(
    spark: "SparkSession",
    name: str,
    units: Sequence[Work],
    function: Callable[[Work], Result],
    progress: Progress = no_progress,
) -> list[Result]:
    """The results, in the order of the units."""
    if not units:
        return []
    context = spark.sparkContext
    bundles = _bundles(units)
    done, done_bytes = context.accumulator(0), context.accumulator(0)

    def work(bundle: list[Work]) -> list[Result]:
        """The results of one bundle, in an executor; each unit counts as done when it is."""
        results = []
        for unit in bundle:
            results.append(function(unit))
            done_bytes.add(unit.weight)
            done.add(1)
        return results

    job = context.parallelize(bundles, len(bundles)).map(work)
    size = sum(unit.weight for unit in units)
    found = awaited(job.collect, lambda: progress(Step(name, done.value, len(units), done_bytes.value, size)))
    return [result for bundle in found for result in bundle]


def _bundles(units: Sequence[Work]) -> list[list[Work]]:
    """Neighbours together, up to some megabytes."""
    enough = max(BUNDLE_BYTES, sum(unit.weight for unit in units) // MOST_TASKS)
    bundles: list[list[Work]] = []
    size = enough
    for unit in units:
        if size >= enough or len(bundles[-1]) >= _MOST_UNITS:
            bundles.append([])
            size = 0
        bundles[-1].append(unit)
        size += unit.weight
    return bundles
