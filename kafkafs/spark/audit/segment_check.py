"""All checks of one segment, in a task of its own; and those of its partition, by the reports on its segments.

If a partition has one segment alone, the same task reports on both, by one listing: there can be 100,000 of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path

from kafkafs.disk.data_paths import BucketPath
from kafkafs.errors import Denied, DiskError, KafkafsError, NotFound, Unanswered, Vanished
from kafkafs.format.names import METADATA_LOG, parse_partition_name
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.health import is_compacted_away
from kafkafs.log.producer_snapshots import open_at
from kafkafs.log.segment import Segment
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.index_check import check_offset_index, check_presence, check_time_index
from kafkafs.spark.audit.log_check import ValidBatches, check_log
from kafkafs.spark.audit.partition_check import (
    EpochSpans,
    OffsetSpan,
    check_epochs,
    check_joints,
    check_small_files,
    foreign_names,
    is_compacted,
    known_end,
)
from kafkafs.spark.audit.time_units import OddTimes, check_units, odd_times
from kafkafs.spark.audit.transaction_check import SegmentTransactions, check_transactions, read_index
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit, fetch_soon
from kafkafs.tables.locations import data_directory

Check = Callable[[Segment, CheckedFile, ValidBatches, bool], list[Finding]]


@dataclass(slots=True)
class PartitionReport:
    """A partition's own findings, beside its segments'; the files there that no broker makes (None: unknown); and its
    log end by topic and number, if that is known."""

    findings: list[Finding] = field(default_factory=list)
    names: tuple[str, ...] | None = None
    ends: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """The result of one segment."""

    unit: SegmentUnit
    findings: list[Finding]
    batches: int = 0
    epochs: EpochSpans = field(default_factory=list)
    span: OffsetSpan | None = None
    transactions: SegmentTransactions | None = None
    units: OddTimes = field(default_factory=dict)
    log_end: int | None = None
    """The log end offset, from the partition's last segment."""
    is_alone: bool = False
    """True of the only segment of a partition."""
    partition: PartitionReport | None = None
    """The report on its partition, from the same process and listing. Only a segment that is alone has it."""


def check_partition(directory: DataDirectory, name: str, reports: Sequence[SegmentReport]) -> PartitionReport:
    """See `PartitionReport`. Nothing where the broker has deleted the partition meanwhile."""
    found = PartitionReport()
    try:
        partition = directory.partition(name)
        found.names = foreign_names(partition)
        found.findings += check_small_files(partition, str(directory.path), directory.is_clean())
        epochs = [each for report in reports for each in report.epochs]
        found.findings += check_epochs(partition, str(directory.path), epochs)
        compacted = is_compacted(directory, partition)
        left = list(dropwhile(lambda report: report.span is None, reports))  # the broker deletes the oldest meanwhile
        begun = None if compacted or not left else open_at(partition, left[0].unit.base_offset)
        found.findings += check_transactions([report.transactions for report in left], begun)
        if not compacted and not partition.name.mark:
            found.findings += check_joints([report.span for report in left])
        units = [(report.span.where, report.units, report.batches) for report in left if report.span]
        found.findings += check_units(units)
        end = reports[-1].log_end if reports else None
        if end is None:
            end = known_end(partition.log())
        if not partition.name.mark and end is not None:
            found.ends[partition.name.topic, partition.name.partition] = end
    except Denied as error:
        found.findings.append(CheckedFile(str(directory.path), name).finding("unreadable", str(error)))
    except (NotFound, Vanished):
        pass
    return found


def check_segment(unit: SegmentUnit, clean_directories: frozenset[Path], deep: bool = False) -> SegmentReport:
    """One segment and its indexes, as of one moment; nothing of one that the broker deletes meanwhile.

    The mark of an orderly stop is of the broker's own logs: 4.4.0 leaves its metadata's indexes as long as they were.
    """
    name = parse_partition_name(unit.partition_directory)
    is_brokers_own = unit.partition_directory != METADATA_LOG and not (name and name.mark)
    clean = unit.data_directory in clean_directories and is_brokers_own
    report = unit.ask(lambda look: _checked(look, unit, clean, deep)) or SegmentReport(unit, [])
    if not report.is_alone:
        return report
    directory = data_directory(unit.data_directory, unit.tiered)
    beside = check_partition(directory, unit.partition_directory, [report])
    return SegmentReport(unit, report.findings, report.batches, partition=beside)


def _checked(look: SegmentLook, unit: SegmentUnit, clean: bool, deep: bool) -> SegmentReport:
    segment, root, directory = look.segment, str(unit.data_directory), unit.partition_directory

    def where(kind: str) -> CheckedFile:
        """The segment's file of that kind, as findings name it; the one it would have where there is none."""
        return CheckedFile(root, f"{directory}/{segment.name_of(kind)}")

    if not isinstance(unit.data_directory, BucketPath):  # those of a copy were asked for by `begin`
        fetch_soon(segment, segment.listed.keys() - {"log"})  # a tier's files come while the log is read
    try:
        findings, valid = check_log(look, where("log"), clean, deep)
    except (Vanished, NotFound, Unanswered):
        raise
    except KafkafsError as error:
        return SegmentReport(unit, [where("log").finding("unreadable", str(error))])
    if segment.next_base is not None and look.size == 0 and not is_compacted_away(segment):
        findings.append(where("log").finding("empty-log", "it is empty though later segments follow"))
    findings += check_presence(segment, where("index"), where("timeindex"), valid)
    checks: dict[str, Check] = {"index": check_offset_index, "timeindex": check_time_index}
    for kind, check in checks.items():
        if kind not in segment.listed or segment.overlaps_next:  # its indexes tell partly of the next segment
            continue
        try:
            segment.files.open(kind)  # for a lookup, which goes without it, one that may not be read is empty
            findings += check(segment, where(kind), valid, clean)
        except Unanswered:
            raise
        except (Denied, DiskError) as error:
            findings.append(where(kind).finding("unreadable", str(error)))
    transaction_index, more = read_index(segment, where("txnindex"))
    findings += more
    if isinstance(unit.data_directory, BucketPath):
        segment.log().forget(0, look.size)  # its memory is for the next segment: new memory costs as much as a request
    last = int(valid.last_offsets[-1]) if len(valid.last_offsets) else segment.base_offset - 1
    return SegmentReport(
        unit, findings, len(valid.positions), valid.epochs,
        OffsetSpan(where("log"), segment.base_offset, last, valid.has_gaps or valid.damaged),
        SegmentTransactions(
            where("txnindex"), segment.base_offset,
            last + 1 if segment.next_base is None and not clean else None, valid.damaged,
            valid.events, transaction_index, segment.next_base if segment.overlaps_next else None,
        ),
        odd_times(valid),
        look.log.tail.end_offset if segment.next_base is None and look.log.tail is not None else None,
        segment.next_base is None and len(look.log.segments) == 1 and not look.partition.may_be_in_a_tier,
    )  # fmt: skip
