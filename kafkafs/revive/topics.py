"""Which topics are revived, and each of their partitions from which replica.

The metadata tells, if there is any; a directory whose topic id is another one than its name has there is of a topic
that is gone. What the metadata does not know is told by its directories alone, as all is on disks of ZooKeeper's time:
a lost topic is worse than one too many.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafkafs.cluster.image import TOPIC_RESOURCE, PartitionState
from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.messages.message_values import uuid_text
from kafkafs.format.names import (
    GROUPS_TOPIC,
    INTERNAL_TOPICS,
    METADATA_LOG,
    OWN_TOPICS,
    SHARE_TOPIC,
    TRANSACTIONS_TOPIC,
)
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import node_id
from kafkafs.log.partition import Partition
from kafkafs.log.replicas import read_from
from kafkafs.revive.whole_image import WholeImage

_LARGEST_GAP = 10_000
"""So many partitions that are on no disk may stand between those that are."""

_MOST_MISSPELT = 4
"""Letters of 22, each of which is another one in 63 of 64 ids that have nothing to do with each other."""

_COMPACT = {"cleanup.policy": "compact"}
_BROKERS_OWN: Mapping[str, Mapping[str, str]] = {
    GROUPS_TOPIC: {**_COMPACT, "compression.type": "producer", "segment.bytes": "104857600"},
    TRANSACTIONS_TOPIC: {
        **_COMPACT, "compression.type": "uncompressed", "min.insync.replicas": "1", "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    },
    SHARE_TOPIC: {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "104857600"},
}  # fmt: skip
"""What a broker sets when it makes its own topics. Without, retention would delete them."""

_TIERED = "remote.storage.enable"


@dataclass(frozen=True, slots=True)
class Replica:
    """The replica that counts: its partition's directory and the data directory that has it. Where no disk does, `tier`
    has it, and the data directory is any. `others`: those on other disks, which may have what is damaged here."""

    directory: DataDirectory
    partition: Partition
    tier: str | None = None
    others: tuple["Replica", ...] = ()

    @property
    def place(self) -> str:
        """Where it lies."""
        return self.tier or str(self.directory.path / self.partition.name.directory)


@dataclass(frozen=True, slots=True)
class RevivedPartition:
    """A partition. `replica` is None where no disk has one, `state` where the metadata tells nothing of it."""

    number: int
    replica: Replica | None
    state: PartitionState | None


@dataclass(frozen=True, slots=True)
class RevivedTopic:
    """A topic with all of its partitions, numbers 0 and up without a gap."""

    name: str
    topic_id: str
    configs: Mapping[str, str]
    partitions: tuple[RevivedPartition, ...]


@dataclass(slots=True)
class Chosen:
    """The topics, by name, and in sentences what was left out or made up. `directories`: where they are looked for."""

    directories: Sequence[DataDirectory]
    topics: list[RevivedTopic] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A directory that says to be a partition of a topic; `topic_id` is None where it does not say of which."""

    directory: DataDirectory
    name: str
    topic: str
    number: int
    topic_id: str | None


def choose_topics(
    directories: Sequence[DataDirectory], image: WholeImage | None, wanted: Sequence[str] | None, cluster_id: str
) -> Chosen:
    """All topics, or those of the `wanted` names and Kafka's own. CorruptData where two topics claim one id."""
    chosen, claims = Chosen(directories), _claims(directories)
    _refuse_shared_ids(claims.values(), image)
    names = sorted({*claims, *(image.ids if image else ())})
    if wanted is not None:
        for name in wanted:
            if name not in names:
                raise UsageError(f"there is no topic {name!r} on these disks")
        names = [name for name in names if name in wanted or name in INTERNAL_TOPICS]
    compacted = {topic for each in directories for topic, _ in each.cleaner_offsets() or ()}
    for name in names:
        known = image.topics[image.ids[name]] if image and name in image.ids else None
        mine = _made_by_then(claims.get(name, []), image, chosen)
        if known is not None and image is not None:
            found, topic_id, states = _of_topic(mine, known.topic_id, chosen), known.topic_id, known.partitions
            configs: Mapping[str, str] = image.configs.get((TOPIC_RESOURCE, name), {})
        else:
            gone = [each for each in mine if image and each.topic_id in image.removed]
            found = [each for each in mine if each not in gone]
            if gone:
                chosen.sentences.append(f"{name}: its directories are left out, the topic was deleted")
            if not found:
                continue
            topic_id = _id_of(found, cluster_id, chosen)
            told = image.configs.get((TOPIC_RESOURCE, name), {}) if image else {}  # damage took its first record alone
            configs = {**_own_configs(name, compacted), **told}
            states = {}
        _add(chosen, RevivedTopic(name, topic_id, _without_tier(name, configs, chosen), ()), found, states)
    return chosen


def _claims(directories: Iterable[DataDirectory]) -> dict[str, list[_Claim]]:
    found: defaultdict[str, list[_Claim]] = defaultdict(list)
    for directory in directories:
        for name, parsed in sorted(directory.names().items()):
            if not parsed.mark and name != METADATA_LOG:
                topic_id = directory.topic_id(name)
                found[parsed.topic].append(_Claim(directory, name, parsed.topic, parsed.partition, topic_id))
    return found


def _refuse_shared_ids(claims: Iterable[Sequence[_Claim]], image: WholeImage | None) -> None:
    owners = {topic_id: (topic.name, "the metadata") for topic_id, topic in (image.topics if image else {}).items()}
    for each in (each for some in claims for each in some if each.topic_id is not None):
        where = repr(str(each.directory.path / each.name))
        topic, other = owners.setdefault(str(each.topic_id), (each.topic, where))
        if topic != each.topic:
            raise CorruptData(
                f"the topic id {each.topic_id} is claimed by {topic} ({other}) and by {each.topic} ({where}); move one"
                " of the directories away"
            )


