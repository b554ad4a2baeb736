"""The contents of a partition's log, by reading all of it: which parts of records take the bytes, and what could go.

All batches that are in its files count, also those below the log start. Control records are framing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kafkafs.errors import KafkafsError
from kafkafs.format.batch import CODEC, Batches, is_control, is_transactional
from kafkafs.format.fields import find_fields
from kafkafs.format.names import OWN_TOPICS
from kafkafs.format.native.layout import FIELD_HEADER_ID, FIELD_PREFIX_ID, FIELD_SLOT, V2
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.format.tables import Numbers
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import BatchRun, Damage
from kafkafs.overview.superseded import Superseded, hashes_of

_OPTIONS = ReadOptions()


_SUMS = ("stored", "unpacked", "key", "value", "header", "superseded", "tombstones", "schemas")


def add_up(
    one: object, other: object, sums: Sequence[str], first: Sequence[str] = (), last: Sequence[str] = ()
) -> None:
    """Add the other's fields `sums` to those of `one`. The fields `first` get the smaller value of both, and `last` the
    larger; None is no value."""
    for name in sums:
        setattr(one, name, getattr(one, name) + getattr(other, name))
    for names, choose in ((first, min), (last, max)):
        for name in names:
            values = (getattr(each, name) for each in (one, other))
            setattr(one, name, choose((value for value in values if value is not None), default=None))


@dataclass
class Contents:
    """The parts of a log, made to be added up. `stored` and `unpacked`: bytes of valid batches, in the file and when
    unpacked."""

    stored: int = 0
    unpacked: int = 0
    key: int = 0
    value: int = 0
    header: int = 0
    superseded: int = 0
    tombstones: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None
    producers: set[int] = field(default_factory=set)
    transactional: set[int | str] = field(default_factory=set)
    schemas: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, other: "Contents") -> None:
        """Adds those of another partition."""
        add_up(self, other, _SUMS, ("oldest_ms",), ("newest_ms",))
        self.producers |= other.producers
        self.transactional |= other.transactional


def read_contents(partition: Partition) -> Contents:
    """Reads a partition's log; what is damaged is in `problems`, and counts as framing."""
    found, name, replaced = Contents(), partition.name.directory, Superseded()
    try:
        log = partition.log()
        _pass(log, found, replaced)
        while replaced.finish():
            _pass(log, None, replaced)
    except KafkafsError as error:
        found.problems.append(f"{name}: {error}")
    found.superseded = replaced.size
    return found


def _pass(log: Log, found: Contents | None, replaced: Superseded) -> None:
    """Reads all records, in order; without `found` for `replaced` alone."""
    for segment in log.segments:
        for item in log.walk_segment(segment, segment.base_offset):
            if isinstance(item, Damage):
                if found is not None:
                    found.problems.append(f"{log.name.directory}: {segment.log_name}: {item}")
            else:
                _take(log, item, found, replaced)


def _take(log: Log, run: BatchRun, found: Contents | None, replaced: Superseded) -> None:
    """Takes in a run of batches."""
    control, sizes = is_control(run.rows), RecordSizes(run.rows, run.position)
    unpacked = _headers(run.rows)
    for piece in decode(run.data, run.position, run.rows, _OPTIONS.max_batch, _OPTIONS.memory):
        if isinstance(piece, Refusal):
            if found is not None:
                found.problems.append(f"{log.name.directory}: {piece.error}")
                unpacked += int(run.rows["size"][piece.batch]) - V2.records
            continue
        taken = sizes.of(piece)
        unpacked += int(taken.sum())
        is_data = ~control[piece.rows["batch"]]
        if not is_data.all():
            piece, taken = Records(piece.data, piece.rows[is_data]), taken[is_data]
        if len(piece):
            replaced.add(hashes_of(piece), taken[piece.rows["key_size"] >= 0])
            if found is not None:
                found.add(_of_records(log, piece))
    if found is None:
        return
    found.stored += int(run.rows["size"].sum())
    found.unpacked += unpacked
    ids = run.rows["producer_id"]
    found.producers.update(np.unique(ids[ids >= 0]).tolist())
    found.transactional.update(np.unique(ids[is_transactional(run.rows) & (ids >= 0)]).tolist())


