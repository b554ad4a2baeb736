"""The files of one segment by kind ("log", "index", "timeindex", "txnindex"): found in their directory, opened, asked.

The directory keeps few files open (see `disk.directory`), so each is requested again; nothing here holds one.
"""

from contextlib import AbstractContextManager
from stat import S_ISREG
from typing import Literal, NamedTuple, Protocol
from weakref import ReferenceType, ref

from kafkafs.disk.access import Access
from kafkafs.disk.cached_value import ValidatedValue
from kafkafs.disk.data_file import DataFile, is_settled
from kafkafs.disk.directory import Directory, Inside
from kafkafs.errors import Denied, KafkafsError, NotFound, Vanished
from kafkafs.format.names import segment_file
from kafkafs.log.listing import INDEX_KINDS, ListedFile

IndexState = Literal["ok", "padded", "missing", "damaged"]
"""Padded: zeros are behind its entries. Damaged: Kafka cannot have written it, or the log contradicts some of its
entries that were looked at."""


class LogAttributes(NamedTuple):
    """The access rights of a log on the disk, and the time at which it was last written."""

    access: Access
    mtime_ns: int


class SegmentHealth(NamedTuple):
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: IndexState
    time_index: IndexState
    transaction_index: IndexState
    problems: tuple[str, ...]
    largest: int | None = None  # the segment's largest timestamp, if the look gave it; -1 for none
    log: LogAttributes | None = None  # None of one in a tier, and of one that cannot be read


class Files(Protocol):
    """The questions of a segment to its files, wherever they are: `SegmentFiles` on the disk, `tier` elsewhere."""

    base_offset: int

    @property
    def listed(self) -> dict[str, ListedFile]:
        """The files by kind, as they were listed."""

    @property
    def object(self) -> str | None:
        """The key of its log in a remote tier; None on the disk."""

    @property
    def trouble(self) -> str:
        """Why none of them can be read, where that is known without reading them; empty if they may be."""

    @property
    def is_cut_short(self) -> bool:
        """True if the log goes on behind those of its offsets that count."""

    @property
    def is_measured(self) -> bool:
        """True if something other than the log and its indexes tells its size and its last offset. If not, only the log
        itself shows that it is complete."""

    @property
    def is_open_ended(self) -> bool:
        """True if the last offset of a remote log is not known yet."""

    @property
    def log_seen(self) -> tuple[int, int]:
        """The log's size and time of change when it was listed."""

    def log_size(self) -> int:
        """The bytes of the current log."""

    @property
    def largest(self) -> int | None:
        """The largest timestamp of its records, if another source than its indexes gives it."""

    def name_of(self, kind: str) -> str:
        """The file's name; the one that it would have, where there is none."""

    def open(self, kind: str) -> DataFile:
        """One of the files, open for as long as somebody keeps it."""

    def open_once(self, kind: str) -> DataFile | None:
        """One of the files, which does not stay open: for a question to all segments. None if it is another now."""

    def check_names(self) -> None:
        """Vanished if a file's name belongs to another one by now, or to none, or a further index has come."""

    def read_small_file(self, name: str) -> bytes:
        """A small file of the same directory, by name; NotFound if it does not exist."""

    def may_hold_more(self) -> bool:
        """True if a handle may hold a file open for as long as it lives."""

    def reopened(self) -> "Files":
        """An object for the same files, none of them open."""


Stamp = tuple[int, ...]
"""Inode, size and time of change of each file: they change when a file does, or who may read it."""


