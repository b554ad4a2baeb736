"""Checks of one partition that span its segments: offsets, leader epochs, snapshots, small files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from kafkafs.disk.directory import Directory
from kafkafs.errors import KafkafsError, NotFound
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs, parse_partition_metadata
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA, is_of_partition, segment_file
from kafkafs.format.producer_snapshot import is_cut, parse_producer_snapshot
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.health import is_compacted_away
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.spark.audit.findings import CheckedFile, Finding

Content = TypeVar("Content")
EpochSpans = list[tuple[int, int, int]]
"""(leader epoch, first and last offset under it) as the batches of a partition tell, in offset order."""


@dataclass(frozen=True, slots=True)
class OffsetSpan:
    """The offsets of a segment's batches, and whether some are missing among them."""

    where: CheckedFile
    first: int
    last: int
    has_gaps: bool


def is_compacted(directory: DataDirectory, partition: Partition) -> bool:
    """True if the broker has ever compacted the partition, here or at the place its files come from, or compacts it now
    for the first time: then offsets and transactions may be missing."""
    if partition.listing().compacting or any(map(is_compacted_away, partition.segments())):
        return True
    return (partition.name.topic, partition.name.partition) in (directory.checkpoints.cleaner_offsets() or ())


def check_joints(spans: Sequence[OffsetSpan | None]) -> list[Finding]:
    """Offsets missing between segments, where none is missing inside one: a broker rolls at the log end, and only
    compaction, here or where a follower's data come from, leaves gaps. None for a segment that was not read."""
    if any(each and each.has_gaps for each in spans):
        return []
    return [
        before.where.finding(
            "missing-offsets", f"the log ends with offset {before.last}, and the next segment that is there begins at"
            f" {after.first}", offset=before.last + 1,
        )
        for before, after in pairwise(spans)
        if before and after and before.last + 1 != after.first
    ]  # fmt: skip


def check_small_files(partition: Partition, data_directory: str, clean: bool) -> list[Finding]:
    """Snapshots and metadata of a partition, and names that cannot be. `clean`: the broker was stopped in order."""
    listing = partition.listing()
    directory = partition.name.directory
    findings = [CheckedFile(data_directory, directory).finding("not-regular", problem) for problem in listing.problems]
    for offset, name in listing.producer_snapshots.items():
        if clean or not _is_being_written(partition, name, offset):
            where = CheckedFile(data_directory, f"{directory}/{name}")
            parsed_file(partition.root, where, "snapshot", parse_producer_snapshot, findings)
    if PARTITION_METADATA in listing.names:
        where = CheckedFile(data_directory, f"{directory}/{PARTITION_METADATA}")
        parsed_file(partition.root, where, "partition-metadata", parse_partition_metadata, findings)
    logless = listing.logless
    in_tier = set(filter(partition.log().is_in_tier, logless)) if logless else set()
    for offset in logless:
        where = CheckedFile(data_directory, f"{directory}/{segment_file(offset, 'log')}")
        message = "the log is missing though its indexes are there"
        if offset in in_tier:  # if the tier has lost these offsets, too, a finding of their own says so
            message += "; its offsets are asked of the tier"
            findings.append(where.finding("missing-log", message, offset=offset, severity="note"))
        else:
            findings.append(where.finding("missing-log", message, offset=offset))
    return findings


def check_epochs(partition: Partition, data_directory: str, spans: EpochSpans) -> list[Finding]:
    """The batches' leader epochs against each other and against the checkpoint."""
    findings: list[Finding] = []
    where = CheckedFile(data_directory, f"{partition.name.directory}/{LEADER_EPOCHS}")
    epochs = parsed_file(partition.root, where, "leader-epoch-checkpoint", parse_leader_epochs, findings)
    if epochs is None:
        return findings
    for before, after in pairwise(epochs):
        if after.epoch <= before.epoch or after.start_offset < before.start_offset:
            findings.append(where.finding(
                "leader-epoch-checkpoint", f"epoch {after.epoch} from offset {after.start_offset} cannot follow"
                f" epoch {before.epoch} from offset {before.start_offset}", offset=after.start_offset,
            ))  # fmt: skip
    if findings:
        return findings
    if not epochs:
        named = [each for each in spans if each[0] >= 0]
        message = "it is empty, and batches are of leader epoch {0} from offset {1} on"
        return [where.finding("leader-epoch-checkpoint", message.format(*each), offset=each[1]) for each in named[:1]]
    return [
        where.finding("leader-epoch-checkpoint", message, offset=first)
        for epoch, first, _ in spans
        if epoch >= 0 and (message := _against_batches(epochs, epoch, first))
    ]


def _against_batches(epochs: Sequence[LeaderEpoch], epoch: int, first: int) -> str:
    """Return the error in a checkpoint about an epoch whose first batch is at `first`, or ""."""
    start = next((each.start_offset for each in epochs if each.epoch == epoch), None)
    following = next((each for each in epochs if each.epoch > epoch and each.start_offset <= first), None)
    if following is not None:
        return (
            f"it lets leader epoch {following.epoch} begin at offset {following.start_offset},"
            f" and a batch at {first} is still of epoch {epoch}"
        )
    if start is None and epoch > epochs[0].epoch:
        return f"batches from offset {first} on are of leader epoch {epoch}, which it does not name"
    if start is not None and first < start != epochs[0].start_offset:  # the first is cut off at the log start
        return f"it lets leader epoch {epoch} begin at offset {start}, and a batch at {first} is of it"
    return ""


def end_by_now(partition: Partition) -> int | None:
    """See `known_end`, of the log as it is now."""
    partition.look_again()
    return known_end(partition.log())


def known_end(log: Log) -> int | None:
    """Return the end of a log. Return None without a segment, or if the last one may not be read: no checkpoint is
    behind that end."""
    return log.tail.end_offset if log.tail is not None and log.segments[-1].is_readable() else None


def _is_being_written(partition: Partition, name: str, offset: int) -> bool:
    """True if the broker fills this snapshot now, or did when it was killed. Until the snapshot is filled, the broker
    appends nothing behind its offset (UnifiedLog.roll)."""
    try:
        cut = is_cut(partition.read_small_file(name))
    except KafkafsError:
        return False
    return cut and end_by_now(partition) == offset


def parsed_file(
    root: Directory, where: CheckedFile, kind: str, parse: Callable[[bytes], Content], findings: list[Finding]
) -> Content | None:
    """Return the content of a small file. None if it does not exist, or if it cannot be read, which is a finding."""
    try:
        return parse(root.read_whole(where.file))
    except NotFound:
        return None
    except KafkafsError as error:
        findings.append(where.finding(kind, f"it cannot be read: {error}"))
        return None


def foreign_names(partition: Partition) -> tuple[str, ...]:
    """The files in a partition's directory that no broker makes, sorted."""
    return tuple(name for name in partition.listing().names if not is_of_partition(name))
