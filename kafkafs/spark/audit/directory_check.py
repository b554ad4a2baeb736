"""Checks of whole data directories: checkpoints, names that no broker makes, and what must not be there twice."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from kafkafs.cluster.topic_partitions import TopicPartitions
from kafkafs.errors import CorruptData, Denied, NotFound, Vanished
from kafkafs.format.checkpoints import parse_offset_checkpoint
from kafkafs.format.names import (
    BROKER_DIRECTORIES,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    is_of_data_directory,
    parse_partition_name,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.replicas import broker_of
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.partition_check import end_by_now, foreign_names, parsed_file
from kafkafs.tables.missing import only

OFFSET_CHECKPOINTS = {
    HIGH_WATERMARKS: "high watermark",
    LOG_STARTS: "log start offset",
    RECOVERY_POINTS: "recovery point",
    CLEANER_OFFSETS: "first dirty offset",
}


def check_data_directory(directory: DataDirectory, ends: Mapping[tuple[str, int], int], clean: bool) -> list[Finding]:
    """The checkpoints of a data directory against where its partitions end."""
    findings: list[Finding] = []
    for name, meaning in OFFSET_CHECKPOINTS.items():
        where = CheckedFile(str(directory.path), name)
        offsets = parsed_file(directory.root, where, "checkpoint", parse_offset_checkpoint, findings) or {}
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
        return end_by_now(directory.partition(f"{place[0]}-{place[1]}"))
    except (NotFound, Vanished, Denied):
        return None


def _contradiction(offset: int, end: int | None, *, exact: bool) -> str:
    """How a checkpoint's offset contradicts the log's end. If the broker was stopped in order, everything was
    flushed."""
    if offset < 0:
        return "is negative"
    if end is None or offset == end or (offset < end and not exact):
        return ""
    return f"is above the end of its log, {end}" if offset > end else f"is not the end of its log, {end}"


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
    if parsed_file(directory.root, where, "properties", _is_identity, findings) is False:
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
