"""Choose the topics to revive, and the replica of each of their partitions.

The metadata decides, if there is any; a directory whose topic id is another one than its name has there is of a topic
that is gone. If the metadata do not know a topic, its directories alone count, as on all disks of ZooKeeper's time: a
lost topic is worse than one too many.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafkafs.cluster.image import TOPIC_RESOURCE, PartitionState, TopicImage
from kafkafs.errors import CorruptData, UsageError, did_you_mean
from kafkafs.format.messages.message_values import uuid_text
from kafkafs.format.names import (
    GROUPS_TOPIC,
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    OWN_TOPICS,
    SHARE_TOPIC,
    TRANSACTIONS_TOPIC,
    is_topic_name,
)
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.data_directory import DataDirectory
from kafkafs.revive.claims import MARKS, Claim, contents, find_claims
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.refused_settings import is_taken
from kafkafs.revive.set_aside import SetAside, of_unknown_topic
from kafkafs.revive.whole_image import WholeImage

_LARGEST_GAP = 10_000
"""So many partitions that are on no disk may be between those that are."""

_MOST_NAMED, _LONGEST = 20, 249
"""So many topics are named in one sentence; so many characters of a name are."""

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

_RESERVED = frozenset(map(uuid_text, (bytes(16), bytes(15) + b"\1")))
"""Ids that no topic has: none at all, and that of the metadata log. Source: Uuid.RESERVED."""


@dataclass(frozen=True, slots=True)
class RevivedPartition:
    """A partition. `replica` is None if no disk has one, `state` if the metadata does not have it."""

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


def choose_topics(
    directories: Sequence[DataDirectory],
    image: WholeImage | None,
    wanted: Sequence[str] | None,
    cluster_id: str,
    include: Collection[str] = (),
) -> Chosen:
    """All topics, or those of the `wanted` names and Kafka's own. `include`: words of `claims.MARKS`, for directories
    that count although a broker has set them aside. CorruptData if two topics claim one id."""
    chosen, marks = Chosen(directories), {"", *(MARKS[word] for word in include)}
    claims = {topic: _allowed(topic, each, chosen) for topic, each in find_claims(directories, image).items()}
    _refuse_shared_ids([[each for each in some if each.mark in marks] for some in claims.values()], image)
    names = sorted({*claims, *(image.ids if image else ())})
    if wanted is not None:
        names = _wanted(names, wanted, chosen)
    compacted = {topic for each in directories for topic, _ in each.cleaner_offsets() or ()}
    for name in names:
        known = image.topics[image.ids[name]] if image and name in image.ids else None
        if (fault := _fault(name, known)) is not None:
            chosen.sentences.append(fault)
            continue
        mine = _made_by_then(claims.get(name, []), image, chosen)
        if known is not None and image is not None:
            found, topic_id, states = _of_topic(mine, known.topic_id, image, chosen), known.topic_id, known.partitions
            configs: Mapping[str, str] = image.configs.get((TOPIC_RESOURCE, name), {})
        else:
            found = of_unknown_topic(mine, image, marks, chosen.sentences)
            if not found:
                continue
            topic_id = _id_of([each for each in found if each.mark in marks], image, cluster_id, chosen)
            found = _of_topic(found, topic_id, image, chosen)
            own = image.configs.get((TOPIC_RESOURCE, name), {}) if image else {}  # damage took its first record alone
            configs = {**_own_configs(name, compacted), **own}
            if image and not own and name not in INTERNAL_TOPICS:
                shown = ", ".join(f"{key}={value}" for key, value in configs.items()) or "those of a new topic"
                chosen.sentences.append(f"{name}: its settings are unknown, so it gets {shown}")
            states = {}
        _add(
            chosen, RevivedTopic(name, topic_id, _kept_configs(name, configs, chosen), ()), SetAside(found, marks),
            states,
        )  # fmt: skip
    return chosen


def _fault(name: str, known: TopicImage | None) -> str | None:
    """Why a topic cannot be revived, in a sentence: Kafka would refuse it, and its name may lead out of a directory."""
    shown = repr(name) if len(name) <= _LONGEST else f"{name[:_LONGEST]!r}… ({len(name):,} characters)"
    if name == METADATA_TOPIC:
        return f"the topic {shown} is left out: a cluster's own metadata are no topic of it"
    if not is_topic_name(name):
        return f"the topic {shown} of the metadata is left out: Kafka allows no topic of that name"
    if known is not None and known.topic_id in _RESERVED:
        return f"the topic {shown} is left out: no topic has the id {known.topic_id}"
    if known is not None and min(known.partitions, default=0) < 0:
        return f"the topic {shown} is left out: the metadata name its partition {min(known.partitions)}"
    return None


def _allowed(topic: str, claims: Sequence[Claim], chosen: Chosen) -> list[Claim]:
    """Without those that cannot be of a topic: the whole name of their topic is unknown."""
    cut = [each for each in claims if each.is_cut]
    chosen.sentences += [
        f"{each.place} is left out ({contents([each])}): the name of its topic is cut off after {len(topic)}"
        " characters, and the whole name is unknown" for each in cut
    ]  # fmt: skip
    return [each for each in claims if not each.is_cut]


def _wanted(names: Sequence[str], wanted: Sequence[str], chosen: Chosen) -> list[str]:
    for name in wanted:
        if name not in names:
            raise UsageError(f"there is no topic {name!r} on these disks{did_you_mean(name, names)}")
    kept = [name for name in names if name in wanted or name in INTERNAL_TOPICS]
    left = [repr(name) for name in names if name not in kept]
    if left:
        more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
        chosen.sentences.append(
            f"topics that --topics does not name are left out: {', '.join(left[:_MOST_NAMED])}{more}"
        )
    return kept


def _refuse_shared_ids(claims: Iterable[Sequence[Claim]], image: WholeImage | None) -> None:
    owners = {topic_id: (topic.name, "the metadata") for topic_id, topic in (image.topics if image else {}).items()}
    for each in (each for some in claims for each in some if each.topic_id is not None):
        topic, other = owners.setdefault(str(each.topic_id), (each.topic, each.place))
        if topic != each.topic:
            raise CorruptData(
                f"the topic id {each.topic_id} is claimed by {topic} ({other}) and by {each.topic} ({each.place}); move"
                " one of the directories away"
            )


def _made_by_then(claims: Sequence[Claim], image: WholeImage | None, chosen: Chosen) -> list[Claim]:
    """Those of partitions that there were at the moment that was asked for."""
    later = [each for each in claims if image and (each.topic_id, each.number) in image.later]
    chosen.sentences += [
        f"{each.place} is left out ({contents([each])}): it was made after the moment that was asked for"
        for each in later
    ]
    return [each for each in claims if each not in later]


def _of_topic(claims: Sequence[Claim], topic_id: str, image: WholeImage | None, chosen: Chosen) -> list[Claim]:
    """Those of this very topic: one of the same name was deleted, and a disk that was away did not hear of it."""
    mine = []
    for each in claims:
        if each.topic_id in (None, topic_id):
            mine.append(each)
        elif _is_misspelt(each.topic_id, topic_id):
            mine.append(each)
            chosen.sentences.append(
                f"{each.place} says that it is of the topic {each.topic_id}, and is taken for one of {topic_id}: ids of"
                " two topics are never so much alike"
            )
        else:
            way = "" if image is None or each.topic_id in image.removed else (
                "; named as a partition of a topic that does not exist yet, in a copy of that disk, it is revived"
            )  # fmt: skip
            chosen.sentences.append(
                f"{each.place} is left out ({contents([each])}): it is of another topic of that name"
                f" ({each.topic_id}){way}"
            )
    return mine


def _is_misspelt(topic_id: str, other: str) -> bool:
    """True if the ids differ in a letter or two, as after a bit flip in `partition.metadata`."""
    return sum(one != two for one, two in zip(topic_id, other, strict=True)) <= _MOST_MISSPELT


def _id_of(claims: Sequence[Claim], image: WholeImage | None, cluster_id: str, chosen: Chosen) -> str:
    ids = sorted({each.topic_id for each in claims if each.topic_id is not None})
    name = claims[0].topic
    if len(ids) > 1:
        raise CorruptData(
            f"{name} has {len(ids)} topic ids on these disks ({', '.join(ids)}) and no metadata says which is its"
            " own; name the data directories of one of them"
        )
    if ids:
        why = "no metadata tell of it" if image is None else "the metadata do not know it"
        chosen.sentences.append(f"{name}: {why}, so its id is that of its directories")
        return ids[0]
    chosen.sentences.append(f"{name}: its id is unknown, so it gets a new id")
    return made_up_id(cluster_id, name)


def made_up_id(*parts: str) -> str:
    """An id that the same parts always give, in Kafka's spelling."""
    raw = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return uuid_text(raw[:16])


