"""Checks that span segments, or belong to a whole data directory: offsets, leader epochs, snapshots, checkpoints.

And names and identities there: what no broker puts there, and what must not be there twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from kafkafs.cluster.topic_partitions import TopicPartitions
from kafkafs.disk.directory import Directory
from kafkafs.errors import CorruptData, Denied, KafkafsError, NotFound, Vanished
from kafkafs.format.checkpoints import (
    LeaderEpoch,
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from kafkafs.format.names import (
    BROKER_DIRECTORIES,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    is_of_data_directory,
    is_of_partition,
    parse_partition_name,
    segment_file,
)
from kafkafs.format.producer_snapshot import is_cut, parse_producer_snapshot
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.health import is_compacted_away
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.replicas import broker_of
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.tables.missing import only

OFFSET_CHECKPOINTS = {
    HIGH_WATERMARKS: "high watermark",
    LOG_STARTS: "log start offset",
    RECOVERY_POINTS: "recovery point",
    CLEANER_OFFSETS: "first dirty offset",
}
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
    return (partition.name.topic, partition.name.partition) in (directory.cleaner_offsets() or ())


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
            _parsed(partition.root, where, "snapshot", parse_producer_snapshot, findings)
    if PARTITION_METADATA in listing.names:
        where = CheckedFile(data_directory, f"{directory}/{PARTITION_METADATA}")
        _parsed(partition.root, where, "partition-metadata", parse_partition_metadata, findings)
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
    epochs = _parsed(partition.root, where, "leader-epoch-checkpoint", parse_leader_epochs, findings)
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


def check_data_directory(directory: DataDirectory, ends: Mapping[tuple[str, int], int], clean: bool) -> list[Finding]:
    """The checkpoints of a data directory against where its partitions end."""
    findings: list[Finding] = []
    for name, meaning in OFFSET_CHECKPOINTS.items():
        where = CheckedFile(str(directory.path), name)
        offsets = _parsed(directory.root, where, "checkpoint", parse_offset_checkpoint, findings) or {}
        for place, offset in sorted(offsets.items()):
            end = ends.get(place)
            if end is not None and offset > end and not clean:
                end = _end_of(directory, place)  # the checkpoint was written since
            contradiction = _contradiction(offset, end, exact=clean and name == RECOVERY_POINTS)
            if contradiction:
                finding = where.finding(
                    "checkpoint-offset", f"the {meaning} {offset} of {place[0]}-{place[1]} {contradiction}",
                    offset=offset,
                    severity="data loss" if end is not None and offset > end else "note",
                )  # fmt: skip
                findings.append(replace(finding, topic=place[0], partition=place[1]))
    return findings


def _end_of(directory: DataDirectory, place: tuple[str, int]) -> int | None:
    try:
        return _end_by_now(directory.partition(f"{place[0]}-{place[1]}"))
    except (NotFound, Vanished, Denied):
        return None


def _end_by_now(partition: Partition) -> int | None:
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
    return cut and _end_by_now(partition) == offset


def _contradiction(offset: int, end: int | None, *, exact: bool) -> str:
    """How a checkpoint's offset contradicts the log's end. If the broker was stopped in order, everything was
    flushed."""
    if offset < 0:
        return "is negative"
    if end is None or offset == end or (offset < end and not exact):
        return ""
    return f"is above the end of its log, {end}" if offset > end else f"is not the end of its log, {end}"


def _parsed(
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


def check_names(directory: DataDirectory, known: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """Files and directories that no broker makes: it refuses to start beside a directory that is no partition.

    None of a tier by itself, where names are those of a plug-in. `known`: the foreign names of partitions that were
    listed already.
    """
    if directory.is_tier:
        return []
    findings = []
    with directory.root.scan() as entries:
        found = sorted(
            (each.name, each.is_symlink(), each.is_dir(follow_symlinks=False), each.is_file(follow_symlinks=False))
            for each in entries
        )
    for name, is_link, is_directory, is_file in found:
        where = CheckedFile(str(directory.path), name)
        if is_link and parse_partition_name(name):
            findings.append(where.finding("not-regular", "the partition is a symbolic link, which is not followed"))
        elif is_of_data_directory(name) and not is_file and not is_directory:
            findings.append(where.finding("not-regular", "it is not a regular file, and only those are read"))
        elif is_directory and not parse_partition_name(name) and name not in BROKER_DIRECTORIES:
            findings.append(where.finding("foreign", "the directory is no partition, and a broker would not start"))
        elif not is_directory and not is_of_data_directory(name):
            findings.append(where.finding("foreign", "no file that a broker makes has this name"))
    for partition in sorted(directory.names_on_disk()):
        try:
            names = known[partition] if partition in known else foreign_names(directory.partition(partition))
        except (NotFound, Vanished, Denied):
            continue
        for name in names:
            where = CheckedFile(str(directory.path), f"{partition}/{name}")
            findings.append(where.finding("foreign", "no file that a broker makes has this name"))
    return findings + _properties(directory)


def _properties(directory: DataDirectory) -> list[Finding]:
    findings: list[Finding] = []
    where = CheckedFile(str(directory.path), META_PROPERTIES)
    if _parsed(directory.root, where, "properties", _is_identity, findings) is False:
        message = "it does not give a node's identity as 'name=value' lines, version 0 or 1"
        findings.append(where.finding("properties", message))
    return findings


def _is_identity(data: bytes) -> bool:
    """True if these are properties of a version that brokers write. Raise CorruptData if they are not text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CorruptData("it is not text") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "!"))]
    properties = dict(line.split("=", 1) for line in lines if "=" in line)
    return len(properties) == len(lines) and properties.get("version", "0").strip() in ("0", "1")


def check_topic_ids(directories: Iterable[DataDirectory]) -> list[Finding]:
    """Partitions whose topic id is not that of their topic's other partitions."""
    by_topic: dict[str, dict[CheckedFile, str]] = {}
    for directory in directories:
        for name, parsed in sorted(directory.names_on_disk().items()):
            if parsed.mark:
                continue
            if (identity := directory.topic_id(name)) is not None:
                by_topic.setdefault(parsed.topic, {})[
                    CheckedFile(str(directory.path), f"{name}/{PARTITION_METADATA}")
                ] = identity
    findings = []
    for topic, identities in sorted(by_topic.items()):
        usual, _ = Counter(identities.values()).most_common(1)[0]
        findings += [
            where.finding("topic-id", f"it is {identity}, and that of {topic} is {usual}")
            for where, identity in identities.items()
            if identity != usual
        ]
    return findings


def missing_partitions(missing: Iterable[TopicPartitions], metadata: Path | None) -> list[Finding]:
    """A finding for each partition that the `metadata` in a data directory name, and that is on no disk here."""
    where = CheckedFile(str(metadata or ""), METADATA_LOG)
    return [
        replace(where.finding("missing-partition", sentence), topic=each.topic, partition=number)
        for each in missing
        for number in each.missing
        for sentence in only(each, [number]).problems
    ]


def check_twins(directories: Iterable[DataDirectory]) -> list[Finding]:
    """Partitions that are in two data directories of a broker, which would refuse to start. Replicas are none."""
    seen: dict[str, list[DataDirectory]] = {}
    findings = []
    for directory in directories:
        broker = broker_of(directory)
        for name in directory.names_on_disk():
            others = seen.setdefault(name, [])
            twin = next((each for each in others if broker is None or broker_of(each) in (None, broker)), None)
            others.append(directory)
            if twin is not None:
                where = CheckedFile(str(directory.path), name)
                findings.append(where.finding("twin", f"the partition is in {str(twin.path)!r} as well"))
    return findings
