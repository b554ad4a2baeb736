"""`.cluster/`: groups, transactions and metadata as files (docs/after-an-incident.md); the answers are `cluster`'s.

Every file is lines, made when it is looked up; a long one is a stream. Owner and mode are what the internal partitions
that it is told by grant together, and of `offsets.jsonl` those that it tells the ends of.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from kafkafs.cluster import files
from kafkafs.cluster.cluster import Cluster, FoundGroup
from kafkafs.cluster.files import LISTS
from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.row_lines import PackedLines, line
from kafkafs.cluster.schema_topic import SCHEMAS_TOPIC
from kafkafs.disk.access import Access, common
from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import NotFound
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.log.partition import Partition
from kafkafs.view import schema_files
from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import KEEP_S, Attributes, Content, Entry, Kind, Node
from kafkafs.view.resources import Resources
from kafkafs.view.streams import Stream
from kafkafs.view.topic_access import GONE, partition_access

_STATE = "state.json"
_GROUPS = "groups"
_TOPICS = (METADATA_TOPIC, GROUPS_TOPIC, TRANSACTIONS_TOPIC)

Answer = TypeVar("Answer")
ShownAs = Callable[[Partition], str | None]
"""The name that the root of the mount shows a partition by."""
Links = dict[str, tuple[Commit, str]]
"""By name, the committed offset that a link stands for, and where it leads."""


class _Granted(NamedTuple):
    """What partitions grant together, and when the newest of their logs was written."""

    access: Access
    mtime_ns: int


class Sources:
    """The cluster, and what the partitions that it is told by grant."""

    def __init__(
        self, cluster: Cluster, resources: Resources, root: Callable[[], Attributes], shown_as: ShownAs
    ) -> None:
        self.cluster = cluster
        self.schemas = resources.schemas
        self.shown_as = shown_as
        self.budget = resources.text
        self.texts = resources.made
        self._root = root
        self._clock = resources.options.clock
        self._granted: dict[tuple[str, ...], CachedValue[_Granted]] = {}
        self._answers: dict[str, tuple[object, PackedLines]] = {}  # each with the version that it is of

    def lines(self, name: str) -> PackedLines:
        """The lines of that file as of now; who asks while another makes them waits, and gets the same. NotFound where
        there is nothing any more that tells them."""
        return self.ask(lambda cluster: self._lines(cluster, name))

    def _lines(self, cluster: Cluster, name: str) -> PackedLines:
        version = LISTS[name].version(cluster)
        known = self._answers.get(name)
        if known is not None and version is not None and known[0] == version:
            return known[1]
        self._answers.pop(name, None)
        lines = LISTS[name].lines(cluster)
        if lines is None:
            raise NotFound(f".cluster/{name} has no source any more")
        made = PackedLines(lines)
        if version is not None:
            self._answers[name] = version, made
        return made

    def ask(self, question: Callable[[Cluster], Answer]) -> Answer:
        """`question` asked of the cluster as it is now."""
        may_block()
        with acquired(self.cluster.lock):
            self.cluster.look()
            return question(self.cluster)

    def granted(self, topics: tuple[str, ...]) -> _Granted:
        """What the partitions of all those topics grant together; without a topic, all partitions."""
        cached = self._granted.setdefault(topics, CachedValue(KEEP_S / 2, self._clock))
        granted = cached.fresh()
        if granted is None:
            may_block()
            partitions = [partition for topic in topics for partition in self._partitions(topic)]
            granted = cached.store(self._of(partitions if topics else self.cluster.partitions()))
        return granted

    def _partitions(self, topic: str) -> list[Partition]:
        if topic != SCHEMAS_TOPIC:
            return self.cluster.sources(topic)
        partition = self.schemas.partition()
        return [] if partition is None else [partition]

    def root(self) -> _Granted:
        """What the root of the mount grants."""
        about = self._root()
        return _Granted(Access(about.uid, about.gid, about.mode), about.mtime_ns)

    def with_ends(self, commits: Iterable[Commit]) -> _Granted:
        """As of groups, and of the partitions whose ends are told beside these offsets."""
        granted = self.granted((GROUPS_TOPIC, METADATA_TOPIC))
        places = sorted({(commit.topic, commit.partition) for commit in commits})
        found = [self.cluster.partition(*place) for place in places]
        here = [partition for partition in found if partition is not None]
        if not here:
            return granted
        more = self._of(here)
        return _Granted(common([granted.access, more.access]), max(granted.mtime_ns, more.mtime_ns))

    def _of(self, partitions: Sequence[Partition]) -> _Granted:
        granted, newest = [], 0
        for partition in partitions:
            with suppress(*GONE):
                one, mtime_ns = partition_access(partition)
                granted.append(one)
                newest = max(newest, mtime_ns)
        return _Granted(common(granted), newest) if granted else self.root()


class _Node:
    """What all nodes here share."""

    kind: Kind = "directory"

    def __init__(self, sources: Sources, topics: tuple[str, ...]) -> None:
        self._sources = sources
        self._topics = topics

    def attributes(self) -> Attributes:
        """What all its sources grant."""
        return self._attributes(self._sources.granted(self._topics))

    def _attributes(self, granted: _Granted, kind: Kind | None = None) -> Attributes:
        """Those of a node of this kind, of what is `granted`."""
        kind = self.kind if kind is None else kind
        uid, gid, mode = granted.access
        mode &= 0o444
        if kind == "directory":
            mode |= mode >> 2
        return Attributes(
            kind,
            0o777 if kind == "symlink" else mode,
            uid,
            gid,
            0,
            0,
            granted.mtime_ns,
            2 if kind == "directory" else 1,
            0.0 if kind == "symlink" else KEEP_S / 2,
        )


class ClusterDirectory(_Node):
    """The top."""

    lane = ""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources, ())

    def attributes(self) -> Attributes:
        """As of the root of the mount: whoever may list that may list and enter this."""
        return self._attributes(self._sources.root())

    def entries(self) -> Sequence[Entry]:
        """What has a source on these disks, sorted; `state.json` and `open-transactions.jsonl` are always there."""
        names = self._sources.ask(lambda cluster: [name for name in LISTS if _is_there(cluster, name)])
        if "groups.jsonl" in names:
            names.append(_GROUPS)
        if self._sources.schemas.partition() is not None:
            names += [schema_files.LINES, schema_files.TEXTS]
        directories = (_GROUPS, schema_files.TEXTS)
        return [Entry(name, "directory" if name in directories else "file", None) for name in sorted([*names, _STATE])]

    def child(self, name: str) -> Node:
        """What `entries` lists, and nothing else: NotFound, too, where a source has gone."""
        if name == _STATE:
            return StateFile(self._sources, _TOPICS)
        if name in (schema_files.LINES, schema_files.TEXTS) and self._sources.schemas.partition() is not None:
            return self._schemas(name)
        listed = f"{_GROUPS}.jsonl" if name == _GROUPS else name
        if listed not in LISTS or not self._sources.ask(lambda cluster: _is_there(cluster, listed)):
            raise NotFound(f".cluster has no {name!r}, or no source for it")
        topics = LISTS[listed].topics
        return GroupsDirectory(self._sources, topics) if name == _GROUPS else LinesFile(self._sources, topics, name)

    def _schemas(self, name: str) -> Node:
        if name == schema_files.LINES:
            return schema_files.lines_file(self._sources.schemas, self._about_schemas, self._sources.texts)
        return schema_files.SchemaTextsDirectory(self._sources.schemas, self._about_schemas, self._sources.texts)

    def _about_schemas(self, kind: Kind) -> Attributes:
        return self._attributes(self._sources.granted((SCHEMAS_TOPIC,)), kind)


def _is_there(cluster: Cluster, name: str) -> bool:
    topic = next(iter(LISTS[name].topics), None)
    if topic is None:
        return bool(cluster.telling)
    return cluster.image is not None if topic == METADATA_TOPIC else bool(cluster.sources(topic))


class _File(MadeFile, _Node):
    """A file of lines. The cluster is asked, and the lines are written, when its size is."""

    kind: Kind = "file"

    @property
    def _texts(self) -> MadeTexts:  # type: ignore[override]
        return self._sources.texts

    def _about(self) -> Attributes:
        return self._attributes(self._sources.granted(self._topics))


class StateFile(_File):
    """`state.json`: one line, how far which topics were read, and what could not be."""

    def _make(self) -> bytes:
        return line(self._sources.ask(files.state))


class LinesFile(_File):
    """One of the files of lines at the top. NotFound where there is nothing any more that tells them."""

    def __init__(self, sources: Sources, topics: tuple[str, ...], name: str) -> None:
        super().__init__(sources, topics)
        self._name = name

    def _make(self) -> bytes:
        return b"".join(piece for _, piece in self._sources.lines(self._name).pieces(0))

    def attributes(self) -> Attributes:
        """What all its sources grant, and the true size, unless it is a long file."""
        if not self._is_long(self._sources.lines(self._name)):
            return super().attributes()
        self._told = None
        return self._about()

    def open(self) -> Content:
        """The text whose size was told; of a long file a stream of its lines as of now."""
        lines = self._sources.lines(self._name) if self._told is None else None
        if lines is None or not self._is_long(lines):
            return super().open()
        return Stream(lines.pieces, 0, self._sources.budget)

    def _is_long(self, lines: PackedLines) -> bool:
        return lines.size > self._texts.limit


class GroupsDirectory(_Node):
    """`groups/`: a directory for each group whose name can be a file's."""

    def entries(self) -> Sequence[Entry]:
        """One for each group, by name, but for names that no file can have."""
        names = self._sources.ask(lambda cluster: cluster.group_paths())
        return [Entry(name, "directory", None) for name in names]

    def child(self, name: str) -> Node:
        """The directory of the group whose encoded name that is; NotFound where none is here."""
        if self._sources.ask(lambda cluster: cluster.group(name)) is None:
            raise NotFound(f"there is no group {name!r}")
        return GroupDirectory(self._sources, self._topics, name)


