"""The audit of whole data directories: a unit of work for each segment, and at the end what they show together."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from kafkafs.cluster.topic_partitions import TopicPartitions
from kafkafs.errors import Unanswered
from kafkafs.log.read_options import TierSource
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.spark import jobs
from kafkafs.spark.audit.directory_check import (
    check_data_directory,
    check_names,
    check_topic_ids,
    check_twins,
    missing_partitions,
)
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.audit.replica_check import compare, diverging, pairs_of
from kafkafs.spark.audit.segment_check import SegmentReport, check_partition, check_segment
from kafkafs.spark.audit.set_aside_check import check_set_aside
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.segment_units import SegmentUnit, begin, segments_of
from kafkafs.tables.locations import Tiered, data_directory
from kafkafs.tables.missing import metadata_directory


def ignore_finding(_: Finding) -> None:
    """Ignore a finding: for a caller that waits for the whole report."""


@dataclass(slots=True)
class AuditReport:
    """The whole audit of the topics, which grows. Each finding is `found` as soon as it is certain."""

    topics: TopicChoice = ALL_TOPICS
    found: Callable[[Finding], None] = ignore_finding
    findings: list[Finding] = field(default_factory=list)
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    size: int = 0

    def count(self, report: SegmentReport) -> None:
        """Counts a segment."""
        self.segments += 1
        self.batches += report.batches
        self.size += report.unit.weight

    def add(self, findings: Iterable[Finding]) -> None:
        """Takes the findings about one of the topics: in a partition's directory of it, or about its line in a
        checkpoint."""
        for finding in findings:
            if self.topics.is_all or (finding.topic is not None and self.topics.takes(finding.topic)):
                self.findings.append(finding)
                self.found(finding)


def audit(
    engine: Engine,
    data_directories: Sequence[Path],
    progress: Progress = no_progress,
    topics: TopicChoice = ALL_TOPICS,
    found: Callable[[Finding], None] = ignore_finding,
    *,
    deep: bool = False,
    compare_replicas: bool = False,
    source: TierSource | None = None,
    missing: Sequence[TopicPartitions] = (),
) -> AuditReport:
    """Looks at everything in the data directories, with `deep` at each record too, and at replicas side by side; where
    topics are chosen, at what is theirs. `missing` partitions are findings, too. Each finding is `found` as soon as it
    is certain. Unanswered if a tier does not answer: that is no damage."""
    tiered = None if source is None else Tiered(source, tuple(data_directories))
    task = partial(check_segment, clean_directories=clean_of(data_directories, tiered), deep=deep)
    for path in data_directories:
        if trouble := data_directory(path, tiered).check_tier():
            raise Unanswered(trouble)
    units = segments_of(data_directories, topics, tiered, refused=False)
    report = AuditReport(topics, found)
    report.add(missing_partitions(missing, metadata_directory(data_directories)))
    joined(report, data_directories, units, jobs.each(engine, "audit", units, task, progress, begin), tiered)
    if compare_replicas:
        pairs = pairs_of(data_directories, topics)
        report.add(diverging(pairs, jobs.run(engine, "compare replicas", pairs, compare, progress)))
    return report


def clean_of(paths: Iterable[Path], tiered: Tiered | None = None) -> frozenset[Path]:
    """The data directories of which the broker was stopped in an orderly way."""
    return frozenset(path for path in paths if data_directory(path, tiered).is_clean())


def joined(
    report: AuditReport,
    data_directories: Sequence[Path],
    units: Iterable[SegmentUnit],
    reports: Iterable[SegmentReport],
    tiered: Tiered | None = None,
) -> AuditReport:
    """The report with the results of the segments, and with the findings that only show in all of them together.

    The units are those of `segments_of`, and `reports` come in their order. So do the findings.
    """
    directories = [data_directory(path, tiered) for path in data_directories]
    report.add([*check_twins(directories), *check_topic_ids(directories), *check_set_aside(directories)])
    segments = {directory.path: Counter[str]() for directory in directories}
    for unit in units:
        segments[unit.data_directory][unit.partition_directory] += 1
    coming = iter(reports)
    for directory in directories:
        counts = segments[directory.path]
        here = {name for name, parsed in directory.names().items() if report.topics.takes(parsed.topic)}
        ends: dict[tuple[str, int], int] = {}
        names: dict[str, tuple[str, ...]] = {}
        for name in sorted(here | counts.keys()):
            mine = []
            for each in islice(coming, counts[name]):
                report.count(each)
                mine.append(each)
                if name in here:
                    report.add(each.findings)
            if name not in here:
                continue  # the broker has deleted it meanwhile
            beside = (mine[0].partition if len(mine) == 1 else None) or check_partition(directory, name, mine)
            report.add(beside.findings)
            report.partitions += 1
            if beside.names is not None:
                names[name] = beside.names
            ends |= beside.ends
        report.add(check_names(directory, names))
        report.add(check_data_directory(directory, ends, directory.is_clean()))
    left = next(coming, None)  # also lets the engine end its work
    assert left is None
    return report
