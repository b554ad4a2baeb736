"""`kafkafs audit`: every CRC, index entry and invariant of whole data directories, on Spark."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from kafkafs.cli.endings import EXIT_USAGE, drop_output, say
from kafkafs.cli.parser import Commands
from kafkafs.cli.spark_arguments import add_common, data_directories, file_to_write
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.errors import KafkafsError, UsageError
from kafkafs.spark.audit.findings import Severity

if TYPE_CHECKING:
    from kafkafs.spark.audit.job import Report

EXIT_FINDINGS = 1
EXIT_COULD_NOT_RUN = EXIT_USAGE

DESCRIPTION = """Checks every batch (CRC, size, order of offsets), every entry of every index against what it points at,
transaction indexes, leader epochs, snapshots and checkpoints. Each finding is one line of JSON on standard output, a
summary follows on standard error. Each has a severity: data loss, rebuildable index (see `kafkafs reindex`), or note.
Exit code 0: clean; 1: findings; 2: the audit could not run. The padding of a growing index and the torn end of a log in
use are no findings. Nothing is changed."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit", help="check every batch, index and checkpoint (Spark)", description=DESCRIPTION,
        examples=[
            "kafkafs audit /var/kafka-logs",
            "kafkafs audit /broker1/kafka /broker2/kafka --compare-replicas --report findings.jsonl",
        ],
    )  # fmt: skip
    add_common(parser)
    parser.add_argument("--deep", action="store_true", help="unpack every batch and check every record in it, too")
    parser.add_argument(
        "--compare-replicas", action="store_true",
        help="hold the replicas in several brokers' directories against each other, and name where they part",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the findings there, not to standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        report = _audit(arguments)
    except KafkafsError as error:
        say(str(error))
        return EXIT_COULD_NOT_RUN
    summary = Counter(finding.kind for finding in report.findings)
    looked_at = (
        f"{report.partitions:,} partitions, {report.segments:,} segments, {report.batches:,} batches,"
        f" {report.size / 1e6:,.1f} MB"
    )
    if not summary:
        print(f"clean: {looked_at}", file=sys.stderr)
        return 0
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary.most_common())
    severities = Counter(finding.severity for finding in report.findings)
    worst = ", ".join(f"{severities[each]:,} {each}" for each in get_args(Severity) if severities[each])
    print(f"{len(report.findings):,} findings ({kinds}) in {looked_at}: {worst}", file=sys.stderr)
    return EXIT_FINDINGS


def _audit(arguments: argparse.Namespace) -> "Report":
    with SparkProgress("audit") as progress:
        paths = data_directories(arguments.data_dirs)
        place = file_to_write(arguments.report, paths) if arguments.report else None
        from kafkafs.spark.session import session

        with session(arguments.master, "audit", progress.starting) as spark:
            from kafkafs.spark.audit.job import audit

            report = audit(spark, paths, progress, deep=arguments.deep, compare_replicas=arguments.compare_replicas)
    lines = "".join(finding.to_json() + "\n" for finding in report.findings)
    _write(lines, place)
    return report


def _write(lines: str, place: Path | None) -> None:
    """To a file or to standard output. UsageError where it cannot be: no exit code may say "clean" or "findings"."""
    try:
        if place is not None:
            place.write_text(lines)
        elif lines:
            sys.stdout.write(lines)
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if place is None:
            drop_output()
        told = "standard output" if place is None else repr(str(place))
        raise UsageError(f"{told} cannot be written: {error.strerror}") from error
