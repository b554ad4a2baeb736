"""The cluster's metadata as all disks tell them together: a snapshot that is whole on any of them, and the log behind.

The log is read as those of other partitions are (`scanning`), up to the end that its broker recorded. Damaged and
missing parts come from other replicas. Parts that no disk has are left out and named, and the rest counts. If nothing
whole is left to begin with, even the rest of a snapshot counts, or a log that has lost its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkafs.cluster.following import until
from kafkafs.cluster.metadata import AsOf, Metadata
from kafkafs.errors import UNREADABLE
from kafkafs.format.batch import Batches, walk
from kafkafs.format.names import METADATA_LOG
from kafkafs.format.records import Refusal, decode
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest
from kafkafs.revive.broker_notes import BrokerNotes
from kafkafs.revive.other_replicas import OtherBatches, Replica, batches_of_other_replicas
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.whole_image import WholeImage

QUORUM_STATE = "quorum-state"
_DYNAMIC = b'"data_version":1'


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The content of the metadata log, `as_of` its end.

    `image` is None if there is no such log (ZooKeeper's time, a lost disk) or it cannot be understood. `problems`:
    damaged and missing parts. `sentences`: parts that come from elsewhere, or that are not as they were at the moment
    that was asked for.
    """

    image: WholeImage | None
    as_of: AsOf | None
    is_dynamic: bool  # the quorum's voters are in the log (kraft.version 1), not in everybody's settings
    problems: tuple[str, ...]
    sentences: tuple[str, ...] = ()


def read_metadata(
    directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None = None
) -> ClusterMetadata:
    """The cluster's metadata on these disks, as of a moment where one is given."""
    found = [Replica(each, each.partition(METADATA_LOG)) for each in directories if METADATA_LOG in each.names()]
    chosen = furthest([each.partition for each in found])
    if chosen is None:
        return ClusterMetadata(None, None, False, ())
    try:
        reading = _Reading(chosen, found, options)
        image = reading.image
        then = _Reading(chosen, found, options, until_ms).image if until_ms is not None and image else None
    except UNREADABLE as error:
        return ClusterMetadata(None, None, False, (f"{METADATA_LOG} cannot be read: {error}",))
    sentences = reading.sentences
    if unended := reading.metadata.unended:
        sentences.append(
            f"{METADATA_LOG}: its last {unended} records are left out: their controller had not ended that change"
        )
    if image is not None and then is not None:
        image = _with_current_ids(then, image)
    elif image is not None and until_ms is not None:
        sentences.append("topics and settings are those of the end: the metadata of that moment are no longer there")
    is_dynamic = reading.metadata.is_dynamic or any(_is_dynamic(each.partition) for each in found)
    return ClusterMetadata(image, reading.as_of, is_dynamic, tuple(reading.metadata.problems), tuple(sentences))


class _Reading:
    """One reading of a replica's log, all of `found` being asked for what it lacks."""

    def __init__(
        self, chosen: Partition, found: Sequence[Replica], options: ReadOptions, until_ms: int | None = None
    ) -> None:
        self.sentences = list[str]()
        self.metadata = Metadata(chosen, options, WholeImage, until_ms, [each.partition for each in found])
        self._replay = until(until_ms, self.metadata)
        self._others = [each for each in found if each.partition is not chosen]
        self._options, self._reported = options, 0
        log = chosen.log()
        self._first = self._replay.reset(log)
        self._epochs = BrokerNotes(chosen, log).epochs()
        if log.segments and self._first < log.start_offset:
            self._lacks(self._first, log.start_offset - 1, "no segment has them")
        start = max(self._first, log.start_offset)
        behind = Log(log.name, log.segments, log.tail, start, log.high_watermark, log.directory_inode)
        self._scan = PartitionScan(chosen, behind, Rules("skip", dense_from=0))
        for _ in self._scan.segments(self._take_kept):
            pass
        self._report_new_losses()

    @property
    def image(self) -> WholeImage | None:
        """The metadata that were found, or None."""
        return self.metadata.image if isinstance(self.metadata.image, WholeImage) else None

    @property
    def as_of(self) -> AsOf | None:
        """How far it came. The epoch is the last one that its broker recorded: that of a batch is under no CRC."""
        as_of = self.metadata.as_of
        return as_of._replace(epoch=self._epochs[-1].epoch) if as_of is not None and self._epochs else as_of

    def _take_kept(self, _: int, data: bytes | memoryview) -> None:
        self._report_new_losses()
        self._take(data, 0, walk(data, 0).rows)

    def _take(self, data: bytes | memoryview, position: int, rows: Batches) -> None:
        for piece in decode(data, position, rows, self._options.max_batch, self._options.memory):
            if isinstance(piece, Refusal):
                at = int(rows["base_offset"][piece.batch])
                self._replay.report(f"{METADATA_LOG}: the batch at offset {at} is left out: {piece.error}")
            else:
                self._replay.add(piece.between(self._first, int(rows["last_offset"][-1]) + 1), rows)

    def _report_new_losses(self) -> None:
        """The offsets that the scan misses so far, before it takes the records behind them."""
        tally = self._scan.tally
        for each in tally.losses[self._reported :]:
            if each.is_damage or each.last < self._scan.log.end_offset:
                self._lacks(each.first, each.last, each.reason)
            else:  # a disk that was copied while its broker ran
                self.sentences.append(f"{METADATA_LOG}: {each.reason}")
        self._reported = len(tally.losses)

    def _lacks(self, first: int, last: int, reason: str) -> None:
        """Take these offsets from other replicas, or report them as missing."""
        for each in batches_of_other_replicas(first, last, self._others, self._epochs, is_dense=True):
            if isinstance(each, OtherBatches):
                self._take(each.run.data, each.run.position, each.run.rows)
                offsets = f"offsets {each.run.rows['base_offset'][0]} to {each.run.last_offset}"
                self.sentences.append(f"{METADATA_LOG}: {offsets} are those of {each.place}")
            else:
                self._replay.report(f"{METADATA_LOG}: offsets {each.first} to {each.last} are missing: {reason}")


def _with_current_ids(then: WholeImage, now: WholeImage) -> WholeImage:
    """The image of then, with what must never be given out twice as it is now: ids of producers, epochs of leaders. And
    who has all that was acknowledged, since disks are those of now."""
    then.next_producer_id = now.next_producer_id
    for topic_id, topic in now.topics.items():
        partitions = then.topics[topic_id].partitions if topic_id in then.topics else {}
        for number, state in topic.partitions.items():
            if number not in partitions:
                then.later.add((topic_id, number))
                continue
            partitions[number] = partitions[number]._replace(
                leader_epoch=max(state.leader_epoch, partitions[number].leader_epoch),
                partition_epoch=max(state.partition_epoch, partitions[number].partition_epoch),
                isr=state.isr,
                eligible=state.eligible,
            )
    return then


def _is_dynamic(partition: Partition) -> bool:
    """Decide by the version of the file in which a node keeps its vote."""
    try:
        state = partition.read_small_file(QUORUM_STATE)
    except UNREADABLE:
        return False
    return _DYNAMIC in state.replace(b" ", b"")