class _OfGroup(_Node):
    """What stands below the directory of a group, which may go away."""

    def __init__(self, sources: Sources, topics: tuple[str, ...], path: str) -> None:
        super().__init__(sources, topics)
        self._path = path

    def _ask(self, question: Callable[[Cluster, FoundGroup], Answer]) -> Answer:
        """`question` asked of the cluster and the group as they are now; NotFound where the group is gone."""
        return self._sources.ask(lambda cluster: question(cluster, self._found(cluster)))

    def _found(self, cluster: Cluster) -> FoundGroup:
        found = cluster.group(self._path)
        if found is None:
            raise NotFound(f"there is no group {self._path!r} any more")
        return found


class GroupDirectory(_OfGroup):
    """`groups/<group>/`."""

    def entries(self) -> Sequence[Entry]:
        """The same four for each group, though it may have no offsets; NotFound where it is gone."""
        self._ask(lambda _, found: found)
        return [Entry(name, node.kind, None) for name, node in self._nodes().items()]

    def child(self, name: str) -> Node:
        """One of the four; NotFound for any other name. Whether the group is still there it asks itself, when opened or
        listed."""
        node = self._nodes().get(name)
        if node is None:
            raise NotFound(f"a group has no {name!r}")
        return node

    def _nodes(self) -> "dict[str, GroupFile | OffsetsFile | LinksDirectory]":
        of = self._sources, self._topics, self._path
        return {
            "group.json": GroupFile(*of),
            "next": LinksDirectory(*of, ""),
            "offsets.jsonl": OffsetsFile(*of),
            "unread": LinksDirectory(*of, ".jsonl"),
        }


