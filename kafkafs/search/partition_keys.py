"""Find the records with a key in one partition: the last one, or all.

The log is asked from its end: for each segment an index shows if it may have the key. It comes from `KeyIndexes` or
from a scan, which is done once for each segment and only as far back as the key asked for demands; what is appended is
scanned at the next question. The lookup reads each record whose key has the hash. The record's own key decides.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from weakref import WeakSet

from kafkafs.disk.blocking import has_time_slice, may_block
from kafkafs.disk.budget import Budget
from kafkafs.errors import AnswerInProgress, CorruptData, NotFound, TooLarge, Vanished
from kafkafs.format.key_index import hashed, matching
from kafkafs.format.records import Records
from kafkafs.format.tables import chosen
from kafkafs.format.trace import Trace, no_trace
from kafkafs.log.log import Found
from kafkafs.log.look import Reader
from kafkafs.log.segment import Segment
from kafkafs.search.key_indexes import KeyIndex, KeyIndexes, places
from kafkafs.search.segment_keys import SegmentKeys

KEY_MEMORY = 64 << 20
"""Bytes for the keys of all partitions of one tree. Eight a key that was found by a scan, so these are eight million
keys; key indexes take next to nothing."""

_ASKED = 64
"""Keys for which it is remembered which segments lack them, where there is no room for what those have."""


class PartitionKeys:
    """The known keys of one partition. Any thread may ask."""

    def __init__(self, memory: Budget, indexes: KeyIndexes | None = None) -> None:
        """`memory` is what the partitions of one tree share."""
        self._memory = memory
        self._indexes = indexes
        self._lock = threading.Lock()  # held by the thread that scans
        self.known: dict[int, SegmentKeys] = {}  # by base offset
        self._short_of_memory: OrderedDict[bytes, WeakSet[Segment]] = OrderedDict()
        self._distrusted: WeakSet[Segment] = WeakSet()  # their indexes

    def last(self, reader: Reader, key: bytes, trace: Trace = no_trace) -> Found:
        """The last visible record with that key; NotFound if it does not exist.

        TooLarge if it may be in a batch that is too large to unpack; Vanished if a newer log was asked already.
        Denied if a later one may be in a last log that may not be read.
        """
        may_block()
        reader.log.check_end()
        segments, too_large, found = self._newest_first(reader, key), -1, None
        while segments and found is None:
            ready = self._ready(reader, segments) or [self._made(reader, segments[0], trace)]
            too_large = max([too_large, *(offset for keys in ready for offset in keys.too_large)])
            found, left = self._found(reader, ready, key, trace)
            if found is None and not left:
                self._remember_shortage(key, ready[-1])
            segments = left + segments[len(ready) :]
        name = reader.log.name.directory
        if too_large > (found.offset if found is not None else -1):
            raise TooLarge(f"{name}: the key may be in a batch that is larger than -o max_batch= allows")
        if found is None:
            raise NotFound(f"{name}: no visible record has the key {key[:80].decode(errors='backslashreplace')!r}")
        return found

    def history(self, reader: Reader, key: bytes, start: int, end: int) -> Iterator[Records]:
        """The visible records with that key in the offsets [start, end), in order; fails where a range would."""
        for segment in [*reader.log.segments_between(start, end)]:  # one without the key may be gone when it is passed
            behind = end if segment.next_base is None else min(end, segment.next_base)
            keys = self._known_keys(reader, segment)
            if keys is not None and _surely_lacks(keys, key):
                continue
            for piece in reader.records(max(start, segment.base_offset), behind):
                found = matching(piece, key)
                if len(found):
                    yield Records(piece.data, chosen(piece.rows, found))

    def learn(self, reader: Reader) -> None:
        """Finds the keys of all segments, as far as there is room for them: `history` then reads only what it must."""
        may_block()
        for segment in reversed(reader.log.visible_segments()):
            if segment.base_offset < reader.visible_end and self._known_keys(reader, segment) is None:
                made = self._made(reader, segment, no_trace)
                if self.known.get(segment.base_offset) is not made:
                    return

    def release(self) -> bool:
        """Free what can be scanned again; see `Budget`."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self.known = {}
            return True
        finally:
            self._lock.release()

    def _newest_first(self, reader: Reader, key: bytes) -> list[Segment]:
        """The segments that may have the key."""
        lacking = self._short_of_memory.get(key, ())
        visible = reader.log.visible_segments()
        return [each for each in reversed(visible) if each.base_offset < reader.visible_end and each not in lacking]

    def _known_keys(self, reader: Reader, segment: Segment) -> SegmentKeys | None:
        """The keys of a segment, if all that are visible are known."""
        keys = self.known.get(segment.base_offset)
        is_all = keys is not None and keys.segment is segment and keys.reached >= _visible_end(reader, segment)
        return keys if is_all else None

    def _ready(self, reader: Reader, segments: Sequence[Segment]) -> list[SegmentKeys]:
        """Return the known keys of the first segments, up to the first segment that is not known as a whole."""
        found = []
        for segment in segments:
            keys = self._known_keys(reader, segment)
            if keys is None:
                break
            found.append(keys)
        return found

    def _found(
        self, reader: Reader, ready: Sequence[SegmentKeys], key: bytes, trace: Trace
    ) -> tuple[Found | None, list[Segment]]:
        """The last record with the key; else the segments that must be asked again, as an index has misled."""
        for index, offset in places((index for keys in ready for index in keys.indexes), key):
            if offset is not None and offset >= reader.visible_end and index.file is None:
                raise _grown(reader)  # and of each key the index has the last record only
            record = None if offset is None else _at(reader, offset)
            if record is not None and record.offset == offset and _key(record) == key:
                trace(f"{_name_of(index)}: the key's last record is at offset {offset}")
                return record, []
            trace(f"{_name_of(index)}: " + _why_not(offset, record))
            if index.file is not None and _misled(index, offset, record, key, reader):
                self._distrusted.add(index.segment)
                with self._scanning():
                    self.known.pop(index.segment.base_offset, None)
                asked = [keys.segment for keys in ready]
                return None, asked[asked.index(index.segment) :]
        if trace is not no_trace:
            for keys in ready:
                kind = "key index" if keys.has_index else "scanned"
                rows = sum(index.row_count for index in keys.indexes)
                trace(f"segment {keys.segment.log_name}: {kind}, {rows} keys, not this one")
        return None, []

    def _made(self, reader: Reader, segment: Segment, trace: Trace) -> SegmentKeys:
        """The keys of a segment, scanned or from its index; kept if there is room."""
        with self._scanning():
            keys = self._begun(reader, segment)
            end = _visible_end(reader, segment)
            if keys.reached < end:
                trace(f"segment {segment.log_name}: scanning for keys from offset {keys.reached} to {end}")
                keys.scan(reader, end)
            there = {each.base_offset for each in reader.log.visible_segments()}
            self.known = {base: held for base, held in self.known.items() if base in there}
            if not self._memory.hold(self, sum(held.size for held in self.known.values())) and keys.is_closed:
                del self.known[segment.base_offset]
            return keys

    def _begun(self, reader: Reader, segment: Segment) -> SegmentKeys:
        """The known keys of a segment so far."""
        keys, end = self.known.get(segment.base_offset), _visible_end(reader, segment)
        if keys is not None and keys.segment is not segment and keys.continues_in(segment):
            if keys.reached > end:
                raise _grown(reader)
            keys.move_to(segment)
        if keys is None or keys.segment is not segment or (keys.is_settled and keys.reached < end):
            keys = SegmentKeys(segment, reader.log.start_offset)
        if self._indexes is not None and end == segment.next_base and segment not in self._distrusted:
            index = self._indexes.of(segment) if keys.reached < end else None
            if index is not None:
                keys.use(index, end)
        self.known[segment.base_offset] = keys
        return keys

    @contextmanager
    def _scanning(self) -> Iterator[None]:
        """A context in which no other thread scans; a thread with a time slice does not wait for its turn."""
        if not self._lock.acquire(blocking=not has_time_slice()):
            raise AnswerInProgress("another reader looks for keys in the same partition; ask again")
        try:
            yield
        finally:
            self._lock.release()

    def _remember_shortage(self, key: bytes, keys: SegmentKeys) -> None:
        """Memory was short for a segment's keys. The next call for this segment need not scan it again."""
        if keys.is_closed and keys.is_whole and self.known.get(keys.segment.base_offset) is not keys:
            self._short_of_memory.setdefault(key, WeakSet()).add(keys.segment)
            while len(self._short_of_memory) > _ASKED:
                self._short_of_memory.popitem(last=False)