def _own_configs(name: str, compacted: set[str]) -> Mapping[str, str]:
    return _BROKERS_OWN.get(name, _COMPACT if name in compacted else {})


def _kept_configs(name: str, configs: Mapping[str, str], chosen: Chosen) -> Mapping[str, str]:
    refused = {key: value for key, value in configs.items() if not is_taken(key, value)}
    chosen.sentences += [
        f"the setting {key}={value!r} of {name} is left out: no Kafka takes such a value"
        for key, value in refused.items()
    ]  # fmt: skip
    configs = {key: value for key, value in configs.items() if key not in refused}
    if configs.get(_TIERED) != "true":
        return configs
    lost = (
        ""
        if chosen.directories[0].options.tiered
        else ", so segments that are only in the tier are missing; --tiered adds them"
    )
    chosen.sentences.append(f"{name}: {_TIERED} is left out{lost}")
    return {key: value for key, value in configs.items() if key != _TIERED}


def _in_tier(directory: DataDirectory, name: TierPartition) -> Replica | None:
    """A partition that no disk has; None if no tier has it either."""
    tier = directory.options.tiered
    if tier is None or name.topic in OWN_TOPICS:
        return None
    partition = directory.lost_partition(name)
    return Replica(directory, partition, tier.shown_as) if partition.segments() else None


