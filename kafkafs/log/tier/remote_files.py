"""The files of one remote segment by kind, as `SegmentFiles` has those of one on the disk."""

from collections.abc import Callable
from weakref import ReferenceType, ref

from kafkafs.disk.chunked_file import inode_of
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, DiskError, Lost, NotFound, Unopenable, Vanished
from kafkafs.format.names import segment_file
from kafkafs.log.listing import INDEX_KINDS, ListedFile
from kafkafs.log.tier.counting import Piece, contradicts
from kafkafs.log.tier.layouts import Layout
from kafkafs.log.tier.opening import Epochs, Upload

_KINDS = ("log", *INDEX_KINDS)


class RemoteFiles:
    """The files of one piece of an upload. `completed` is what has been read of its upload; None before a file of it
    was opened.

    Any thread opens: two that do so together open the same, and the later one's stays.
    """

    def __init__(self, layout: Layout | None, piece: Piece, lineage: Epochs, doubted: "set[str]") -> None:
        """`layout` is None if the tier did not answer; `doubted` hears the ids of segments that are otherwise than
        their names let expect."""
        self.upload = piece.upload
        self.base_offset = piece.upload.base_offset
        self._layout = layout
        self._piece = piece
        self._lineage = lineage
        self._doubted = doubted
        self._completed: Upload | None = None
        self._open: dict[str, ReferenceType[DataFile]] = {}
        self._listed: dict[str, ListedFile] | None = None

    @property
    def listed(self) -> dict[str, ListedFile]:
        """Made when it is asked for: a tier can have 10,000 segments, of which few are."""
        if self._listed is None:
            stem, inode = segment_file(self.base_offset, ""), inode_of(self.object)
            stored = self.upload.files.get("log")
            sizes = {"log": 0 if stored is None else stored.size}  # in the tier: it need not be asked for
            self._listed = {kind: ListedFile(stem + kind, inode, sizes.get(kind, 0)) for kind in _KINDS}
        return self._listed

    def is_of(self, piece: Piece, lineage: Epochs) -> bool:
        """True if these are the files of that piece, seen in that lineage."""
        return (self._piece, self._lineage) == (piece, lineage)

    @property
    def object(self) -> str:
        """The key of its log in the tier."""
        return self.upload.object

    @property
    def completed(self) -> Upload:
        """The upload with what its manifest or the metadata tell of it."""
        completed = self._completed
        if completed is None:
            completed = self.upload if self.upload.epochs is not None else self._read()
            self._completed = completed
        return completed

    @property
    def trouble(self) -> str:
        """See `Files`: the manifest is read if no other source names the files."""
        try:
            return self.upload.trouble or self.completed.trouble
        except DiskError as error:
            return str(error)

    @property
    def _readable(self) -> Layout:
        if self._layout is None:
            raise DiskError(self.upload.trouble)
        if self.upload.trouble:
            raise Lost(self.upload.trouble)
        return self._layout

    def _read(self) -> Upload:
        try:
            completed = self._readable.completed(self.upload)
        except NotFound as error:
            raise Vanished(f"{self.object!r} disappeared: {error}") from error
        except Denied as error:  # no right of whoever reads the mount
            raise Unopenable(str(error)) from error
        if contradicts(self._piece, completed, self._lineage):
            self._doubted.add(self.upload.segment_id)
            raise Vanished(f"{self.object!r} now has another part of the log; open it again")
        return completed

    @property
    def largest(self) -> int | None:
        """The largest timestamp of its records; None if only its time index gives it."""
        return self.completed.largest

    @property
    def is_cut_short(self) -> bool:
        """True if its log may go on behind the piece that counts."""
        completed, stop = self.completed, self._piece.stop
        return stop is not None and (completed.end_offset is None or completed.end_offset + 1 > stop)

    @property
    def is_measured(self) -> bool:
        """True if the metadata topic or a manifest tells how long the object has to be, and the last offset of the
        upload."""
        try:
            return self.completed.is_measured
        except (DiskError, Vanished):
            return False

    @property
    def is_open_ended(self) -> bool:
        """See `Files`."""
        return self.completed.end_offset is None

    def name_of(self, kind: str) -> str:
        """The name that the file had on the broker's disk."""
        return segment_file(self.base_offset, kind)

    def open(self, kind: str) -> DataFile:
        """One of the files. DiskError if it cannot be had."""
        known = self._open.get(kind)
        file = known() if known is not None else None
        if file is None:
            try:
                file = self._readable.open(self.completed, kind)
            except NotFound as error:
                raise Vanished(f"{self.object!r} disappeared: {error}") from error
            except Denied as error:
                raise Unopenable(str(error)) from error
            self._open[kind] = ref(file)
        if kind == "log" and file.size != self.log_size():
            raise Lost(f"{self.object!r} has {file.size} bytes, and {self.log_size()} were uploaded")
        return file

    def fetched(self, log: DataFile) -> None:
        """A copy of its log on this machine, which is read from now on, as long as somebody keeps it open."""
        self._open["log"] = ref(log)

    @property
    def log_seen(self) -> tuple[int, int]:
        """The log's size, and when the object was written [ns]."""
        size, found = self.upload.size, self.upload.files.get("log")
        if size is None and not self.upload.trouble:
            size = self.completed.size
        return size or 0, 0 if found is None else found.mtime_ns

    def log_size(self) -> int:
        """The bytes of the log."""
        return self.log_seen[0]

    def open_once(self, kind: str) -> DataFile | None:
        """One of the files, for a question to all segments."""
        return self.open(kind)

    def check_names(self) -> None:
        """Check nothing: no other file takes the place of an object."""

    def read_small_file(self, name: str) -> bytes:
        """The transaction index; NotFound for all other names: a reader needs no other file beside a remote segment."""
        if name != self.name_of("txnindex"):
            raise NotFound(f"{name!r} is not in the tier")
        file = self.open("txnindex")
        return file.read(0, file.size)

    def may_hold_more(self) -> bool:
        """True if a handle may hold a file open: it costs no descriptor, but for a while a chunk. A reader that gets to
        an unreadable part gets the error."""
        try:
            self.open("log")
        except Lost:
            return False
        return True

    def reopened(self) -> "RemoteFiles":
        """An object for the same files, none of them open."""
        return RemoteFiles(self._layout, self._piece, self._lineage, self._doubted)


class UnlistedFiles(RemoteFiles):
    """The files of all offsets of a tier that was not asked yet. A reader that needs one of them asks the tier."""

    def __init__(self, piece: Piece, ask: Callable[[], object]) -> None:
        """`ask` lists what is there; from then on these are no files of the log's any more."""
        super().__init__(None, piece, (), set())
        self._ask = ask

    @property
    def _readable(self) -> Layout:
        self._ask()
        raise Vanished("the tier was listed meanwhile; open the file again")
