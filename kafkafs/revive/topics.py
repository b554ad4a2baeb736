"""Choose the topics to revive, and the replica of each of their partitions.

The metadata decides, if there is any; a directory whose topic id is another one than its name has there is of a topic
that is gone. If the metadata do not know a topic, its directories alone count, as on all disks of ZooKeeper's time: a
lost topic is worse than one too many.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafkafs.cluster.image import TOPIC_RESOURCE, PartitionState, TopicImage
from kafkafs.errors import CorruptData, DiskError, Unanswered, UsageError, did_you_mean
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
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.revive.claims import MARKS, Claim, find_claims
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.refused_settings import is_taken
from kafkafs.revive.set_aside import SetAside, of_unknown_topic
from kafkafs.revive.whole_image import WholeImage

_LARGEST_GAP = 10_000
"""Most missing partitions between two that are on a disk."""

_MOST_NAMED, _LONGEST = 20, 249
"""Most topics that one sentence names, and most characters of a topic's name."""

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
"""The configuration that a broker gives its own topics. Without it, retention would delete their records."""

_TIERED = "remote.storage.enable"

_RESERVED = frozenset(map(uuid_text, (bytes(16), bytes(15) + b"\1")))
"""Ids that no topic has: none at all, and that of the metadata log. Source: Uuid.RESERVED."""


