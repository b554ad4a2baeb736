"""Directories that a broker renamed to `-stray` although the topic's id is still theirs (KAFKA-15605, KAFKA-14616)."""

from collections.abc import Sequence
from dataclasses import replace

from kafkafs.cluster.topic_partitions import TopicMetadata
from kafkafs.errors import UNREADABLE
from kafkafs.format.names import PARTITION_METADATA
from kafkafs.log.data_directory import DEFAULT_OPTIONS, DataDirectory
from kafkafs.spark.audit.findings import CheckedFile, Finding


def check_set_aside(directories: Sequence[DataDirectory]) -> list[Finding]:
    """A finding for each of them. The metadata log is read only if a directory is stray."""
    strays = [
        (each, name, parsed)
        for each in directories for name, parsed in sorted(each.names().items()) if parsed.mark == "stray"
    ]  # fmt: skip
    if not strays:
        return []
    metadata = TopicMetadata(directories, DEFAULT_OPTIONS)
    topics = {metadata.compare(topic, ()).topic_id: topic for topic in metadata.topics()}
    in_use = {name for each in directories for name in each.names_on_disk()}
    findings = []
    for directory, name, parsed in strays:
        topic = topics.get(directory.topic_id(name))
        if topic is not None:
            lone = f"{topic}-{parsed.partition}" not in in_use
            finding = CheckedFile(str(directory.path), f"{name}/{PARTITION_METADATA}").finding(
                "stray-own-id",
                f"a broker set {name} aside as stray{_offsets(directory, name)}, though its topic id is that of {topic}"
                f"{' and no directory here has that partition' if lone else ''}; `kafkafs revive --include stray` takes"
                " it",
            )
            findings.append(replace(finding, topic=topic))
    return findings


def _offsets(directory: DataDirectory, name: str) -> str:
    try:
        log = directory.partition(name).log()
    except UNREADABLE:
        return ""
    return f", with offsets {log.start_offset} to {log.end_offset - 1}" if log.end_offset > log.start_offset else ""
