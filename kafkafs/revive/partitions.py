"""One partition, written: its segments with indexes of their own, and the small files beside them.

Separate threads write the copied bytes, from the bytes that were just read and checked. A remote segment in a bucket,
or in chunks, is fetched once into the new directory, and read there. Whatever the method, only `.log` files are ever
shared with the original. The target of a hard link must never be written again. So an empty segment follows such a log,
and the broker appends to it. One stands as well where the log's last offsets are lost.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Self

from kafkafs.disk.data_file import DataFile, LocalFile
from kafkafs.disk.directory import Directory
from kafkafs.errors import DiskError, Unanswered, Vanished
from kafkafs.format.checkpoints import leader_epochs_bytes, partition_metadata_bytes
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA, segment_file
from kafkafs.format.producer_snapshot import producer_snapshot_bytes
from kafkafs.log.producers import ProducerStates
from kafkafs.log.segment import Segment
from kafkafs.revive.copying import Method, link_log, make_log, write_past
from kafkafs.revive.kept_parts import KeptSegment, log_size
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.place import Target
from kafkafs.revive.scanning import Hooks, PartitionScan

_COPIERS, _MOST_NAMED = 2, 100
_PARTS_AHEAD, _AHEAD = 64, 5 << 20
"""So many parts, or bytes and a part, may have been read and not be written yet."""

_AT_ONCE = 2 << 20
"""So many bytes of a log are written together."""

Moved = Callable[[int], None]
"""Told how many more bytes of log are done."""


class _Writing:
    """Threads that write while more is read."""

    def __init__(self) -> None:
        self._threads, self._under_way = ThreadPoolExecutor(_COPIERS), deque[tuple[Future[None], int]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def submit(self, size: int, write: Callable[..., None], *arguments: Any) -> Future[None]:
        """Has something written that holds so many bytes in memory, and waits where too much is. An exception of an
        earlier one is raised."""
        while len(self._under_way) > _PARTS_AHEAD or sum(size for _, size in self._under_way) > _AHEAD:
            self._under_way.popleft()[0].result()
        future = self._threads.submit(write, *arguments)
        self._under_way.append((future, size))
        return future

    def finish(self) -> None:
        """All is written when this returns."""
        while self._under_way:
            self._under_way.popleft()[0].result()


class _GrowingLog:
    """A new log, written as its bytes are read: a few parts at a time, and the last ones as it is finished, so that a
    small log takes one turn of one thread."""

    def __init__(self, target: Target, name: str, writing: _Writing) -> None:
        self._target, self._name, self._writing = target, name, writing
        self._open, self._descriptor = ExitStack(), -1
        self._written, self._under_way = 0, list[Future[None]]()
        self._parts, self.size_ahead = list[bytes | memoryview](), 0
        """`size_ahead`: bytes of parts that nothing writes yet."""

    def append(self, data: bytes | memoryview) -> None:
        """More of it."""
        self._parts.append(data)
        self.size_ahead += len(data)
        if self.size_ahead >= _AT_ONCE or len(self._parts) == _PARTS_AHEAD:
            self._begin()
            parts, size, at = self._parts, self.size_ahead, self._written
            self._parts, self.size_ahead, self._written = [], 0, at + size
            self._under_way.append(self._writing.submit(size, self._write, parts, at))
            del parts  # they are in memory no longer than it takes to write them

    def finish(self, mtime_ns: int) -> None:
        """All of it is in the file when this returns, which was last written at that time."""
        for each in self._under_way:
            each.result()
        self._begin()
        self._write(self._parts, self._written)
        with self._target.errors_named(self._name):
            os.utime(self._descriptor, ns=(mtime_ns, mtime_ns))
        self.close()

    def close(self) -> None:
        """May be called twice."""
        self._open.close()

    def _begin(self) -> None:
        if self._descriptor < 0:
            self._descriptor = self._open.enter_context(self._target.new_file(self._name))

    def _write(self, parts: list[bytes | memoryview], at: int) -> None:
        with self._target.errors_named(self._name):
            write_past(self._descriptor, parts, at)
        parts.clear()


class PartitionWriter:
    """Writes one partition into a directory of its own."""

    def __init__(self, replica: Replica, topic_id: str, target: Target, method: Method) -> None:
        self._replica, self._topic_id, self._target, self._method = replica, topic_id, target, method
        self._files: list[str] = []
        self._fetched: dict[int, DataFile] = {}
        self._growing: dict[int, _GrowingLog] = {}

    def write(self, scan: PartitionScan, moved: Moved) -> None:
        """All of it. If the scan finds damage that it may not pass over, nothing more is written."""
        try:
            with _Writing() as writing:
                for kept in scan.segments(Hooks(self._fetch, partial(self._kept, scan, writing))):
                    if not scan.refused:
                        growing = self._growing.get(kept.base_offset)
                        writing.submit(0 if growing is None else growing.size_ahead, self._segment, kept)
                    moved(log_size(kept.segment) if kept.is_own else 0)
                writing.finish()
        finally:
            for log in self._growing.values():
                log.close()
        for base in self._fetched:
            self._target.remove(_name_of_fetched(base))
        self._beside(scan)

    def _kept(self, scan: PartitionScan, writing: _Writing, base: int, data: bytes | memoryview) -> None:
        """Bytes of a segment that are copied, and not made to be shared or renamed."""
        if self._method != "copy" or base in self._fetched or scan.refused:
            return
        if base not in self._growing:
            self._growing[base] = _GrowingLog(self._target, segment_file(base, "log"), writing)
        self._growing[base].append(data)

    def _fetch(self, segment: Segment) -> None:
        """If a remote segment cannot be fetched as a whole, the scan reads what it can."""
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
        directory = Directory(str(self._target.path), self._replica.directory.options)
        file = self._fetched[segment.base_offset] = directory.open_now(name)
        segment.files.fetched(file)

    def _segment(self, kept: KeptSegment) -> None:
        base, target = kept.base_offset, self._target
        self._log(kept)
        if self._fetched.pop(base, None) is not None:
            target.remove(_name_of_fetched(base))
        indexes = kept.indexes
        self._index(base, "index", indexes.offset_index)
        self._index(base, "timeindex", indexes.time_index)
        if indexes.transaction_index:
            self._index(base, "txnindex", indexes.transaction_index)
        if kept.producers is not None:
            self._index(base, "snapshot", producer_snapshot_bytes(kept.producers))
        self._files.append(segment_file(base, "log"))

    def _log(self, kept: KeptSegment) -> None:
        segment, target, name = kept.segment, self._target, segment_file(kept.base_offset, "log")
        base = kept.base_offset
        if segment.object is not None and not any(isinstance(each, tuple) for each in kept.pieces):
            if (growing := self._growing.pop(base, None)) is not None:
                growing.finish(time.time_ns())
            else:  # the object itself may be gone
                make_log(None, kept.pieces, target, name, time.time_ns(), "copy")
            return
        source = segment.log()
        is_whole = kept.pieces == ((0, source.size),)
        is_local = segment.object is None and isinstance(source, LocalFile)
        if self._method == "link" and is_local and kept.size and is_whole:
            link_log(self._replica.directory.root, source, target, name)
        elif base in self._fetched and is_whole:
            target.rename(_name_of_fetched(base), name)
        elif (growing := self._growing.pop(base, None)) is not None:
            growing.finish(segment.files.log_seen[1])
        else:
            make_log(source, kept.pieces, target, name, segment.files.log_seen[1], self._method)
        segment.check(source)

    def _index(self, base: int, kind: str, content: bytes) -> None:
        name = segment_file(base, kind)
        self._target.make(name, content)
        self._files.append(name)

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
                self._index(end, kind, b"")
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
    """The same, those without an open transaction as if they had written now: a broker forgets the others at once, and
    would take a batch that a producer repeats for a new one."""
    return ProducerStates(
        each if each.transaction_first_offset >= 0 else replace(each, timestamp=now_ms)
        for each in producers.states.values()
    )
