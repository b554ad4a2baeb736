"""The audit of whole data directories: a unit of work for each segment, and the joints between them at the end."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.errors import DiskError, KafkafsError, NotFound, Vanished
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.health import is_compacted_away
from kafkafs.log.segment import Segment
from kafkafs.log.topics import ALL_TOPICS, TopicChoice
from kafkafs.spark import jobs
from kafkafs.spark.audit.findings import Finding, Where
from kafkafs.spark.audit.index_check import check_offset_index, check_time_index
from kafkafs.spark.audit.log_check import LogTable, check_log
from kafkafs.spark.audit.name_check import check_names, check_topic_ids, check_twins
from kafkafs.spark.audit.partition_check import (
    Epochs,
    Span,
    check_data_directory,
    check_epochs,
    check_joints,
    check_small_files,
    is_compacted,
    open_by_snapshot,
)
from kafkafs.spark.audit.replica_check import compare, diverging, pairs_of
from kafkafs.spark.audit.transaction_check import SegmentTransactions, check_transactions
from kafkafs.spark.jobs import Progress, no_progress
from kafkafs.spark.locations import data_directory
from kafkafs.spark.segments import SegmentSnapshot, SegmentUnit, segments_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check = Callable[[Segment, Where, LogTable, bool], list[Finding]]
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """What one segment gave."""

    unit: SegmentUnit
    findings: list[Finding]
    batches: int = 0
    epochs: Epochs = field(default_factory=list)
    span: Span | None = None
    transactions: SegmentTransactions | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole audit."""

    findings: list[Finding]
    partitions: int
    segments: int
    batches: int
    size: int


def audit(
    spark: "SparkSession",
    data_directories: Sequence[Path],
    progress: Progress = no_progress,
    topics: TopicChoice = ALL_TOPICS,
    *,
    deep: bool = False,
    compare_replicas: bool = False,
) -> Report:
    """Looks at everything in the data directories, with `deep` at each record too, and at replicas side by side; where
    topics are chosen, at what is theirs."""
    task = partial(check_segment, clean_directories=clean_of(data_directories), deep=deep)
    units = segments_of(data_directories, topics)
    report = joined(data_directories, jobs.run(spark, "audit", units, task, progress), topics)
    if not compare_replicas:
        return report
    pairs = pairs_of(data_directories, topics)
    found = diverging(pairs, jobs.run(spark, "compare replicas", pairs, compare, progress))
    return replace(report, findings=[*report.findings, *found])


def clean_of(paths: Iterable[Path]) -> frozenset[Path]:
    """The data directories of which the broker was stopped in an orderly way."""
    return frozenset(path for path in paths if os.path.exists(path / CLEAN_SHUTDOWN))


def joined(
    data_directories: Sequence[Path], reports: Sequence[SegmentReport], topics: TopicChoice = ALL_TOPICS
) -> Report:
    """What the segments gave, and what is to be seen only of them together."""
    directories = [data_directory(path) for path in data_directories]
    clean_directories = clean_of(data_directories)  # anew: meanwhile the broker may have been started, or stopped
    findings = [*check_twins(directories), *check_topic_ids(directories)]
    by_partition: dict[tuple[Path, str], list[SegmentReport]] = {}
    for report in reports:
        by_partition.setdefault((report.unit.data_directory, report.unit.partition_directory), []).append(report)
    partitions = 0
    for directory in directories:
        ends: dict[tuple[str, int], int] = {}
        for name in sorted(name for name, parsed in directory.names().items() if topics.takes(parsed.topic)):
            found = by_partition.get((directory.path, name), [])
            findings += _partition(directory, name, found, ends, directory.path in clean_directories)
            partitions += 1
        findings += check_names(directory)
        findings += check_data_directory(directory, ends, directory.path in clean_directories)
    size = sum(report.unit.weight for report in reports)
    if not topics.is_all:
        findings = [finding for finding in findings if _is_of(topics, finding)]
    return Report(findings, partitions, len(reports), sum(report.batches for report in reports), size)


def _is_of(topics: TopicChoice, finding: Finding) -> bool:
    """Whether a finding is of one of the topics: in a partition's directory of it, or about what a checkpoint says."""
    return finding.topic is not None and topics.takes(finding.topic)


