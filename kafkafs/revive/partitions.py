"""One partition, written: its segments with indexes of their own, and the small files beside them.

The bytes that are copied are those that were just read and checked. A remote segment in a bucket, or in chunks, is
fetched once into the new directory, and read there. Whatever the method, only `.log` files are ever shared with the
original. The target of a hard link must never be written again. So an empty segment follows such a log, and the broker
appends to it. An empty segment also follows a log whose last offsets are lost.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kafkafs.disk.data_file import DataFile, LocalFile
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import DiskError, Unanswered, Vanished
from kafkafs.format.checkpoints import leader_epochs_bytes, partition_metadata_bytes
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA, segment_file
from kafkafs.format.producer_snapshot import producer_snapshot_bytes
from kafkafs.log.producers import ProducerStates
from kafkafs.log.segment import Segment
from kafkafs.revive.copying import Method, link_log, make_log
from kafkafs.revive.kept_parts import KeptSegment, log_size
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.target import Target
from kafkafs.revive.writing import NewLog, Writing

_MOST_NAMED = 100

Moved = Callable[[int], None]
"""Called with the number of log bytes that were done since the last call."""

Reports = Mapping[str, Mapping[str, Any]]
"""The report about each partition, by the name of its directory: see `report_of`."""


class PartitionWriter:
    """Writes one partition into a directory of its own."""

    def __init__(self, replica: Replica, topic_id: str, target: Target, method: Method, writing: Writing) -> None:
        self._replica, self._topic_id, self._target, self._method = replica, topic_id, target, method
        self._writing = writing
        self._files: list[str] = []
        self._fetched: dict[int, DataFile] = {}
        self._growing: dict[int, NewLog] = {}

    def write(self, scan: PartitionScan, moved: Moved) -> None:
        """Write the whole partition. If the scan finds damage that it may not pass over, nothing more is written."""

        def kept_bytes(base: int, data: bytes | memoryview) -> None:
            """Bytes of a segment that are copied, and not made to be shared or renamed."""
            if self._method != "copy" or base in self._fetched or scan.refused:
                return
            if (growing := self._growing.get(base)) is None:
                growing = self._growing[base] = self._writing.log(segment_file(base, "log"))
            growing.append(data)

        self._writing.begin(self._target)
        for kept in scan.segments(kept_bytes, self._fetch):
            if not scan.refused:
                self._segment(kept)
            moved(log_size(kept.segment) if kept.is_own else 0)
        for base in self._fetched:
            self._target.remove(_name_of_fetched(base))
        if scan.tally.is_below_start:  # `_beside` removes files then
            self._writing.finish()
        self._beside(scan)
        self._writing.finish()

    def _fetch(self, segment: Segment) -> None:
        """Fetch a remote segment. If it cannot be fetched as a whole, the scan reads as much as it can."""
        if segment.object is None or isinstance(source := segment.log(), LocalFile):
            return
        from kafkafs.log.tier.remote_files import RemoteFiles  # only a tier takes what it imports

        assert isinstance(segment.files, RemoteFiles)
        name = _name_of_fetched(segment.base_offset)
        try:
            make_log(source, ((0, source.size),), self._target, name, segment.files.log_seen[1], "copy")
        except Unanswered:
            raise
        except (DiskError, Vanished):
            self._target.remove(name)
            return
        directory = LocalDirectory(str(self._target.path), self._replica.directory.options)
        file = self._fetched[segment.base_offset] = directory.open_now(name)
        segment.files.fetched(file)

    def _segment(self, kept: KeptSegment) -> None:
        base, indexes = kept.base_offset, kept.indexes
        beside = [
            (segment_file(base, "index"), indexes.offset_index),
            (segment_file(base, "timeindex"), indexes.time_index),
        ]
        if indexes.transaction_index:
            beside.append((segment_file(base, "txnindex"), indexes.transaction_index))
        if kept.producers is not None:
            beside.append((segment_file(base, "snapshot"), producer_snapshot_bytes(kept.producers)))
        is_gone = kept.segment.object is not None and not any(isinstance(each, tuple) for each in kept.pieces)
        mtime_ns = time.time_ns() if is_gone else kept.segment.files.log_seen[1]  # a lost segment's is unknown
        growing = self._growing.pop(base, None)
        if growing is not None:
            growing.finish(mtime_ns, tuple(beside))
        else:
            self._log(kept, mtime_ns, is_gone=is_gone)
            for name, content in beside:
                self._target.make(name, content)
        if self._fetched.pop(base, None) is not None:
            self._target.remove(_name_of_fetched(base))
        self._files += [segment_file(base, "log"), *(name for name, _ in beside)]

    def _log(self, kept: KeptSegment, mtime_ns: int, *, is_gone: bool) -> None:
        """A log that is not made of bytes as they are read. `is_gone`: the segment has none of them."""
        segment, target, base = kept.segment, self._target, kept.base_offset
        name = segment_file(base, "log")
        if is_gone:
            make_log(None, kept.pieces, target, name, mtime_ns, "copy")
            return
        source = segment.log()
        is_whole = kept.pieces == ((0, source.size),)
        root = self._replica.directory.root if segment.object is None else None
        if self._method == "link" and isinstance(root, LocalDirectory) and kept.size and is_whole:
            link_log(root, source, target, name)
        elif base in self._fetched and is_whole:
            target.rename(_name_of_fetched(base), name)
        else:
            make_log(source, kept.pieces, target, name, mtime_ns, self._method)
        segment.check(source)

    def _beside(self, scan: PartitionScan) -> None:
        """The files that a broker reads before it reads a log. For a log that was not kept, the files of an empty
        one."""
        target, tally = self._target, scan.tally
        if tally.is_below_start:
            for name in self._files:
                target.remove(name)
            self._files.clear()
        end = tally.end_offset
        is_rolled = self._method == "link" or tally.is_beyond or not self._files
        if is_rolled and segment_file(end, "log") not in self._files:
            for kind in ("log", "index", "timeindex"):
                target.make(segment_file(end, kind), b"")
        producers = as_of_now(tally.producers, time.time_ns() // 1_000_000)
        target.write(segment_file(end, "snapshot"), producer_snapshot_bytes(producers.states.values()))
        target.write(LEADER_EPOCHS, leader_epochs_bytes(tally.epochs))
        target.write(PARTITION_METADATA, partition_metadata_bytes(self._topic_id))


def _name_of_fetched(base: int) -> str:
    return f"{base:020}.fetched"


def report_of(scan: PartitionScan, replica: Replica) -> dict[str, Any]:
    """The report about a partition in `revive.json`, and the facts that the rest of the work needs."""
    tally = scan.tally
    visible = scan.log.visible_segments()
    return {
        "replica": replica.place,
        "startOffset": tally.start_offset,
        "endOffset": tally.end_offset,
        "firstBase": tally.end_offset if tally.is_below_start else visible[0].base_offset,
        "records": tally.records,
        "newestTimestamp": None if tally.newest < 0 else tally.newest,
        "bytes": tally.size,
        "remoteBytes": tally.remote_size,
        "segments": tally.segments,
        "leaderEpoch": max((each.epoch for each in tally.epochs), default=-1),
        "largestProducerId": tally.largest_producer_id,
        "lost": tally.lost,
        "fromOthers": [
            {"first": each.first, "last": each.last, "replica": each.place} for each in tally.borrowed[:_MOST_NAMED]
        ],
        "endedTransactions": [
            {"producerId": each.producer_id, "offset": each.offset, "aborted": each.is_abort} for each in tally.ended
        ],
        "endedGroups": sorted({group for each in tally.ended_groups for group in each.groups}),
        "losses": [{"first": each.first, "last": each.last, "reason": each.reason} for each in tally.losses],
    }


def as_of_now(producers: ProducerStates, now_ms: int) -> ProducerStates:
    """The producers, as if those without an open transaction had written now. Else a broker forgets them at once, and
    would take a batch that a producer repeats for a new one."""
    return ProducerStates(
        each if each.transaction_first_offset >= 0 else replace(each, timestamp=now_ms)
        for each in producers.states.values()
    )