def _made_by_then(claims: Sequence[_Claim], image: WholeImage | None, chosen: Chosen) -> list[_Claim]:
    """Those of partitions that there were at the moment that was asked for."""
    later = [each for each in claims if image and (each.topic_id, each.number) in image.later]
    names = sorted({each.name for each in later})
    chosen.sentences += [f"{name} is left out: it was made after the moment that was asked for" for name in names]
    return [each for each in claims if each not in later]


def _of_topic(claims: Sequence[_Claim], topic_id: str, chosen: Chosen) -> list[_Claim]:
    """Those of this very topic: one of the same name was deleted, and a disk that was away did not hear of it."""
    mine = []
    for each in claims:
        if each.topic_id in (None, topic_id):
            mine.append(each)
        elif _is_misspelt(each.topic_id, topic_id):
            mine.append(each)
            chosen.sentences.append(
                f"{str(each.directory.path / each.name)!r} says that it is of the topic {each.topic_id}, and is taken"
                f" for one of {topic_id}: ids of two topics are never so much alike"
            )
        else:
            chosen.sentences.append(
                f"{str(each.directory.path / each.name)!r} is left out: it is of another topic of that name"
                f" ({each.topic_id})"
            )
    return mine


def _is_misspelt(topic_id: str, other: str) -> bool:
    """Whether the ids differ in a letter or two, as where bits of `partition.metadata` are damaged."""
    return sum(one != two for one, two in zip(topic_id, other, strict=True)) <= _MOST_MISSPELT


def _id_of(claims: Sequence[_Claim], cluster_id: str, chosen: Chosen) -> str:
    told = sorted({each.topic_id for each in claims if each.topic_id is not None})
    name = claims[0].topic
    if len(told) > 1:
        raise CorruptData(
            f"{name} has {len(told)} topic ids on these disks ({', '.join(told)}) and no metadata tells which is its"
            " own; name the data directories of one of them"
        )
    if told:
        chosen.sentences.append(f"{name}: the metadata does not know it, its directories tell its id")
        return told[0]
    chosen.sentences.append(f"{name}: nothing tells its id, so it gets one")
    return made_up_id(cluster_id, name)


def made_up_id(*parts: str) -> str:
    """An id that the same parts always give, in Kafka's spelling."""
    raw = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return uuid_text(raw[:16])


def _own_configs(name: str, compacted: set[str]) -> Mapping[str, str]:
    return _BROKERS_OWN.get(name, _COMPACT if name in compacted else {})


def _without_tier(name: str, configs: Mapping[str, str], chosen: Chosen) -> Mapping[str, str]:
    if configs.get(_TIERED) != "true":
        return configs
    lost = (
        ""
        if chosen.directories[0].options.tiered
        else ", and what stands in the tier alone is not there; --tiered brings it back"
    )
    chosen.sentences.append(f"{name}: {_TIERED} is left out{lost}")
    return {key: value for key, value in configs.items() if key != _TIERED}


def _in_tier(directory: DataDirectory, name: TierPartition) -> Replica | None:
    """A partition that no disk has; None where no tier has it either."""
    tier = directory.options.tiered
    if tier is None or name.topic in OWN_TOPICS:
        return None
    partition = directory.lost_partition(name)
    return Replica(directory, partition, tier.shown_as) if partition.segments() else None


def _behind(name: str, there: Iterable[DataDirectory], state: PartitionState | None) -> list[str]:
    """That no disk has a replica with all that was acknowledged, as far as nodes and metadata tell."""
    complete = {*state.isr, *state.eligible} if state else set[int]()
    nodes = {node_id(each) for each in there}
    if not complete or None in nodes or nodes & complete:
        return []
    brokers = ", ".join(map(str, sorted(complete)))
    return [f"{name}: no disk has a replica that was in sync (of broker {brokers}), so its last records may be missing"]


def _add(chosen: Chosen, topic: RevivedTopic, claims: Sequence[_Claim], states: Mapping[int, PartitionState]) -> None:
    by_number: defaultdict[int, list[DataDirectory]] = defaultdict(list)
    for each in claims:
        by_number[each.number].append(each.directory)
    numbers = {*by_number, *states}
    count = max(numbers, default=-1) + 1
    if count - len(numbers) > _LARGEST_GAP:
        raise CorruptData(f"{topic.name} has a partition {count - 1} and {count - len(numbers):,} before it are nowhere"
                          " to be found; move that directory away")  # fmt: skip
    partitions = []
    for number in range(count):
        name, there = f"{topic.name}-{number}", by_number.get(number, [])
        if there:
            directory = read_from(there, name)
            others = tuple(Replica(each, each.partition(name)) for each in there if each is not directory)
            replica: Replica | None = Replica(directory, directory.partition(name), others=others)
            chosen.sentences += _behind(name, there, states.get(number))
        else:
            replica = _in_tier(chosen.directories[0], TierPartition(topic.name, number, topic.topic_id))
            end = None if replica is None else replica.partition.log().end_offset
            outcome = "so it begins anew, empty" if end is None else f"and the tier ends at offset {end}"
            chosen.sentences.append(f"{name}: no disk has a replica, {outcome}")
        partitions.append(RevivedPartition(number, replica, states.get(number)))
    chosen.topics.append(RevivedTopic(topic.name, topic.topic_id, topic.configs, tuple(partitions)))