def _partition(
    directory: DataDirectory, name: str, reports: list[SegmentReport], ends: dict[tuple[str, int], int], clean: bool
) -> list[Finding]:
    """A partition's findings; where its log ends goes into `ends`. None where the broker has deleted it meanwhile."""
    findings = [finding for report in reports for finding in report.findings]
    try:
        partition = directory.partition(name)
        findings += check_small_files(partition, str(directory.path), clean)
        findings += check_epochs(partition, str(directory.path), [each for report in reports for each in report.epochs])
        compacted = is_compacted(directory, partition)
        left = list(dropwhile(lambda report: report.span is None, reports))  # the broker deletes the oldest meanwhile
        begun = None if compacted or not left else open_by_snapshot(partition, left[0].unit.base_offset)
        findings += check_transactions([report.transactions for report in left], begun)
        if not compacted and not partition.name.mark:
            findings += check_joints([report.span for report in left])
        tail = partition.log().tail
        if not partition.name.mark and tail is not None:
            ends[partition.name.topic, partition.name.partition] = tail.end_offset
    except (NotFound, Vanished):
        pass
    return findings


def check_segment(unit: SegmentUnit, clean_directories: frozenset[Path], deep: bool = False) -> SegmentReport:
    """One segment and its indexes, as of one moment; nothing of one that the broker deletes meanwhile."""
    name = parse_partition_name(unit.partition_directory)
    clean = unit.data_directory in clean_directories and not (name and name.mark)
    return unit.ask(lambda snapshot: _checked(snapshot, unit, clean, deep)) or SegmentReport(unit, [])


def _checked(snapshot: SegmentSnapshot, unit: SegmentUnit, clean: bool, deep: bool) -> SegmentReport:
    segment, root, directory = snapshot.segment, str(unit.data_directory), unit.partition_directory

    def where(kind: str) -> Where:
        """The segment's file of that kind, as findings name it; the one it would have where there is none."""
        return Where(root, f"{directory}/{segment.name_of(kind)}")

    try:
        findings, table = check_log(snapshot, where("log"), clean, deep)
    except (Vanished, NotFound):
        raise
    except KafkafsError as error:
        return SegmentReport(unit, [where("log").finding("unreadable", str(error))])
    if segment.next_base is not None and snapshot.size == 0 and not is_compacted_away(segment):
        findings.append(where("log").finding("empty-log", "it is empty though later segments follow"))
    findings += _presence(segment, where("index"), where("timeindex"), table)
    checks: dict[str, Check] = {"index": check_offset_index, "timeindex": check_time_index}
    for kind, check in checks.items():
        if kind not in segment.listed or segment.stands_in:  # which is in part what its indexes tell of
            continue
        try:
            findings += check(segment, where(kind), table, clean)
        except DiskError as error:
            findings.append(where(kind).finding("unreadable", str(error)))
    last = int(table.last_offsets[-1]) if len(table.last_offsets) else segment.base_offset - 1
    return SegmentReport(
        unit, findings, len(table.positions), table.epochs,
        Span(where("log"), segment.base_offset, last, table.has_gaps or table.damaged),
        SegmentTransactions(
            where("txnindex"), segment.base_offset,
            last + 1 if segment.next_base is None and not clean else None, table.damaged,
            table.events, _transaction_index(segment),
        ),
    )  # fmt: skip


def _transaction_index(segment: Segment) -> bytes:
    """Its bytes, read after the log; the first abort makes the file, after the segment was listed perhaps."""
    try:
        return segment.read_beside(segment.name_of("txnindex"))
    except NotFound:
        return b""


def _presence(segment: Segment, offsets: Where, times: Where, table: LogTable) -> list[Finding]:
    """Indexes that a closed segment must have."""
    if segment.next_base is None or not len(table.positions):
        return []
    findings = []
    if "index" not in segment.listed:
        findings.append(offsets.finding("missing-index", "the offset index of a closed segment is missing"))
    if "timeindex" not in segment.listed and int(table.max_timestamps.max()) >= 0:
        findings.append(times.finding("missing-index", "the time index of a closed segment is missing"))
    return findings
