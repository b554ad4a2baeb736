"""`.cluster/groups/`: a directory for each group, with its offsets, its history, and links to what it reads next."""

from collections.abc import Callable, Sequence

from kafkafs.cluster import files
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.group_history import History
from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.groups import FoundGroup
from kafkafs.cluster.row_lines import line, named_by
from kafkafs.cluster.rows import group_with_members
from kafkafs.errors import NotFound
from kafkafs.view.cluster_sources import Answer, ClusterFile, ClusterNode, ClusterSources, LongClusterFile
from kafkafs.view.node import Attributes, Entry, Kind, Node

Links = dict[str, tuple[Commit, str]]
"""By name, the committed offset that a link stands for, and where it leads."""


_HISTORY = "history.jsonl"


class GroupsDirectory(ClusterNode):
    """`groups/`: a directory for each group whose name can be a file's."""

    def entries(self) -> Sequence[Entry]:
        """One for each group, by name, but for names that no file can have."""
        names = self._sources.ask(lambda cluster: cluster.groups.paths())
        return [Entry(name, "directory") for name in names]

    def child(self, name: str) -> Node:
        """The directory of the group whose encoded name that is, which is not listed if the group was deleted; NotFound
        without records about it."""
        if not self._sources.ask(lambda cluster: cluster.groups.at(name) is not None or _has_history(cluster, name)):
            raise NotFound(f"there is no group {name!r}")
        return GroupDirectory(self._sources, self._topics, name)


def _has_history(cluster: Cluster, path: str) -> bool:
    """True if records are left about the group whose directory is called that, though it may be deleted."""
    name = named_by(path)
    return name is not None and cluster.groups.history_source(name) is not None


class _GroupNode(ClusterNode):
    """The nodes below the directory of a group, which may go away."""

    def __init__(self, sources: ClusterSources, topics: tuple[str, ...], path: str) -> None:
        super().__init__(sources, topics)
        self._path = path

    def _ask(self, question: Callable[[Cluster, FoundGroup], Answer]) -> Answer:
        """`question` asked of the cluster and the group as they are now; NotFound if the group is gone."""
        return self._sources.ask(lambda cluster: question(cluster, self._found(cluster)))

    def _found(self, cluster: Cluster) -> FoundGroup:
        found = cluster.groups.at(self._path)
        if found is None:
            raise NotFound(f"there is no group {self._path!r} any more")
        return found


class GroupDirectory(_GroupNode):
    """`groups/<group>/`."""

    def entries(self) -> Sequence[Entry]:
        """Five entries for each group, though it may have no offsets. A deleted group has only its history; NotFound
        without a history."""
        is_there, is_known = self._sources.ask(
            lambda cluster: (cluster.groups.at(self._path) is not None, _has_history(cluster, self._path))
        )
        if not is_there and not is_known:
            raise NotFound(f"there is no group {self._path!r} any more")
        return [Entry(name, node.kind) for name, node in self._nodes().items() if is_there or name == _HISTORY]

    def child(self, name: str) -> Node:
        """One of the five; NotFound for any other name. The directory itself asks if the group is still there, when it
        is opened or listed."""
        node = self._nodes().get(name)
        if node is None:
            raise NotFound(f"a group has no {name!r}")
        return node

    def _nodes(self) -> "dict[str, GroupFile | HistoryFile | OffsetsFile | LinksDirectory]":
        of = self._sources, self._topics, self._path
        return {
            "group.json": GroupFile(*of),
            _HISTORY: HistoryFile(*of),
            "next": LinksDirectory(*of, ""),
            "offsets.jsonl": OffsetsFile(*of),
            "unread": LinksDirectory(*of, ".jsonl"),
        }


class GroupFile(ClusterFile, _GroupNode):
    """`group.json`: one line, the group with its members. NotFound if it is gone."""

    def _make(self) -> bytes:
        return line(self._ask(lambda _, found: group_with_members(*found)))


class OffsetsFile(ClusterFile, _GroupNode):
    """`offsets.jsonl`: a line for each offset committed or pending, with the ends as of now."""

    def _about(self) -> Attributes:
        commits = self._ask(lambda cluster, found: cluster.groups.commits(found))
        return self._attributes(self._sources.with_partitions((each.topic, each.partition) for each in commits))

    def _make(self) -> bytes:
        return b"".join(self._ask(files.offsets))