def _headers(rows: Batches) -> int:
    """The bytes of batches beside their records. A plain message of v0 or v1 is a record itself."""
    is_wrapper = (rows["magic"] < 2) & ((rows["attributes"] & 7) != 0)
    return int((rows["magic"] >= 2).sum()) * V2.records + int(np.where(rows["magic"][is_wrapper] == 1, 34, 26).sum())


def _of_records(log: Log, piece: Records) -> Contents:
    rows = piece.rows
    times = rows["timestamp"][(rows["timestamp"] >= 0) & (rows["offset"] >= log.start_offset)]
    return Contents(
        key=int(np.maximum(rows["key_size"], 0).sum(dtype=np.int64)),
        value=int(np.maximum(rows["value_size"], 0).sum(dtype=np.int64)),
        header=int(header_bytes(piece).sum()),
        tombstones=int(((rows["key_size"] >= 0) & (rows["value_size"] < 0)).sum()),
        oldest_ms=int(times.min()) if len(times) else None,
        newest_ms=int(times.max()) if len(times) else None,
        schemas=Counter(_schemas(piece) if log.name.topic not in OWN_TOPICS else {}),
    )


def _schemas(piece: Records) -> dict[int, int]:
    """How many keys and values name which schema of a registry."""
    fields, named = find_fields(piece)
    if not named:
        return {}
    kinds = fields[:, FIELD_SLOT.kind]
    ids: Numbers = fields[:, FIELD_SLOT.id][(kinds == FIELD_PREFIX_ID) | (kinds == FIELD_HEADER_ID)]
    found, counts = np.unique(ids[ids > 0], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


_MOST_VARINT = 5


class RecordSizes:
    """Measures the pieces of one run of batches in their order."""

    def __init__(self, batches: Batches, position: int) -> None:
        """`position` is that of the run's first byte in its segment."""
        begins = batches["position"] - position
        self._begins = np.where(batches["magic"] >= 2, begins + V2.records, begins)
        self._is_packed = (batches["attributes"] & CODEC) != 0
        self._data: object = None
        self._end = 0

    def of(self, piece: Records) -> Numbers:
        """The bytes of each record of the next piece."""
        rows = piece.rows
        ends = np.where(rows["magic"] >= 2, rows["headers_at"] + rows["headers_size"],
                        rows["value_at"] + np.maximum(rows["value_size"], 0))  # fmt: skip
        starts = np.empty_like(ends)
        starts[1:] = ends[:-1]
        starts[0] = self._end if piece.data is self._data else 0
        batch = rows["batch"]
        is_first = np.append(piece.data is not self._data or batch[0] != self._batch, batch[1:] != batch[:-1])
        begins = is_first & ~self._is_packed[batch]
        starts[begins] = self._begins[batch[begins]]
        self._data, self._end, self._batch = piece.data, int(ends[-1]), int(batch[-1])
        sizes: Numbers = ends - starts
        return sizes

    _batch = -1


def header_bytes(piece: Records) -> Numbers:
    """The bytes of names and values of each record's headers, without their lengths."""
    rows = piece.rows
    found = np.zeros(len(rows), np.int64)
    left = np.flatnonzero(rows["header_count"] > 0)
    at, count = rows["headers_at"][left].astype(np.int64), rows["header_count"][left].astype(np.int64)
    while len(left):
        for _ in ("name", "value"):
            size, at = _varints(piece.data, at)
            size = np.maximum(size, 0)
            found[left] += size
            at = at + size
        count = count - 1
        more = count > 0
        left, at, count = left[more], at[more], count[more]
    return found


def _varints(data: np.ndarray[tuple[int], np.dtype[np.uint8]], at: Numbers) -> tuple[Numbers, Numbers]:
    """The zigzag numbers at these places, and the places behind them."""
    value, behind, goes_on = np.zeros(len(at), np.int64), at.copy(), np.ones(len(at), bool)
    for number in range(_MOST_VARINT):
        byte = data[np.minimum(at + number, len(data) - 1)].astype(np.int64)
        value[goes_on] |= (byte[goes_on] & 0x7F) << (7 * number)
        behind[goes_on] += 1
        goes_on = goes_on & (byte >= 0x80)
        if not goes_on.any():
            break
    return (value >> 1) ^ -(value & 1), behind
