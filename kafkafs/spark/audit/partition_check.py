"""What spans segments, or belongs to a whole data directory: leader epochs, snapshots, checkpoints, names."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from kafkafs.errors import CorruptData, KafkafsError, NotFound
from kafkafs.format.checkpoints import parse_leader_epochs, parse_offset_checkpoint, parse_partition_metadata
from kafkafs.format.names import parse_partition_name, parse_segment_file
from kafkafs.format.producer_snapshot import parse_producer_snapshot
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.spark.audit.findings import Finding, Where

EPOCHS, METADATA = "leader-epoch-checkpoint", "partition.metadata"
OFFSET_CHECKPOINTS = {
    "replication-offset-checkpoint": "high watermark",
    "log-start-offset-checkpoint": "log start offset",
    "recovery-point-offset-checkpoint": "recovery point",
    "cleaner-offset-checkpoint": "first dirty offset",
}
Epochs = list[tuple[int, int, int]]
"""(leader epoch, first and last offset under it) as the batches of a partition tell, in offset order."""


def check_small_files(partition: Partition, data_directory: str) -> list[Finding]:
    """Snapshots and metadata of a partition, and names that cannot be."""
    findings: list[Finding] = []
    listing = partition.listing()
    directory = partition.name.directory
    for problem in listing.problems:
        findings.append(Where(data_directory, directory).finding("not-regular", problem))
    kinds: dict[int, set[str]] = {}
    for name in listing.files:
        parsed = parse_segment_file(name)
        if parsed is not None and parsed.kind == "snapshot":
            findings += _parsed(partition, data_directory, name, "snapshot", parse_producer_snapshot)
        elif parsed is not None:
            kinds.setdefault(parsed.offset, set()).add(parsed.kind)
        elif name == METADATA:
            findings += _parsed(partition, data_directory, name, "partition-metadata", parse_partition_metadata)
    for offset, found in sorted(kinds.items()):
        if "log" not in found and offset not in listing.segments:
            where = Where(data_directory, f"{directory}/{offset:020d}.log")
            message = "the log is missing though its indexes are there"
            findings.append(where.finding("missing-log", message, offset=offset))
    return findings


def check_epochs(partition: Partition, data_directory: str, told: Epochs) -> list[Finding]:
    """The batches' leader epochs against each other and against the checkpoint."""
    where = Where(data_directory, f"{partition.name.directory}/{EPOCHS}")
    try:
        data = partition.root.read_whole(where.file)
    except NotFound:
        return []
    try:
        epochs = parse_leader_epochs(data)
    except CorruptData as error:
        return [where.finding("leader-epoch-checkpoint", f"it cannot be read: {error}")]
    findings = []
    for before, after in pairwise(epochs):
        if after.epoch <= before.epoch or after.start_offset < before.start_offset:
            findings.append(where.finding(
                "leader-epoch-checkpoint", f"epoch {after.epoch} from offset {after.start_offset} cannot follow"
                f" epoch {before.epoch} from offset {before.start_offset}", offset=after.start_offset,
            ))  # fmt: skip
    starts = {epoch.epoch: epoch.start_offset for epoch in epochs}
    if findings or not starts:
        return findings
    for epoch, first, _ in told:
        start = starts.get(epoch)
        following = [other for other in epochs if other.epoch > epoch and other.start_offset <= first]
        if epoch < 0:
            continue
        if following:
            message = (
                f"it lets leader epoch {following[0].epoch} begin at offset {following[0].start_offset},"
                f" and a batch at {first} is still of epoch {epoch}"
            )
        elif start is None and epoch > epochs[0].epoch:
            message = f"batches from offset {first} on are of leader epoch {epoch}, which it does not name"
        elif start is not None and first < start != epochs[0].start_offset:  # the first is cut off at the log start
            message = f"it lets leader epoch {epoch} begin at offset {start}, and a batch at {first} is of it"
        else:
            continue
        findings.append(where.finding("leader-epoch-checkpoint", message, offset=first))
    return findings


def check_data_directory(directory: DataDirectory, ends: Mapping[tuple[str, int], int]) -> list[Finding]:
    """The checkpoints of a data directory against where its partitions end."""
    findings: list[Finding] = []
    for name, meaning in OFFSET_CHECKPOINTS.items():
        where = Where(str(directory.path), name)
        try:
            offsets = parse_offset_checkpoint(directory.root.read_whole(name))
        except NotFound:
            continue
        except CorruptData as error:
            findings.append(where.finding("checkpoint", f"it cannot be read: {error}"))
            continue
        for place, offset in sorted(offsets.items()):
            end = ends.get(place)
            if offset < 0 or (end is not None and offset > end):
                told = "is negative" if offset < 0 else f"lies behind the end of its log, {end}"
                findings.append(where.finding(
                    "checkpoint-offset", f"the {meaning} {offset} of {place[0]}-{place[1]} {told}", offset=offset
                ))  # fmt: skip
    with directory.root.scan() as entries:
        links = sorted(each.name for each in entries if each.is_symlink() and parse_partition_name(each.name))
    for link in links:
        where = Where(str(directory.path), link)
        findings.append(where.finding("not-regular", "the partition is a symbolic link, which is not followed"))
    return findings


def check_twins(directories: Iterable[DataDirectory]) -> list[Finding]:
    """Partitions that stand in two data directories: the broker would refuse to start."""
    seen: dict[str, Path] = {}
    findings = []
    for directory in directories:
        for name in directory.names():
            other = seen.setdefault(name, directory.path)
            if other != directory.path:
                where = Where(str(directory.path), name)
                findings.append(where.finding("twin", f"the partition stands in {str(other)!r} as well"))
    return findings


def _parsed(
    partition: Partition, data_directory: str, name: str, kind: str, parse: Callable[[bytes], object]
) -> list[Finding]:
    where = Where(data_directory, f"{partition.name.directory}/{name}")
    try:
        parse(partition.root.read_whole(where.file))
    except NotFound:
        return []
    except KafkafsError as error:
        return [where.finding(kind, f"it cannot be read: {error}")]
    return []