class HistoryFile(LongClusterFile, _GroupNode):
    """`history.jsonl`: a line for each record about the group that is left. A stream if the partition that has them is
    no small one, as ranges are. NotFound if no record is left."""

    def _about(self) -> Attributes:
        if self._is_long():  # only a read gives its partitions
            return self._attributes(self._sources.granted(()))
        places = self._lines().places()
        return self._attributes(self._sources.with_partitions(places))

    def _lines(self) -> History:
        return self._ask_by_name(lambda cluster, name: cluster.groups.history(name))

    def _is_long(self) -> bool:
        partition = self._ask_by_name(lambda cluster, name: cluster.groups.history_source(name))
        return sum(segment.seen[0] for segment in partition.segments()) > self._sources.exact

    def _ask_by_name(self, question: Callable[[Cluster, bytes], Answer | None]) -> Answer:
        """The answer about the group, which may be deleted; NotFound if there is none."""
        name = named_by(self._path)
        answer = None if name is None else self._sources.ask(lambda cluster: question(cluster, name))
        if answer is None:
            raise NotFound(f"no record about the group {self._path!r} is left")
        return answer


class LinksDirectory(_GroupNode):
    """`next/` and `unread/`: a link for each committed offset of a partition that is on these disks.

    Those in `next/` that lead nowhere, as nothing is left to read or the log begins behind it, can be asked for and are
    not listed: programs that walk trees end there.
    """

    def __init__(self, sources: ClusterSources, topics: tuple[str, ...], path: str, suffix: str) -> None:
        """`suffix`: of a link to all that is not read, `.jsonl`; of one to what is read next, none."""
        super().__init__(sources, topics, path)
        self._suffix = suffix

    def entries(self) -> Sequence[Entry]:
        """The links by topic and partition, without offsets that are pending in a transaction."""
        links = self._links().items()
        listed = (name for name, (commit, _) in links if self._suffix or self._is_there(commit))
        return [Entry(name, "symlink") for name in listed]

    def child(self, name: str) -> Node:
        """The link of that partition, in `unread/` with `.jsonl` behind it; NotFound if the group has none."""
        if name not in self._links(name):
            raise NotFound(f"the group has committed no offset of {name!r}, or its partition is not on these disks")
        return OffsetLink(self._sources, self._topics, name, self._links)

    def _links(self, only: str | None = None) -> Links:
        """All links, or only the link with this name."""
        found: Links = {}
        for commit in self._ask(lambda cluster, found: cluster.groups.commits(found)):
            if commit.producer_id is not None or commit.offset < 0:
                continue
            partition = self._sources.cluster.replicas.of(commit.topic, commit.partition)
            shown = None if partition is None else self._sources.shown_as(partition)
            name = f"{commit.topic}-{commit.partition}{self._suffix}"
            if shown is not None and only in (None, name):
                query = f"{commit.offset}{f'..{self._suffix}' if self._suffix else ''}"
                found[name] = commit, f"../../../../{shown}/by-offset/{query}"
        return found

    def _is_there(self, commit: Commit) -> bool:
        """True if a record is at the offset, and also if these disks do not tell."""
        ends = self._sources.cluster.progress.ends(commit.topic, commit.partition)
        return (ends.first_here or 0) <= commit.offset and (ends.log_end is None or commit.offset < ends.log_end)


class OffsetLink(ClusterNode):
    """A link to what a group reads next, or to all that it has not read."""

    kind: Kind = "symlink"

    def __init__(
        self, sources: ClusterSources, topics: tuple[str, ...], name: str, links: Callable[[str], Links]
    ) -> None:
        super().__init__(sources, topics)
        self._name = name
        self._links = links

    def target(self) -> str:
        """The present target of the committed offset, whatever is there. Raise NotFound once there is none."""
        links = self._links(self._name)
        if self._name not in links:
            raise NotFound(f"{self._name!r} leads nowhere any more")
        return links[self._name][1]