def _add(chosen: Chosen, topic: RevivedTopic, there: SetAside, states: Mapping[int, PartitionState]) -> None:
    numbers = {*there.numbers, *states}
    count = max(numbers, default=-1) + 1
    if count - len(numbers) > _LARGEST_GAP:
        advice = f"move the directories of {topic.name}-{count - 1} away" if count - 1 in there.numbers else (
            "the metadata name it"
        )  # fmt: skip
        lacking = f"{topic.name} has a partition {count - 1}, and {count - len(numbers):,} before it"
        raise CorruptData(f"{lacking} are on no disk; {advice}")
    partitions = []
    for number in range(count):
        name, state = f"{topic.name}-{number}", states.get(number)
        replica, sentences = there.choose(name, number, state)
        chosen.sentences += sentences
        if replica is None:
            replica = _in_tier(chosen.directories[0], TierPartition(topic.name, number, topic.topic_id))
            end = None if replica is None else replica.partition.log().end_offset
            without = "is empty" if end is None else f"is what the tier has, up to offset {end}"
            outcome = "so it begins empty" if end is None else f"and the tier ends at offset {end}"
            aside = there.beside(name, number, without)
            chosen.sentences += aside or [f"{name}: no disk has a replica, {outcome}"]
        partitions.append(RevivedPartition(number, replica, state))
    chosen.sentences += there.beyond(topic.name, count)
    chosen.topics.append(RevivedTopic(topic.name, topic.topic_id, topic.configs, tuple(partitions)))
