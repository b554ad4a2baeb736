"""A long row of hostile batches, each at the very end of memory: run by test_kernels in a process of its own."""

import contextlib
import ctypes
import mmap
import random

import numpy as np

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format import kernels
from kafkafs.format.batch import walk
from kafkafs.format.codecs import LZ4, SNAPPY, measure, unpack
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.native.layout import BATCH, RECORD, SHAPE_DEPTH
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_around, v2_batch
from tests.format.golden import BATCHES, Record
from tests.format.packers import bare_snappy, lz4_frame, xerial

_libc = ctypes.CDLL(None, use_errno=True)
_PAGE = mmap.PAGESIZE


class Guarded:
    """Memory that ends where nothing may be touched."""

    def __init__(self, pages: int = 4) -> None:
        self._size = pages * _PAGE
        self._map = mmap.mmap(-1, self._size + _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        assert _libc.mprotect(ctypes.c_void_p(start + self._size), _PAGE, 0) == 0

    def holding(self, data: bytes) -> memoryview:
        """A copy of the bytes, the last of them the last that can be read."""
        view = memoryview(self._map)[self._size - len(data) : self._size]
        view[:] = data
        return view

    def room(self, size: int) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
        """The last `size` bytes, to be written."""
        return np.frombuffer(memoryview(self._map)[self._size - size : self._size], np.uint8)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, preferably to what varints and sizes make much of; sometimes cut or grown."""
    made = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(made))
        made[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, made[at] ^ 1 << chance.randrange(8), chance.randrange(256)])
    if chance.random() < 0.2:
        del made[chance.randrange(len(made)) :]
    return bytes(made)


def seeds() -> list[bytes]:
    """Golden batches, and ones with headers, long text and many records."""
    headers = tuple((b"name%d" % i, None if i % 2 else "é\x01".encode() * i) for i in range(8))
    texts = [b'{"a":"b"}' * 9, "日本語\x7f\x80".encode() * 20, bytes(range(256)), b"", None]
    records = [Record(7 + i, 5 - i, 0, text, text, headers[:i]) for i, text in enumerate(texts)]
    return [data for data, _ in BATCHES.values()] + [
        *(v2_batch(records), v2_batch(records[2:3]), v2_around(b"", 0)),
        *(v2_batch(records, codec=2, compress=xerial), v2_batch(records, codec=3, compress=lz4_frame)),
    ]


def frames() -> list[tuple[int, bytes]]:
    """What snappy and LZ4 make of text, runs, patterns and noise."""
    noise = random.Random(3).randbytes(700)
    texts = [b"a" * 5000, b"abcdefg" * 300, b'{"key":"value"}' * 90, noise + noise, bytes(range(256)) * 9, b"x"]
    packs = (xerial, bare_snappy, lz4_frame, lambda text: lz4_frame(text, sums=True, content_size=True, code=5))
    return [(LZ4 if pack(b"")[:1] == b"\x04" else SNAPPY, pack(text)) for text in texts for pack in packs]


def unpack_at_the_end_of_memory() -> int:
    """Frames true and mutated, into rooms of every size, both at the end of memory; how many."""
    chance, source, target, done = random.Random(6), Guarded(), Guarded(), 0
    for codec, frame in frames() * 500:
        packed = source.holding(mutated(frame, chance) if done % 8 else frame)
        with contextlib.suppress(CorruptData, TooLarge):
            unpack(codec, chance.randrange(3), packed, target.room(chance.randrange(1, 8000)).data)
            measure(codec, 2, packed, 1 << 16)
        done += 1
    return done


def shapes_at_the_end_of_memory() -> None:
    """JSON texts true and mutated, with no room behind them and behind their shapes."""
    chance, source, scratch, row = random.Random(9), Guarded(), Guarded(), np.zeros(1, RECORD)
    texts = [
        b'{"a":{"b":[1,2.5e3,"\\u00e9x"],"c":null}, "name":true}',
        b'{"' + "日本".encode() * 9 + b'":""}',
        b"[" * 90,
    ]
    for text in texts * 2000:
        value = mutated(text, chance) or b"{"
        data, room = source.holding(value), scratch.room(SHAPE_DEPTH + len(value))
        row["value_size"] = len(value)
        kernels.hash_json_shapes(row, 1, data, False, bytes(16), room, np.empty(1, np.int64))


def outcome(data: bytes, *, verify: bool) -> object:
    """All that a walk and its records say of some bytes."""
    found = walk(data, 0, verify=verify)
    reported: list[object] = [[row.item()[:-1] for row in found.rows], found.stop, found.at, found.missing]
    lines = JsonLines("t", 0)
    for piece in decode(data, 0, found.rows, 1 << 16):
        reported.append(b"".join(lines.pieces(piece)) if isinstance(piece, Records) else str(piece.error))
    return reported


def main() -> None:
    """Prints how many batches there were and how many records they gave."""
    unpack_at_the_end_of_memory()
    shapes_at_the_end_of_memory()
    chance, source, target, tables = random.Random(4), Guarded(), Guarded(64), Guarded(64)
    lines, batches, records = JsonLines("t", 0), 0, 0
    prefix = b"{" + bytes(16)
    for seed in seeds() * 2400:
        data = source.holding(mutated(seed, chance))
        found = walk(data, 0, verify=False)
        batches += 1
        # The walk again, with rows and out at the end of memory.
        rows = tables.room(2 * BATCH.itemsize)
        kernels.walk(data, 0, 0, True, rows, 2)
        for piece in decode(data, 0, found.rows, 1 << 16):
            if not isinstance(piece, Records):
                continue
            records += len(piece)
            for _ in lines.pieces(piece):
                pass
            room = target.room(chance.randrange(300, 20_000))
            table = tables.room(len(piece) * RECORD.itemsize)
            table[:] = np.frombuffer(piece.rows.tobytes(), np.uint8)
            kernels.json_lines(table, 0, len(piece), piece.data, prefix, 1, room)
    print(batches, records)


if __name__ == "__main__":
    main()
