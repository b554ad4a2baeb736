"""How far a Spark job is, on standard error: a line that is drawn anew on a terminal, else a line now and then."""

import sys
import time
from types import TracebackType

from kafkafs.cli.status_line import StatusLine, rate_and_rest
from kafkafs.spark.jobs import Step

REDRAW_S, LINE_EVERY_S = 0.2, 30.0


class SparkProgress:
    """One command's progress, from its first moment to the end of its block."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_terminal = sys.stderr.isatty()
        self._line = StatusLine()
        self._begun = self._told_at = time.monotonic()
        self._job = ""

    def __enter__(self) -> "SparkProgress":
        if self._is_terminal:
            self._line.draw(f"{self._name}: starting Spark…")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.clear()

    def starting(self) -> None:
        """Spark has not started yet."""
        self._tell(f"{self._name}: starting Spark…")

    def __call__(self, step: Step) -> None:
        """A job is so far."""
        now = time.monotonic()
        if step.name != self._job:
            self._job, self._begun = step.name, now
        passed = now - self._begun
        line = (
            f"{step.name}: {step.done:,} of {step.units:,} parts,"
            f" {step.done_bytes / 1e6:,.0f} of {step.size / 1e6:,.0f} MB"
        )
        self._tell(line + rate_and_rest(step.done_bytes, step.size, passed))

    def _tell(self, line: str) -> None:
        now = time.monotonic()
        if now - self._told_at < (REDRAW_S if self._is_terminal else LINE_EVERY_S):
            return
        self._told_at = now
        if self._is_terminal:
            self._line.draw(line)
        else:
            print(line, file=sys.stderr, flush=True)
