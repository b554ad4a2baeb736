"""`.topics/`: one directory a topic, so that a glob takes that topic and no other; in each its partitions, and all of
them at once by time (`merged`).

A topic is what directories of this name, that no broker has set aside, have of one cluster: where data directories of
several are mounted together, of that of the first that has it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kafkafs.errors import NotFound
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.places import BeforeTime, BetweenTimes
from kafkafs.view.disks import DiskView
from kafkafs.view.grammar import is_of_open_ranges_only, parse_time_name
from kafkafs.view.merged import MergedFollower, MergedRange
from kafkafs.view.merged_point import MergedPoint
from kafkafs.view.missing_partitions import MissingPartitions, TopicInfo
from kafkafs.view.node import Attributes, Entry, FileNode, Node
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.queries import SHOWN
from kafkafs.view.reasons import refused
from kafkafs.view.replica_directories import PartitionNames, Places
from kafkafs.view.resources import Resources

BY_TIME, INFO = "by-time", "info.json"
_NAMES = (
    "a range of times as FROM..TO, FROM..+10m or FROM.., or before-TIME, and .jsonl or .decoded.jsonl; of FROM.. also"
    " .follow.jsonl"
)


class TierPartitionFinder(NamedTuple):
    """How partitions are found that only a tier has."""

    find: Callable[[], None]
    """Unanswered if the tier does not tell them."""
    try_to_find: Callable[[], str]
    """Return why the tier does not tell them."""


class _Topics(NamedTuple):
    """The topics of those partitions that are shown."""

    shown: Places
    by_name: dict[str, dict[int, str]]
    """The names of each one's partitions, by number."""
    places: dict[str, list[tuple[int, DataDirectory, str]]]
    """All directories of each one's partitions, once they are asked for."""


class TopicsDirectory:
    """The top. All that is below asks several disks, in a lane of its own."""

    lane = ".topics"

    def __init__(
        self,
        names: PartitionNames,
        view: Callable[[str], PartitionView],
        attributes: Callable[[], Attributes],
        disks: Sequence[DiskView],
        resources: Resources,
        lost: "TierPartitionFinder",
    ) -> None:
        """`view` is of a partition by the name that the root shows; `attributes` are those of the root."""
        self._names = names
        self.lost = lost
        self.view = view
        self.attributes = attributes
        self.resources = resources
        self.missing = MissingPartitions(disks, resources, self._here)
        self._known = _Topics({}, {}, {})

    def entries(self) -> Sequence[Entry]:
        """All topics, sorted."""
        self.lost.try_to_find()
        return [Entry(topic, "directory") for topic in sorted(self._topics().by_name)]

    def child(self, name: str) -> Node:
        """The topic's directory; NotFound if nothing of it is here."""
        if name not in self._topics().by_name:
            self.lost.find()
        if name not in self._topics().by_name:
            raise NotFound(f"there is no topic {name!r}")
        return TopicDirectory(self, name)

    def partitions(self, topic: str) -> dict[int, str]:
        """The names of its partitions by their numbers, in order; NotFound if there are none any more."""
        found = self._topics().by_name.get(topic)
        if found is None:
            raise NotFound(f"there is no topic {topic!r} any more")
        return found

    def _here(self, topic: str) -> Sequence[tuple[int, DataDirectory, str]]:
        """All directories of the topic's partitions; the same object until a partition comes or goes."""
        known = self._topics()
        if topic not in known.places:
            partitions = known.by_name.get(topic, {}).items()
            known.places[topic] = [
                (number, place.directory, name) for number, name in partitions for place in known.shown[name]
            ]
        return known.places[topic]

    def _topics(self) -> "_Topics":
        shown, known = self._names.shown(), self._known
        if shown is not known.shown:
            known = self._known = _Topics(shown, self._by_name(shown), {})
        return known

    def _by_name(self, shown: Places) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for name in shown:
            parsed = parse_partition_name(name)
            if parsed is not None and not parsed.mark:
                found.setdefault(parsed.topic, {})[parsed.partition] = name
        return {topic: self._of_one_cluster(shown, partitions) for topic, partitions in found.items()}

    def _of_one_cluster(self, shown: Places, partitions: dict[int, str]) -> dict[int, str]:
        of = {number: self._names.cluster(shown[name][0]) for number, name in partitions.items()}
        cluster = next(filter(None, of.values()), None)
        return {number: partitions[number] for number in sorted(of) if of[number] in (None, cluster)}


