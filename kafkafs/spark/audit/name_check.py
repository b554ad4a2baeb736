"""Names and identities in data directories: what no broker puts there, and what must not be there twice."""

from collections import Counter
from collections.abc import Iterable

from kafkafs.errors import CorruptData, KafkafsError, NotFound, Vanished
from kafkafs.format.checkpoints import parse_partition_metadata
from kafkafs.format.names import (
    BROKER_DIRECTORIES,
    META_PROPERTIES,
    PARTITION_METADATA,
    is_of_data_directory,
    is_of_partition,
    parse_partition_name,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.replicas import broker_of
from kafkafs.spark.audit.findings import Finding, Where


def check_names(directory: DataDirectory) -> list[Finding]:
    """Files and directories that no broker makes: it refuses to start beside a directory that is no partition."""
    findings = []
    with directory.root.scan() as entries:
        found = sorted(
            (each.name, each.is_symlink(), each.is_dir(follow_symlinks=False), each.is_file(follow_symlinks=False))
            for each in entries
        )
    for name, is_link, is_directory, is_file in found:
        where = Where(str(directory.path), name)
        if is_link and parse_partition_name(name):
            findings.append(where.finding("not-regular", "the partition is a symbolic link, which is not followed"))
        elif is_of_data_directory(name) and not is_file and not is_directory:
            findings.append(where.finding("not-regular", "it is no regular file, and only those are read"))
        elif is_directory and not parse_partition_name(name) and name not in BROKER_DIRECTORIES:
            findings.append(where.finding("foreign", "the directory is no partition, and a broker would not start"))
        elif not is_directory and not is_of_data_directory(name):
            findings.append(where.finding("foreign", "no file that a broker makes has this name"))
    for partition in sorted(directory.names()):
        try:
            names = sorted(directory.partition(partition).listing().names)
        except (NotFound, Vanished):
            continue
        for name in names:
            if not is_of_partition(name):
                where = Where(str(directory.path), f"{partition}/{name}")
                findings.append(where.finding("foreign", "no file that a broker makes has this name"))
    return findings + _properties(directory)


def _properties(directory: DataDirectory) -> list[Finding]:
    where = Where(str(directory.path), META_PROPERTIES)
    try:
        text = directory.root.read_whole(META_PROPERTIES).decode()
    except NotFound:
        return []
    except UnicodeDecodeError:
        return [where.finding("properties", "it cannot be read: it is not text")]
    except KafkafsError as error:
        return [where.finding("properties", f"it cannot be read: {error}")]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "!"))]
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    if len(told) < len(lines) or told.get("version", "0").strip() not in ("0", "1"):
        return [where.finding("properties", "it does not tell a node's identity as 'name=value' lines, version 0 or 1")]
    return []


def check_topic_ids(directories: Iterable[DataDirectory]) -> list[Finding]:
    """Partitions whose topic id is not that of their topic's other partitions."""
    told: dict[str, dict[Where, str]] = {}
    for directory in directories:
        for name, parsed in sorted(directory.names().items()):
            if parsed.mark:
                continue
            try:
                identity = parse_partition_metadata(directory.root.read_whole(f"{name}/{PARTITION_METADATA}"))
            except (NotFound, CorruptData):
                continue
            told.setdefault(parsed.topic, {})[Where(str(directory.path), f"{name}/{PARTITION_METADATA}")] = identity
    findings = []
    for topic, identities in sorted(told.items()):
        usual, _ = Counter(identities.values()).most_common(1)[0]
        findings += [
            where.finding("topic-id", f"it is {identity}, and that of {topic} is {usual}")
            for where, identity in identities.items()
            if identity != usual
        ]
    return findings


def check_twins(directories: Iterable[DataDirectory]) -> list[Finding]:
    """Partitions that stand in two data directories of a broker, which would refuse to start. Replicas are none."""
    seen: dict[str, list[DataDirectory]] = {}
    findings = []
    for directory in directories:
        broker = broker_of(directory)
        for name in directory.names():
            others = seen.setdefault(name, [])
            twin = next((each for each in others if broker is None or broker_of(each) in (None, broker)), None)
            others.append(directory)
            if twin is not None:
                where = Where(str(directory.path), name)
                findings.append(where.finding("twin", f"the partition stands in {str(twin.path)!r} as well"))
    return findings
