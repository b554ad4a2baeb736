"""Work over many units: the one seam between a job and the engine that it runs on.

A unit of work is a picklable value with a weight in bytes; a function of this package maps it to a result. Nothing
differs between an embedded Spark, a cluster and the processes of `local`: the same functions over the same units, and
the results in their order. The caller gets the progress of a job, and may show it.

Java is waited for so that Ctrl-C is heard at once: the call is made in a thread of its own, the main thread waits. A
signal's handler runs there between two steps of Python, and while it waits for an answer of Java's it takes none.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, Union

from kafkafs.disk import store_session
from kafkafs.tables.local import Begin, LocalEngine, Result, Work, begin_nothing, bundles, in_turn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUNDLE_BYTES = 64 << 20
"""Bytes of units that a task of Spark's is given at least, if there are so many."""

MOST_TASKS = 2000


class Step(NamedTuple):
    """How far a job is: units of work that are done, of all, and their bytes."""

    name: str
    done: int
    units: int
    done_bytes: int
    size: int


Progress = Callable[[Step], None]
"""A listener that is called several times a second with the progress of a job."""

Engine = Union["SparkSession", LocalEngine]
"""The engine that runs a job."""


Value = TypeVar("Value")


def shared(engine: Engine, value: Value) -> Callable[[], Value]:
    """A function for the functions of `run`: it returns the value, which is sent to each process once at most."""
    if isinstance(engine, LocalEngine):
        return lambda: value  # forked processes have it from their parent
    sent = engine.sparkContext.broadcast(value)

    def found() -> Value:
        return sent.value

    return found


def no_progress(_: Step) -> None:
    """The `Progress` of a job that is not watched."""


def run(
    engine: Engine,
    name: str,
    units: Sequence[Work],
    function: Callable[[Work], Result],
    progress: Progress = no_progress,
) -> list[Result]:
    """The results, in the order of the units."""
    return list(each(engine, name, units, function, progress))


def each(
    engine: Engine,
    name: str,
    units: Sequence[Work],
    function: Callable[[Work], Result],
    progress: Progress = no_progress,
    begin: Begin[Work] = begin_nothing,
) -> Iterator[Result]:
    """The results, in the order of the units, as they come: of Spark all at the end. `begin` hears of a unit while the
    one in front of it is worked on."""
    if not units:
        return
    size = sum(unit.weight for unit in units)

    def passed(done: int, done_bytes: int) -> None:
        progress(Step(name, done, len(units), done_bytes, size))

    if isinstance(engine, LocalEngine):
        yield from engine.results(units, function, passed, begin)
    else:
        yield from _by_spark(engine, bundles(units, max(BUNDLE_BYTES, size // MOST_TASKS)), function, passed, begin)


def _by_spark(
    spark: "SparkSession",
    tasks: list[list[Work]],
    function: Callable[[Work], Result],
    passed: Callable[[int, int], None],
    begin: Begin[Work],
) -> list[Result]:
    context = spark.sparkContext
    done, done_bytes = context.accumulator(0), context.accumulator(0)

    def work(bundle: list[Work]) -> list[Result]:
        """The results of one bundle, in an executor; each unit counts as done when it is."""
        results = []
        with store_session.current.complete():
            for unit, result in zip(bundle, in_turn(bundle, function, begin), strict=True):
                results.append(result)
                done_bytes.add(unit.weight)
                done.add(1)
        return results

    job = context.parallelize(tasks, len(tasks)).map(work)
    found = wait_for(job.collect, lambda: passed(done.value, done_bytes.value))
    return [result for bundle in found for result in bundle]


Answer = TypeVar("Answer")
LOOK_S = 0.1


def nothing() -> None:
    """Report nothing: for a job that is waited for without a word."""


def wait_for(call: Callable[[], Answer], meanwhile: Callable[[], None] = nothing) -> Answer:
    """Return or raise the result of the call. `meanwhile` is called some times a second until then."""
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def answer() -> None:
        """Makes the call, in its thread, and keeps what came of it."""
        try:
            answers.append(call())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=answer, name="kafkafs-spark", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_S)
        meanwhile()
    if failures:
        raise failures[0]
    return answers[0]