class TopicDirectory:
    """One topic: a link for each partition, `by-time`, and `info.json`."""

    def __init__(self, topics: TopicsDirectory, topic: str) -> None:
        self._topics = topics
        self._topic = topic

    def attributes(self) -> Attributes:
        """The attributes of the root, which shows the same partitions; NotFound if none of them is there any more."""
        self._topics.partitions(self._topic)
        return self._topics.attributes()

    def entries(self) -> Sequence[Entry]:
        """The partitions by their numbers, then the rest."""
        self._topics.lost.try_to_find()
        links = [Entry(str(number), "symlink") for number in self._topics.partitions(self._topic)]
        return [*links, Entry(BY_TIME, "directory"), Entry(INFO, "file")]

    def child(self, name: str) -> Node:
        """A child that `entries` lists. Raise NotFound for any other name."""
        if name == BY_TIME:
            return TopicByTime(self._topics, self._topic)
        if name == INFO:
            topics = self._topics
            return TopicInfo(self._topic, topics.missing, self.attributes, topics.lost.try_to_find, topics.resources)
        link = PartitionLink(self._topics, self._topic, name)
        link.target()
        return link


class PartitionLink:
    """A link to a partition's directory in the root."""

    def __init__(self, topics: TopicsDirectory, topic: str, number: str) -> None:
        self._topics = topics
        self._topic = topic
        self._number = number

    def _name(self) -> str:
        for number, name in self._topics.partitions(self._topic).items():
            if str(number) == self._number:
                return name
        raise NotFound(f"{self._topic} has no partition {self._number!r} here")

    def attributes(self) -> Attributes:
        """The rights of the partition's owner. Its target may change."""
        return self._topics.view(self._name()).link_attributes()

    def target(self) -> str:
        """The path from the topic's directory; NotFound if the partition is not here any more."""
        return f"../../{self._name()}"


class TopicByTime:
    """Ranges of time, and points before a time, over all partitions of a topic. It lists none."""

    def __init__(self, topics: TopicsDirectory, topic: str) -> None:
        self._topics = topics
        self._topic = topic
        self.attributes = TopicDirectory(topics, topic).attributes

    def entries(self) -> Sequence[Entry]:
        """An empty listing: `grep -r` shall find each record in its partition's directory."""
        return []

    def child(self, name: str) -> FileNode:
        """A file for any range of `by-time/` that has lines, and for `before-<time>`; NotFound for other names."""
        parse = partial(_parse, now_ms=time.time_ns() // 1_000_000)
        made = parse(name)
        if made is None:
            raise refused(f".topics/{self._topic}/{BY_TIME}", name, parse, _NAMES)
        return made(self._topic, self._views)

    def _views(self) -> list[PartitionView]:
        """All partitions. Unanswered if a tier does not tell which it has: without those, a text would be short."""
        self._topics.lost.find()
        views = []
        for name in self._topics.partitions(self._topic).values():
            with suppress(NotFound):
                views.append(self._topics.view(name))
        return views


def _parse(name: str, now_ms: int) -> Callable[[str, Callable[[], Sequence[PartitionView]]], FileNode] | None:
    """The maker of the file of that name, for a topic and its partitions."""
    query = parse_time_name(name, now_ms)
    if query is None or query.suffix not in SHOWN:
        return None
    lines = SHOWN[query.suffix].lines
    if lines is None:
        return None
    target = query.target
    if isinstance(target, BeforeTime):
        return lambda topic, views: MergedPoint(topic, views, target, lines)
    if not isinstance(target, BetweenTimes):
        return None
    kind = MergedFollower if is_of_open_ranges_only(query.suffix) else MergedRange
    return lambda topic, views: kind(topic, views, target, lines)
