"""What is shown of a job on Spark, from its first moment to its end."""

from kafkafs.cli import status_line
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.spark.jobs import Step
from tests.cli.test_status_line import terminal


def test_a_terminal_sees_that_spark_starts_then_the_job_then_nothing(monkeypatch):
    monkeypatch.setattr(status_line, "REDRAW_S", 0)
    with terminal() as seen, SparkProgress("audit") as progress:
        progress(Step("audit", 3, 6, 40_000_000, 80_000_000))
    lines = [line.strip() for line in seen[0].split("\r") if line.strip()]
    assert lines[0] == "audit: starting Spark…"
    assert lines[-1].endswith("3 of 6 parts]")
    assert seen[0].endswith("\r")
