"""How far a Spark job is, on standard error: a line that is drawn anew on a terminal, else a line now and then."""

import os
import shutil
import sys
import time
from types import TracebackType

from kafkafs.spark.jobs import Step

REDRAW_S, LINE_EVERY_S = 0.2, 30.0


class SparkProgress:
    """One command's progress, from its first moment to the end of its block."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_terminal = sys.stderr.isatty()
        self._wipe = "\r" if os.environ.get("TERM") == "dumb" else "\r\x1b[K"
        self._width = 0  # of what is drawn
        self._begun = self._told_at = time.monotonic()
        self._job = ""

    def __enter__(self) -> "SparkProgress":
        if self._is_terminal:
            self._draw(f"{self._name}: starting Spark…")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_terminal and self._width:
            self._draw("")

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
        if step.done_bytes and passed > 1:
            left = max(step.size - step.done_bytes, 0) * passed / step.done_bytes
            line += f", {step.done_bytes / passed / 1e6:,.0f} MB/s, {_duration(left)} left"
        self._tell(line)

    def _tell(self, line: str) -> None:
        now = time.monotonic()
        if now - self._told_at < (REDRAW_S if self._is_terminal else LINE_EVERY_S):
            return
        self._told_at = now
        if self._is_terminal:
            self._draw(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def _draw(self, line: str) -> None:
        line = line[: shutil.get_terminal_size().columns - 1]
        padding = " " * (self._width - len(line)) if self._wipe == "\r" else ""
        sys.stderr.write(self._wipe + line + padding + ("\r" if padding else ""))
        sys.stderr.flush()
        self._width = len(line)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
