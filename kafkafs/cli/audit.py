"""`kafkafs audit`: every CRC, index entry and invariant of whole data directories."""

import argparse
import sys
from collections import Counter
from functools import partial
from typing import get_args

from kafkafs.cli.exit_codes import output_errors_named, say
from kafkafs.cli.spark_command import (
    SparkProgress,
    chosen_topics,
    engine,
    file_to_write,
    named_directories,
    progress_of,
    write_shown,
)  # fmt: skip
from kafkafs.log.read_options import TierSource
from kafkafs.spark.audit.audit_job import AuditReport, audit, ignore_finding
from kafkafs.spark.audit.findings import Finding, Severity
from kafkafs.spark.audit.replica_check import pairs_of
from kafkafs.tables.locations import data_directories
from kafkafs.tables.missing import missing_sentence, missing_topics, unknown
from kafkafs.view.ownership import mode_of_copies

EXIT_FINDINGS = 1


def run(arguments: argparse.Namespace) -> int:
    """Prints the findings and a summary: 0 if there are none, 1 if there are."""
    report = _audit(arguments)
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


def _audit(arguments: argparse.Namespace) -> AuditReport:
    with progress_of(arguments, "audit") as progress:
        paths = named_directories(arguments.data_dirs)
        source = TierSource.parse(arguments.tiered, arguments.tiered_key)
        topics = chosen_topics(arguments, paths, source)
        place = file_to_write(arguments.report, paths) if arguments.report else None
        missing = missing_topics(paths, topics.takes, source)
        with engine(arguments, progress) as where:
            report = audit(
                where, paths, progress, topics, ignore_finding if place else partial(print_finding, progress),
                deep=arguments.deep, compare_replicas=arguments.compare_replicas,
                source=source,
                missing=missing if arguments.fail_on_data_loss else (),
            )  # fmt: skip
    if missing and not arguments.fail_on_data_loss:
        say(f"{missing_sentence(missing)}; going on without them")
    for problem in unknown(paths, source):
        say(problem)
    if arguments.compare_replicas and not pairs_of(paths, topics):
        say("no replicas were compared: no partition is in two brokers' directories; name those of other brokers, too")
    if place is not None:
        mode = mode_of_copies(data_directories(paths), topics.takes)
        write_shown(place, "".join(finding.to_json() + "\n" for finding in report.findings), mode)
    return report


def print_finding(progress: SparkProgress, finding: Finding) -> None:
    """Print a finding at once. DiskError if it cannot be: no exit code may say "clean" or "findings"."""
    progress.clear()
    with output_errors_named():
        sys.stdout.write(finding.to_json() + "\n")
        sys.stdout.flush()
