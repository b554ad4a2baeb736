"""How far a Spark job is, on standard error: see `status_line`."""

from types import TracebackType

from kafkafs.cli.status_line import StatusLine
from kafkafs.spark.jobs import Step


class SparkProgress:
    """One command's progress, from its first moment to the end of its block."""

    def __init__(self, name: str, first: str = "starting Spark") -> None:
        """`first` says what it does at first."""
        self._name, self._first = name, first
        self._line = StatusLine()

    def __enter__(self) -> "SparkProgress":
        self._line.say(f"{self._name}: {self._first}…")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.clear()

    def clear(self) -> None:
        """Takes the line away, until the next step: something is printed."""
        self._line.clear()

    def starting(self) -> None:
        """Shows that Spark is starting."""
        self._line.say(f"{self._name}: starting Spark…")

    def __call__(self, step: Step) -> None:
        """Shows how far a job is."""
        self._line.show(step.name, step.done_bytes, step.size, f"{step.done:,} of {step.units:,} parts")
