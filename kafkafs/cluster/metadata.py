"""`__cluster_metadata-0`: the newest whole snapshot, and what the log has behind it.

The snapshot at offset 0 holds the records that a node was formatted with (before 4.4, a file beside the log holds
them). Until the first leader writes them to the log again, the snapshot counts. Records between a BeginTransaction and
its EndTransaction count when that one has come. Sources: KafkaRaftLog, MetadataBatchLoader.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kafkafs.cluster.following import Following, Replay, problem_of
from kafkafs.cluster.image import Image
from kafkafs.cluster.row_lines import known
from kafkafs.cluster.snapshots import Snapshot, SnapshotReading, snapshots_of
from kafkafs.errors import UNREADABLE, BatchMemoryFull, KafkafsError, WouldBlock
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_record
from kafkafs.format.names import METADATA_LOG
from kafkafs.format.records import Records, Refusal
from kafkafs.format.tables import Numbers
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions

METADATA_VERSION = "metadata.version"
_FRAME_1 = 1
_SKIPPED = frozenset((20, 27, 29))
"""Types of records that nothing here needs: a controller's sign of life, twice a second, and registrations of
controllers."""


class AsOf(NamedTuple):
    """How far it was read: the last offset, -1 for none; its time, its leader's epoch; the snapshot's file name."""

    offset: int
    timestamp: int | None
    epoch: int | None
    snapshot: str | None


class Metadata(Replay):
    """The metadata log: the newest whole snapshot, and the log behind it. `image` is None if nothing is known: the log
    does not begin at 0, and no snapshot is whole. `is_dynamic`: a record of the quorum's voters was found
    (kraft.version 1)."""

    def __init__(
        self,
        partition: Partition,
        options: ReadOptions,
        new_image: type[Image] = Image,
        until_ms: int | None = None,
        rescued_from: Sequence[Partition] = (),
    ) -> None:
        """`new_image` makes another image than the usual one. `until_ms`: snapshots of a later moment are left out, as
        `until` leaves out later records. `rescued_from`: all replicas, if their snapshots count too. If no snapshot is
        whole, the rest of a damaged one counts."""
        self._partition = partition
        self._rescued_from = rescued_from
        self._options = options
        self._new_image = new_image
        self._until_ms = until_ms
        self._skipped = _SKIPPED | new_image.ignored_types
        self.is_dynamic = False
        super().__init__()

    def _forget(self) -> None:
        self.image: Image | None = None
        self.as_of: AsOf | None = None
        self._is_unused = False
        self._waiting: list[tuple[str, Message]] | None = None  # records of a transaction that has not ended
        self._next: int | None = None  # the offset from which the log goes on; None if it does not
        self._is_gap_reported = False

    @property
    def lost(self) -> str:
        """Why something may be missing in the image, in a sentence; "" if nothing is. A log that no node has written is
        whole."""
        return "" if self._is_unused else self.problems.lost

    @property
    def unended(self) -> int:
        """How many records of a transaction were read that has not ended; they do not count."""
        return len(self._waiting or ())

    def reset(self, log: Log) -> int:
        """Forget everything: see `Replay`."""
        super().reset(log)
        snapshots = snapshots_of(self._rescued_from or (self._partition,))
        for same in snapshots:
            if not same[0].offset and log.end_offset:
                break
            found, wrong = self._first(same)
            if found is None:
                self.report(wrong)
                continue
            if self._counts(found):
                return self._start_behind(found, log)
            self.image, self._waiting = None, None
        if log.start_offset == 0 and log.end_offset > 0:
            self.image, self._next = self._new_image(), 0
            return 0
        if self._rescued_from and self._until_ms is None:
            left, _ = self._first(chain.from_iterable(snapshots), is_rescue=True)
            if left is not None:
                self.report(
                    f"{METADATA_LOG}: there is nothing else to begin with, so what is left of"
                    f" {left.snapshot.name} counts"
                )
                return self._start_behind(left, log)
            if log.end_offset:
                self.image, self._next = self._new_image(), 0
                return 0
        if log.end_offset:
            begins = f"begins at offset {log.start_offset}, and there is no whole snapshot to begin with"
        elif not _may_be_read(log):
            return log.end_offset  # reading the log gives the reason
        else:
            self._is_unused = True
            begins = "is empty" if self._rescued_from else "is empty: the node was formatted, and not started since"
        self.report(f"{METADATA_LOG}: the log {begins}")
        return log.end_offset

    def _counts(self, reading: SnapshotReading) -> bool:
        """True if the result of a whole snapshot is of the moment, and says anything."""
        is_of_then = self._until_ms is None or (reading.time_ms or 0) <= self._until_ms
        return is_of_then and bool(reading.snapshot.offset or (self.image and self.image.features))

    def _start_behind(self, reading: SnapshotReading, log: Log) -> int:
        """Start from the image of a snapshot. Return the offset from which the log is to be read."""
        snapshot = reading.snapshot
        self.as_of = AsOf(snapshot.offset - 1, reading.time_ms, snapshot.epoch, snapshot.name)
        if log.segments and log.start_offset > snapshot.offset and not self._rescued_from:
            self.report(
                f"{METADATA_LOG}: the log begins at offset {log.start_offset}, after the end of {snapshot.name}:"
                " the records between them are missing, and later records are left out"
            )
            return log.end_offset
        self._next = snapshot.offset
        return snapshot.offset

    def add(self, records: Records, batches: Batches) -> None:
        """Some records in order; those that the snapshot has do not count twice."""
        if self._next is None or not len(records):
            return
        records = records.between(self._next, int(records.rows["offset"][-1]) + 1)
        if not len(records):
            return
        offsets = records.rows["offset"]
        if not self._is_gap_reported:
            self._report_gaps(np.concatenate(([self._next - 1], offsets)))
        self._apply(METADATA_LOG, records, batches)
        last = int(offsets[-1])
        self._next, self._is_gap_reported = last + 1, False
        batch = batches[int(records.rows["batch"][-1])]
        snapshot = self.as_of.snapshot if self.as_of else None
        timestamp, epoch = int(records.rows["timestamp"][-1]), int(batch["leader_epoch"])
        self.as_of = AsOf(last, known(timestamp), known(epoch), snapshot)

    def report(self, problem: str) -> None:
        """See `Replay`."""
        super().report(problem)
        self._is_gap_reported = True

    def _report_gaps(self, offsets: Numbers) -> None:
        """This log is never compacted: where an offset is missing, a segment is."""
        for at in np.flatnonzero(np.diff(offsets) != 1).tolist():
            self.problems.add(f"{METADATA_LOG}: offsets {offsets[at] + 1} to {offsets[at + 1] - 1} are missing")

    def _apply(self, where: str, records: Records, batches: Batches) -> None:
        control = is_control(batches)[records.rows["batch"]].tolist()
        for number, offset in enumerate(records.rows["offset"].tolist()):
            if control[number]:
                self.is_dynamic |= control_type(records.key(number) or b"") is ControlType.KRAFT_VOTERS
                continue
            value = records.value(number)
            if value is None or len(value) < 2 or value[0] != _FRAME_1 or value[1] not in self._skipped:
                self._record(where, offset, None if value is None else bytes(value))

    def _record(self, place: str, offset: int, value: bytes | None) -> None:
        message = parse_record(InternalTopic.CLUSTER_METADATA, None, value)
        if isinstance(message, Unreadable):
            self.problems.add_record(place, offset, problem_of(message))
            self._is_gap_reported = True
            return
        where = f"{place}: offset {offset}"
        match message.name:
            case "BeginTransactionRecord":
                self._waiting = []
            case "EndTransactionRecord":
                for waited in self._waiting or ():
                    self._change(*waited)
                self._waiting = None
            case "AbortTransactionRecord":
                self._waiting = None
            case _ if self._waiting is not None:
                self._waiting.append((where, message))
            case _:
                self._change(where, message)

    def _change(self, where: str, message: Message) -> None:
        assert self.image is not None
        try:
            self.image.apply(message)
        except LookupError:
            self.report(f"{where}: a {message.name} is about something that is not there")

    def _first(self, snapshots: Iterable[Snapshot], *, is_rescue: bool = False) -> tuple[SnapshotReading | None, str]:
        """Make the image from the first snapshot that is whole (`is_rescue`: from the rest of a damaged one). If there
        is none, there is no image, and a sentence says what is wrong with the first snapshot."""
        before, first_wrong = (self.problems, self.is_dynamic), ""
        for each in snapshots:
            self.image, self._waiting, self.problems = self._new_image(), None, deepcopy(before[0])
            reading = SnapshotReading(each, self._options)
            try:
                for piece, batches in reading.pieces():
                    if isinstance(piece, Refusal):
                        self.report(f"{each.place}: a batch is left out: {piece.error}")
                    else:
                        self._apply(each.place, piece, batches)
                    del piece
            except (WouldBlock, BatchMemoryFull):
                raise
            except KafkafsError as error:
                wrong = f"cannot be read: {error}"
            else:
                wrong = "is not whole and left out"
                if reading.has_records if is_rescue else reading.is_whole:
                    return reading, ""
            first_wrong = first_wrong or f"{each.place} {wrong}"
        self.image, self._waiting, (self.problems, self.is_dynamic) = None, None, before
        return None, first_wrong


def _may_be_read(log: Log) -> bool:
    """True if the last segment of a log can be read. If it cannot, the log may be empty or not."""
    try:
        log.segments[-1].log()
    except UNREADABLE:
        return False
    except IndexError:  # it has no segment
        pass
    return True


def read_once(partition: Partition, options: ReadOptions, new_image: type[Image] = Image) -> Metadata:
    """Return the state in a replica as of now: see `Metadata`. KafkafsError where its directory cannot be read."""
    following = Following(partition, Metadata(partition, options, new_image), options)
    following.catch_up()
    return following.replay


def metadata_version(path: Path) -> int | None:
    """The feature level that Kafka's releases count by; None if the data directory there does not tell."""
    try:
        image = read_once(open_data_directory(path).partition(METADATA_LOG), ReadOptions()).image
    except KafkafsError:
        return None
    return image.features.get(METADATA_VERSION) if image else None