@dataclass(frozen=True, slots=True)
class RevivedPartition:
    """A partition. `replica` is None if no disk has one, `state` if the metadata does not have it."""

    topic: str
    number: int
    replica: Replica | None
    state: PartitionState | None

    @property
    def name(self) -> str:
        """The name of its new directory."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True)
class RevivedTopic:
    """A topic with all of its partitions, numbers 0 and up without a gap."""

    name: str
    topic_id: str
    configs: Mapping[str, str]
    partitions: tuple[RevivedPartition, ...]

    def segments(self) -> Iterator[Segment]:
        """The segments that are to be read."""
        for each in self.partitions:
            if each.replica is not None:
                partition = each.replica.partition
                segments = partition.visible_segments()
                is_tiered = any(each.object is not None for each in segments)  # else no log is read for it
                yield from partition.answer(_checked_segments) if is_tiered else segments


def _checked_segments(log: Log) -> tuple[Segment, ...]:
    """The visible segments. The names and manifests of remote segments are read and compared before."""
    segments = log.visible_segments()
    for segment in segments:
        try:
            segment.overlaps_next  # noqa: B018 (asks for it)
        except Unanswered:
            raise
        except DiskError:
            pass  # the scan reports it
    return segments


def choose_topics(
    directories: Sequence[DataDirectory],
    image: WholeImage | None,
    wanted: Sequence[str] | None,
    cluster_id: str,
    include: Collection[str] = (),
) -> "Chosen":
    """All topics, or those of the `wanted` names and Kafka's own. `include`: words of `claims.MARKS`, for directories
    that count although a broker has set them aside. CorruptData if two topics claim one id."""
    chosen = Chosen(directories, image, cluster_id, {"", *(MARKS[word] for word in include)})
    chosen.choose(wanted)
    return chosen


class Chosen:
    """The `topics`, by name, and in `sentences` what was left out or made up."""

    def __init__(
        self, directories: Sequence[DataDirectory], image: WholeImage | None, cluster_id: str, marks: Collection[str]
    ) -> None:
        """`marks`: of the directories that count; "" is none."""
        self.topics, self.sentences = list[RevivedTopic](), list[str]()
        self._directories, self._image, self._cluster_id, self._marks = directories, image, cluster_id, marks
        self._compacted = {topic for each in directories for topic, _ in each.checkpoints.cleaner_offsets() or ()}

    def choose(self, wanted: Sequence[str] | None) -> None:
        """See `choose_topics`."""
        found, image = find_claims(self._directories, self._image), self._image
        claims = {topic: self._without_cut(topic, each) for topic, each in found.items()}
        self._refuse_shared_ids([each for some in claims.values() for each in some if each.mark in self._marks])
        names = sorted({*claims, *(image.ids if image else ())})
        for name in names if wanted is None else self._wanted(names, wanted):
            self._add(name, claims.get(name, []))

    def _without_cut(self, topic: str, claims: Sequence[Claim]) -> list[Claim]:
        """The claims without those that cannot be of a topic: the whole name of their topic is unknown."""
        why = f"the name of its topic is cut off after {len(topic)} characters, and the whole name is unknown"
        self.sentences += [each.left_out(why) for each in claims if each.is_cut]
        return [each for each in claims if not each.is_cut]

    def _refuse_shared_ids(self, claims: Iterable[Claim]) -> None:
        topics = self._image.topics if self._image else {}
        owners = {topic_id: (topic.name, "the metadata") for topic_id, topic in topics.items()}
        for each in (each for each in claims if each.topic_id is not None):
            topic, other = owners.setdefault(str(each.topic_id), (each.topic, each.place))
            if topic != each.topic:
                raise CorruptData(
                    f"the topic id {each.topic_id} is claimed by {topic} ({other}) and by {each.topic} ({each.place});"
                    " move one of the directories away"
                )

    def _wanted(self, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
        """The names that are wanted, and Kafka's own. UsageError for a wanted name that is not there."""
        for name in wanted:
            if name not in names:
                raise UsageError(f"there is no topic {name!r} on these disks{did_you_mean(name, names)}")
        kept = [name for name in names if name in wanted or name in INTERNAL_TOPICS]
        left = [repr(name) for name in names if name not in kept]
        if left:
            more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
            self.sentences.append(
                f"topics that --topics does not name are left out: {', '.join(left[:_MOST_NAMED])}{more}"
            )
        return kept

    def _add(self, name: str, claims: Sequence[Claim]) -> None:
        """Add the topic of that name, if it can be revived. `claims`: the directories that say to be of it."""
        image, sentences = self._image, self.sentences
        known = image.topics[image.ids[name]] if image and name in image.ids else None
        if (fault := _fault(name, known)) is not None:
            sentences.append(fault)
            return
        claims = self._made_by_then(claims)
        configs: Mapping[str, str] = image.configs.get((TOPIC_RESOURCE, name), {}) if image else {}
        if known is not None:
            topic_id, states = known.topic_id, known.partitions
            claims = self._of_topic(claims, topic_id)
        else:
            claims = of_unknown_topic(claims, image, self._marks, sentences)
            if not claims:
                return
            topic_id, states = self._id_of([each for each in claims if each.mark in self._marks]), {}
            claims, is_unset = self._of_topic(claims, topic_id), not configs
            own = _BROKERS_OWN.get(name, _COMPACT if name in self._compacted else {})
            configs = {**own, **configs}  # damage took its first record alone
            if image and is_unset and name not in INTERNAL_TOPICS:
                shown = ", ".join(f"{key}={value}" for key, value in configs.items()) or "those of a new topic"
                sentences.append(f"{name}: its settings are unknown, so it gets {shown}")
        configs = self._kept_configs(name, configs)
        partitions = self._partitions(name, topic_id, SetAside(claims, self._marks), states)
        self.topics.append(RevivedTopic(name, topic_id, configs, partitions))

    def _made_by_then(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims of partitions that existed at the moment that was asked for."""
        later = [each for each in claims if self._image and (each.topic_id, each.number) in self._image.later]
        self.sentences += [each.left_out("it was made after the moment that was asked for") for each in later]
        return [each for each in claims if each not in later]

    def _of_topic(self, claims: Sequence[Claim], topic_id: str) -> list[Claim]:
        """The claims of this very topic: a disk that was away may still have a deleted topic of the same name."""
        mine, image = [], self._image
        for each in claims:
            if each.topic_id in (None, topic_id):
                mine.append(each)
            elif _is_misspelt(each.topic_id, topic_id):
                mine.append(each)
                self.sentences.append(
                    f"{each.place} says that it is of the topic {each.topic_id}, and is taken for one of {topic_id}:"
                    " ids of two topics are never so much alike"
                )
            else:
                way = "" if image is None or each.topic_id in image.removed else (
                    "; named as a partition of a topic that does not exist yet, in a copy of that disk, it is revived"
                )  # fmt: skip
                self.sentences.append(each.left_out(f"it is of another topic of that name ({each.topic_id}){way}"))
        return mine

    def _id_of(self, claims: Sequence[Claim]) -> str:
        ids = sorted({each.topic_id for each in claims if each.topic_id is not None})
        name = claims[0].topic
        if len(ids) > 1:
            raise CorruptData(
                f"{name} has {len(ids)} topic ids on these disks ({', '.join(ids)}) and no metadata says which is its"
                " own; name the data directories of one of them"
            )
        if ids:
            why = "no metadata tell of it" if self._image is None else "the metadata do not know it"
            self.sentences.append(f"{name}: {why}, so its id is that of its directories")
            return ids[0]
        self.sentences.append(f"{name}: its id is unknown, so it gets a new id")
        return made_up_id(self._cluster_id, name)

    def _kept_configs(self, name: str, configs: Mapping[str, str]) -> Mapping[str, str]:
        refused = {key: value for key, value in configs.items() if not is_taken(key, value)}
        self.sentences += [
            f"the setting {key}={value!r} of {name} is left out: no Kafka takes such a value"
            for key, value in refused.items()
        ]  # fmt: skip
        kept = {key: value for key, value in configs.items() if key not in refused}
        if kept.get(_TIERED) == "true":
            del kept[_TIERED]
            is_named = self._directories[0].options.tiered
            lost = "" if is_named else ", so segments that are only in the tier are missing; --tiered adds them"
            self.sentences.append(f"{name}: {_TIERED} is left out{lost}")
        return kept

    def _partitions(
        self, topic: str, topic_id: str, there: SetAside, states: Mapping[int, PartitionState]
    ) -> tuple[RevivedPartition, ...]:
        numbers = {*there.numbers, *states}
        count = max(numbers, default=-1) + 1
        if count - len(numbers) > _LARGEST_GAP:
            advice = f"move the directories of {topic}-{count - 1} away" if count - 1 in there.numbers else (
                "the metadata name it"
            )  # fmt: skip
            lacking = f"{topic} has a partition {count - 1}, and {count - len(numbers):,} before it"
            raise CorruptData(f"{lacking} are on no disk; {advice}")
        partitions = []
        for number in range(count):
            name, state = f"{topic}-{number}", states.get(number)
            replica, sentences = there.choose(name, number, state)
            self.sentences += sentences
            if replica is None:
                replica = self._in_tier(TierPartition(topic, number, topic_id))
                end = None if replica is None else replica.partition.log().end_offset
                without = "is empty" if end is None else f"is what the tier has, up to offset {end}"
                outcome = "so it begins empty" if end is None else f"and the tier ends at offset {end}"
                aside = there.beside(name, number, without)
                self.sentences += aside or [f"{name}: no disk has a replica, {outcome}"]
            partitions.append(RevivedPartition(topic, number, replica, state))
        self.sentences += there.beyond(topic, count)
        return tuple(partitions)

    def _in_tier(self, name: TierPartition) -> Replica | None:
        """A partition that no disk has; None if no tier has it either."""
        directory = self._directories[0]
        tier = directory.options.tiered
        if tier is None or name.topic in OWN_TOPICS:
            return None
        partition = directory.lost_partition(name)
        return Replica(directory, partition, tier.shown_as) if partition.segments() else None


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


def _is_misspelt(topic_id: str, other: str) -> bool:
    """True if the ids differ in a letter or two, as after a bit flip in `partition.metadata`."""
    return sum(one != two for one, two in zip(topic_id, other, strict=True)) <= _MOST_MISSPELT


def made_up_id(*parts: str) -> str:
    """An id that the same parts always give, in Kafka's spelling."""
    raw = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return uuid_text(raw[:16])