class SegmentFiles:
    """The files of the segment with `base_offset` in the directory `partition`, as a `Listing` has them.

    `_open` is written by any thread, without a lock: what it knows of a kind is a file or None, and either is right.
    """

    __slots__ = ("_access", "_indexes", "_open", "_partition", "_root", "base_offset", "health", "listed")

    def __init__(
        self, root: Directory, partition: str, base: int, listed: dict[str, ListedFile], indexes: Directory | None
    ) -> None:
        """`indexes` is where rebuilt indexes are."""
        self._root = root
        self._indexes = indexes
        self._partition = partition
        self.base_offset = base
        self.listed = listed
        self._open: dict[str, ReferenceType[DataFile]] = {}
        self.health: ValidatedValue[SegmentHealth] = ValidatedValue()  # findings of `health`, by the files' stamp
        self._access: ValidatedValue[Access] = ValidatedValue()  # to the log, by its time of change

    object = None
    largest = None
    trouble = ""
    is_measured = False
    is_open_ended = False

    @property
    def is_far(self) -> bool:
        """True if each read of a file is a request to a store."""
        return self._root.is_far

    @property
    def is_cut_short(self) -> bool:
        """True if it is a swap file that stands in for segments of which some are still there behind it."""
        return self.listed["log"].name.endswith(".swap")

    def name_of(self, kind: str) -> str:
        """The file's name; the one that it would have, where there is none."""
        if kind in self.listed:
            return self.listed[kind].name
        plain = segment_file(self.base_offset, kind)  # beside a swap file an older segment's, if there is one
        return f"{plain}.swap" if self.is_cut_short else plain

    def open(self, kind: str) -> DataFile:
        """One of the files, open for as long as the directory's cache or another reader keeps it."""
        known = self._open.get(kind)
        file = known() if known is not None else None
        if file is None:
            listed = self.listed[kind]
            file = self._root_of(listed).open(f"{self._partition}/{listed.name}", listed.inode)
            self._open[kind] = ref(file)
        file.is_used = True
        return file

    def log_size(self) -> int:
        """The bytes of the current log."""
        return self.open("log").size

    @property
    def log_seen(self) -> tuple[int, int]:
        """The log's size and time of change when it was listed."""
        listed = self.listed["log"]
        return listed.size, listed.mtime_ns

    def open_once(self, kind: str) -> DataFile | None:
        """One of the files, which does not stay open: for a question to all segments. None if it is another now."""
        listed = self.listed[kind]
        file = self._root_of(listed).open_now(f"{self._partition}/{listed.name}")
        return file if file.inode == listed.inode else None

    def inside(self) -> AbstractContextManager[Inside]:
        """The directory of the files, for a look at many segments."""
        return self._root.inside(self._partition)

    def log_attributes(self, inside: Inside) -> LogAttributes | None:
        """The attributes of the log, which is opened only if it has changed. None if its name is another file's by now,
        or if it cannot be opened."""
        listed = self.listed["log"]
        try:
            about = inside.stat(listed.name)
            known = self._access.revalidated(about.st_ctime_ns)
            if known is None:
                about, known = inside.attributes(listed.name)
                lasts = about.st_ino == listed.inode and is_settled(about.st_ctime_ns)
                self._access.store(known, about.st_ctime_ns if lasts else None)
        except (NotFound, Denied):
            return None
        return LogAttributes(known, about.st_mtime_ns) if about.st_ino == listed.inode else None

    def stamp(self, inside: Inside) -> Stamp:
        """The state of the files now. Vanished if one is gone: list again."""
        found: list[int] = []
        try:
            for file in self.listed.values():
                if file.rebuilt:
                    about = self._root_of(file).stat(f"{self._partition}/{file.name}")
                else:
                    about = inside.stat(file.name)
                found += (about.st_ino, about.st_size, about.st_ctime_ns)
        except NotFound as error:
            raise Vanished(f"a file of {self.name_of('log')!r} is gone: {error}") from error
        return tuple(found)

    def lend(self, inside: Inside) -> list[DataFile]:
        """The files, open as long as the caller holds them, so that a look at many segments keeps none of them.

        Files that cannot be opened are left to the caller that asks for them.
        """
        lent: list[DataFile] = []
        for kind, listed in self.listed.items():
            known = self._open.get(kind)
            file = known() if known is not None else None
            if file is None:
                if listed.rebuilt:
                    continue
                try:
                    file = inside.open(listed.name)
                except KafkafsError:
                    continue
                if file.inode == listed.inode:
                    self._open[kind] = ref(file)
            lent.append(file)
        return lent

    def check_names(self) -> None:
        """Vanished if a file's name belongs to another one by now, or to none, or a further index has come."""
        for kind in ("log", *INDEX_KINDS):
            listed = self.listed.get(kind)
            name = f"{self._partition}/{self.name_of(kind)}"
            try:
                about = (self._root if listed is None else self._root_of(listed)).stat(name)
                inode = about.st_ino if S_ISREG(about.st_mode) else None  # other kinds of files are not listed
            except NotFound:
                inode = None
            if inode != (None if listed is None else listed.inode):
                raise Vanished(f"{name!r} was replaced while its segment was read; open it again")

    def read_small_file(self, name: str) -> bytes:
        """A small file of the same directory, by name; NotFound if it does not exist."""
        return self._root.read_whole(f"{self._partition}/{name}")

    def may_hold_more(self) -> bool:
        """True if a handle may hold a file open for as long as it lives."""
        return self._root.may_hold_more()

    def reopened(self) -> "SegmentFiles":
        """An object for the same files, none of them open."""
        return SegmentFiles(self._root, self._partition, self.base_offset, self.listed, self._indexes)

    def _root_of(self, file: ListedFile) -> Directory:
        return self._indexes if file.rebuilt and self._indexes is not None else self._root