class GroupFile(_File, _OfGroup):
    """`group.json`: one line, the group with its members. NotFound where it is gone."""

    def _make(self) -> bytes:
        return line(self._ask(lambda _, found: files.group(found)))


class OffsetsFile(_File, _OfGroup):
    """`offsets.jsonl`: a line for each offset committed or pending, with the ends as of now."""

    def _about(self) -> Attributes:
        commits = self._ask(lambda cluster, found: cluster.commits(found))
        return self._attributes(self._sources.with_ends(commits))

    def _make(self) -> bytes:
        offsets = self._ask(files.offsets)
        return offsets.lines(0, len(offsets.values))


class LinksDirectory(_OfGroup):
    """`next/` and `unread/`: a link for each committed offset of a partition that is on these disks.

    Those in `next/` that lead nowhere, as nothing is left to read or the log begins behind it, can be asked for and are
    not listed: programs that walk trees end there.
    """

    def __init__(self, sources: Sources, topics: tuple[str, ...], path: str, suffix: str) -> None:
        """`suffix`: of a link to all that is not read, `.jsonl`; of one to what is read next, none."""
        super().__init__(sources, topics, path)
        self._suffix = suffix

    def entries(self) -> Sequence[Entry]:
        """By topic and partition; without offsets that are pending in a transaction."""
        links = self._links().items()
        listed = (name for name, (commit, _) in links if self._suffix or self._is_there(commit))
        return [Entry(name, "symlink", None) for name in listed]

    def child(self, name: str) -> Node:
        """The link of that partition, in `unread/` with `.jsonl` behind it; NotFound where the group has none."""
        if name not in self._links(name):
            raise NotFound(f"the group has committed no offset of a partition {name!r} that is here")
        return OffsetLink(self._sources, self._topics, name, self._links)

    def _links(self, only: str | None = None) -> Links:
        """All of them, or the one of a name alone."""
        found: Links = {}
        for commit in self._ask(lambda cluster, found: cluster.commits(found)):
            if commit.producer_id is not None or commit.offset < 0:
                continue
            partition = self._sources.cluster.partition(commit.topic, commit.partition)
            shown = None if partition is None else self._sources.shown_as(partition)
            name = f"{commit.topic}-{commit.partition}{self._suffix}"
            if shown is not None and only in (None, name):
                query = f"{commit.offset}{f'..{self._suffix}' if self._suffix else ''}"
                found[name] = commit, f"../../../../{shown}/by-offset/{query}"
        return found

    def _is_there(self, commit: Commit) -> bool:
        """Whether something stands at the offset; also where these disks do not tell."""
        ends = self._sources.cluster.progress.ends(commit.topic, commit.partition)
        return (ends.first_here or 0) <= commit.offset and (ends.log_end is None or commit.offset < ends.log_end)


class OffsetLink(_Node):
    """A link to what a group reads next, or to all that it has not read."""

    kind: Kind = "symlink"

    def __init__(self, sources: Sources, topics: tuple[str, ...], name: str, links: Callable[[str], Links]) -> None:
        super().__init__(sources, topics)
        self._name = name
        self._links = links

    def target(self) -> str:
        """Where the committed offset of now leads, whatever is there; NotFound once there is none."""
        links = self._links(self._name)
        if self._name not in links:
            raise NotFound(f"{self._name!r} leads nowhere any more")
        return links[self._name][1]
