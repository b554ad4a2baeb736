"""Directories that say to be a partition of a topic: those in use, and those that a broker has set aside.

A broker renames the directory of a partition to `-stray` where it finds no such partition of its own in the metadata,
to `-delete` before it deletes it. A topic id beside the log identifies the topic; the name may be cut off.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkafs.errors import UNREADABLE
from kafkafs.format.names import METADATA_LOG, PartitionName
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.tally import count_records
from kafkafs.revive.whole_image import WholeImage

MARKS: Mapping[str, str] = {"stray": "stray", "deleted": "delete"}
"""Words of `--include`, and the mark in a directory's name that each is about."""

_ACTS = {
    "stray": "a broker set it aside as stray",
    "delete": "a broker was deleting it",
    "future": "a broker was copying it from one of its disks to another",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A directory that says to be a partition of a topic; `topic_id` is None if it does not say of which.

    `mark` is that of its name. `is_cut`: the whole name of its topic is unknown.
    """

    directory: DataDirectory
    name: str
    topic: str
    number: int
    topic_id: str | None
    mark: str = ""
    is_cut: bool = False

    @property
    def place(self) -> str:
        """The place, quoted."""
        return repr(str(self.directory.path / self.name))

    @property
    def act(self) -> str:
        """Why it is not in use, as the beginning of a clause."""
        return _ACTS[self.mark]

    @property
    def option(self) -> str | None:
        """The option that lets it count; None if it does not exist."""
        return next((f"--include {word}" for word, mark in MARKS.items() if mark == self.mark), None)

    def left_out(self, why: str) -> str:
        """The sentence about a directory that does not count."""
        return f"{self.place} is left out ({contents([self])}): {why}"

    def partition(self) -> Partition:
        """The content of the directory."""
        return self.directory.partition(self.name)

    def replica(self) -> Replica:
        """The directory as a replica that may count."""
        source = self.directory.options.tiered if self.directory.is_lost(self.name) else None
        return Replica(self.directory, self.partition(), None if source is None else source.shown_as)


def find_claims(directories: Sequence[DataDirectory], image: WholeImage | None) -> dict[str, list[Claim]]:
    """All claims by topic, without the metadata log. A directory that is set aside is of the topic that has its id."""
    there = [(each, name, parsed) for each in directories for name, parsed in sorted(_names(each, image).items())]
    ids = {each.topic_id(name): parsed.topic for each, name, parsed in there if not parsed.mark}
    ids |= {topic_id: topic.name for topic_id, topic in (image.topics if image else {}).items()}
    ids.pop(None, None)
    found: defaultdict[str, list[Claim]] = defaultdict(list)
    for directory, name, parsed in there:
        if name == METADATA_LOG:
            continue
        topic_id, topic = directory.topic_id(name), parsed.topic
        if parsed.mark and topic_id in ids:
            topic = ids[topic_id]
        is_cut = parsed.may_be_cut and topic_id not in ids
        found[topic].append(Claim(directory, name, topic, parsed.partition, topic_id, parsed.mark, is_cut))
    return found


def _names(directory: DataDirectory, image: WholeImage | None) -> Mapping[str, PartitionName]:
    """The partitions of a disk. If no metadata tell which topics there are, a tier does, too."""
    if image is not None:
        return directory.names_on_disk()
    directory.wait_for_tier_names()
    return directory.names()


def contents(claims: Sequence[Claim]) -> str:
    """How many records they hold, and of one the offsets; in words."""
    try:
        counts = [_count(each.partition()) for each in claims]
        count, is_whole = sum(records for records, _ in counts), all(whole for _, whole in counts)
        summary = f"{'1 record' if count == 1 else f'{count} records'}{'' if is_whole else ' and damage'}"
        if len(claims) != 1:
            return summary
        log = claims[0].partition().log()
        return summary + (f", offsets {log.start_offset} to {log.end_offset - 1}" * (log.end_offset > log.start_offset))
    except UNREADABLE as error:
        return f"which cannot be read: {error}"


def _count(partition: Partition) -> tuple[int, bool]:
    """Records that can be read, and whether nothing is damaged."""
    log = partition.log()
    count, is_whole = 0, True
    for _, item in log.walk(log.start_offset, log.end_offset):
        if isinstance(item, BatchRun):
            count += count_records(item, log.start_offset)
        else:
            is_whole = False
    return count, is_whole