def _grown(reader: Reader) -> Vanished:
    """Raised to a reader whose log is older than the log in which another thread found the keys. The reader asks
    again."""
    return Vanished(f"{reader.log.name.directory}: the log has grown since it was looked at")


def _visible_end(reader: Reader, segment: Segment) -> int:
    return reader.visible_end if segment.next_base is None else min(reader.visible_end, segment.next_base)


def _surely_lacks(keys: SegmentKeys, key: bytes) -> bool:
    return keys.is_whole and next(places(keys.indexes, key), None) is None


def _at(reader: Reader, offset: int) -> Found | None:
    """The first visible record from there on; None if it does not exist, or what is there is corrupt."""
    try:
        return reader.lookup.first(offset)
    except (NotFound, CorruptData):
        return None


def _misled(index: KeyIndex, offset: int | None, record: Found | None, key: bytes, reader: Reader) -> bool:
    """True if an index named a record that does not exist. Then it may also have left out others."""
    if offset is not None and offset < reader.log.start_offset:
        return False
    if record is None or record.offset != offset:
        return reader.options.isolation == "read_uncommitted" or offset is None or record is None
    found = _key(record)
    return found is None or hashed(found, index.seed) != hashed(key, index.seed)


def _key(record: Found) -> bytes | None:
    key = record.record.key(0)
    return None if key is None else bytes(key)


def _name_of(index: KeyIndex) -> str:
    return f"segment {index.segment.log_name}" + (" (key index)" if index.file is not None else "")


def _why_not(offset: int | None, record: Found | None) -> str:
    if offset is None:
        return "the index is damaged, and the segment is scanned instead"
    if record is None or record.offset != offset:
        return f"no visible record at offset {offset}"
    return f"the record at offset {offset} has another key of the same hash"
