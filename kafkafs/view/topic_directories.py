"""`.topics/`: one directory a topic, so that a glob takes that topic and no other; in each its partitions, and all of
them at once by time (`merged`).

A topic is what directories of this name, that no broker has set aside, have of one cluster: where data directories of
several are mounted together, of that of the first that has it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kafkafs.disk.blocking import may_block
from kafkafs.errors import NotFound
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import cluster_id
from kafkafs.log.places import BetweenTimes
from kafkafs.log.replicas import furthest
from kafkafs.view.decoded import Lines
from kafkafs.view.grammar import is_of_open_ranges_only, parse_time_name
from kafkafs.view.merged import MergedFollower, MergedRange
from kafkafs.view.node import Attributes, Entry, FileNode, Node
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.queries import SHOWN
from kafkafs.view.reasons import refused

BY_TIME = "by-time"
_RANGES = "a range of times as FROM..TO or FROM.., and .jsonl or .decoded.jsonl; of FROM.. also .follow.jsonl"

Names = Mapping[str, tuple[DataDirectory, str]]
"""Where the partitions are that the root shows: the data directory of each, and its name there."""

_Topics = dict[str, dict[int, list[str]]]
"""Of each topic its partitions, by number, and the names that those are shown by."""


class TopicsDirectory:
    """The top. All that is below asks several disks, in a lane of its own."""

    lane = ".topics"

    def __init__(
        self, names: Callable[[], Names], view: Callable[[str], PartitionView], attributes: Callable[[], Attributes]
    ) -> None:
        """`view` is of a partition by the name that it is shown by; `attributes` are those of the root."""
        self._names = names
        self._view = view
        self.attributes = attributes
        self._known: tuple[Names, _Topics] = {}, {}

    def entries(self) -> Sequence[Entry]:
        """All topics, sorted."""
        return [Entry(topic, "directory", None) for topic in sorted(self._topics())]

    def child(self, name: str) -> Node:
        """The topic's directory; NotFound where nothing of it is here."""
        if name not in self._topics():
            raise NotFound(f"there is no topic {name!r}")
        return TopicDirectory(self, name)

    def partitions(self, topic: str) -> dict[int, list[str]]:
        """The names of its partitions by their numbers, in order; NotFound where there are none any more."""
        found = self._topics().get(topic)
        if found is None:
            raise NotFound(f"there is no topic {topic!r} any more")
        return found

    def view(self, names: Sequence[str]) -> PartitionView:
        """Of one partition the replica that counts (`log.replicas`)."""
        first = self._view(names[0])
        found = first.find_replicas() if len(names) > 1 else ()
        if len(found) < 2:
            return first
        may_block()
        best = furthest([replica.partition for replica in found])
        return self._view(next(replica.shown_as for replica in found if replica.partition is best))

    def _topics(self) -> _Topics:
        names, (before, known) = self._names(), self._known
        if names is not before:
            known = _by_topic(names)
            self._known = names, known
        return known


def _by_topic(names: Names) -> _Topics:
    found: dict[str, list[tuple[int, str]]] = {}
    for shown, (_, real) in names.items():
        name = parse_partition_name(real)
        if name is not None and not name.mark:
            found.setdefault(name.topic, []).append((name.partition, shown))
    several = len({id(directory) for directory, _ in names.values()}) > 1
    clusters = {id(directory): cluster_id(directory) for directory, _ in names.values()} if several else {}
    topics: _Topics = {}
    for topic, partitions in found.items():
        of = [clusters.get(id(names[shown][0])) for _, shown in partitions]
        cluster = next((each for each in of if each is not None), None)
        kept = [each for each, its in zip(partitions, of, strict=True) if its in (None, cluster)]
        for number, shown in sorted(kept, key=lambda each: each[0]):
            topics.setdefault(topic, {}).setdefault(number, []).append(shown)
    return topics


class TopicDirectory:
    """One topic: a link for each partition, and `by-time`."""

    def __init__(self, topics: TopicsDirectory, topic: str) -> None:
        self._topics = topics
        self._topic = topic

    def attributes(self) -> Attributes:
        """Those of the root, which shows the same partitions; NotFound where none of them is there any more."""
        self._topics.partitions(self._topic)
        return self._topics.attributes()

    def entries(self) -> Sequence[Entry]:
        """The partitions by their numbers, and `by-time`."""
        links = [Entry(str(number), "symlink", None) for number in self._topics.partitions(self._topic)]
        return [*links, Entry(BY_TIME, "directory", None)]

    def child(self, name: str) -> Node:
        """What `entries` lists; NotFound for any other name."""
        if name == BY_TIME:
            return TopicByTime(self._topics, self._topic)
        link = PartitionLink(self._topics, self._topic, name)
        link.target()
        return link


class PartitionLink:
    """A link to a partition's directory, of several replicas to that of the one that counts."""

    def __init__(self, topics: TopicsDirectory, topic: str, number: str) -> None:
        self._topics = topics
        self._topic = topic
        self._number = number

    def _view(self) -> PartitionView:
        for number, names in self._topics.partitions(self._topic).items():
            if str(number) == self._number:
                return self._topics.view(names)
        raise NotFound(f"{self._topic} has no partition {self._number!r} here")

    def attributes(self) -> Attributes:
        """Of the partition's owner. What it leads to may change."""
        return self._view().link_attributes()

    def target(self) -> str:
        """The path from the topic's directory; NotFound where the partition is not here any more."""
        return f"../../{self._view().shown_as}"


class TopicByTime:
    """Ranges of time over all partitions of a topic. It lists none."""

    def __init__(self, topics: TopicsDirectory, topic: str) -> None:
        self._topics = topics
        self._topic = topic
        self.attributes = TopicDirectory(topics, topic).attributes

    def entries(self) -> Sequence[Entry]:
        """Nothing: `grep -r` shall find each record where its partition is."""
        return []

    def child(self, name: str) -> FileNode:
        """A file for any range of `by-time/` that has lines; NotFound for other names."""
        parse = partial(_parse_range, now_ms=time.time_ns() // 1_000_000)
        asked = parse(name)
        if asked is None:
            raise refused(f".topics/{self._topic}/{BY_TIME}", name, parse, _RANGES)
        kind, range_, lines = asked
        return kind(self._topic, self._views, range_, lines)

    def _views(self) -> list[PartitionView]:
        return [self._topics.view(names) for names in self._topics.partitions(self._topic).values()]


def _parse_range(name: str, now_ms: int) -> tuple[type[MergedRange | MergedFollower], BetweenTimes, type[Lines]] | None:
    """What it is, of which range, with which lines."""
    query = parse_time_name(name, now_ms)
    lines = SHOWN[query.suffix].lines if query is not None else None
    if query is None or lines is None or not isinstance(query.target, BetweenTimes):
        return None
    return MergedFollower if is_of_open_ranges_only(query.suffix) else MergedRange, query.target, lines
