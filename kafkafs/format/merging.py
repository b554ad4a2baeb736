"""The lines of several partitions as one text, in the order of their records' times (docs/queries.md, "Topics").

Next comes always the line whose record has the smallest timestamp among those that come next of their partition; of
equal ones that of the first partition. So each partition's order is kept, whatever its times are. Some lines of each
are made ahead, side by side in one buffer, and a kernel takes turns between them until one partition has none left.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.buffers import Array, Buffers
from kafkafs.format.columns import Records, Rows
from kafkafs.format.jsonl import LineMaker

_AHEAD = 32 << 20
"""Bytes of lines that are made ahead, if that is no less than `_LEAST` and no more than `_MOST` of each partition."""

_LEAST, _MOST = 128 << 10, 512 << 10
_SHORTEST = 100
"""Bytes; no line is shorter."""

_FIRST = 64
"""Lines of each partition that are made at first: whoever reads waits for all of them."""

_ROOMS = Buffers(1 << 20, keep=4)
_LITTLE = 64 << 10
"""Bytes of a room that are not worth another piece."""

_NEW_LINE = ord("\n")


class MergedLines:
    """The lines of partitions, for one reader."""

    def __init__(self, sources: Sequence[tuple[LineMaker, Iterator[Records]]], offsets: Sequence[int]) -> None:
        """Of each partition what makes its lines, its records, and the offset that those begin at."""
        share = min(max(_AHEAD // len(sources), _LEAST), _MOST)
        most = share // _SHORTEST
        self._text = np.empty(len(sources) * share, np.uint8)
        self._stamps = np.empty((len(sources), most + 1), np.int64)
        self._offsets = np.empty((len(sources), most + 1), np.int64)
        self._bounds = np.empty((len(sources), most + 1), np.int64)
        self._heads = np.repeat(np.arange(len(sources)) * (most + 1), 2).reshape(-1, 2)
        self._offsets[:, 0] = offsets
        self._sources = [_Source(maker, found) for maker, found in sources]
        self._share = share

    @property
    def places(self) -> tuple[int, ...]:
        """Of each partition the offset that what follows is made from, once all pieces so far are handed out."""
        return tuple(self._offsets.reshape(-1)[self._heads[:, 0]].tolist())

    def pieces(self) -> Iterator[tuple[bool, memoryview]]:
        """All lines, and whether `places` are those behind the piece: it is the end of a line then."""
        waiting = np.array([number for number in range(len(self._sources)) if self._fill(number)], np.int64)
        stamps, room = self._stamps.reshape(-1), _ROOMS.take()
        while len(waiting):
            queue = waiting[np.argsort(stamps[self._heads[waiting, 0]], kind="stable")]  # sorted, it is a heap
            made = kernels.merge_lines(queue, len(queue), self._heads, self._stamps, self._bounds, self._text, room)
            if made:
                yield True, room.data[:made]
            first = int(queue[0])
            is_next = self._heads[first, 0] < self._heads[first, 1]
            if is_next and self._sources[first].is_long:
                yield from self._long_line(first)
            elif is_next:  # there was no room for it
                made = len(room)
            room = room[made:] if len(room) - made >= _LITTLE else _ROOMS.take()
            if self._heads[first, 0] == self._heads[first, 1] and not self._fill(first):
                waiting = waiting[waiting != first]

    def _long_line(self, number: int) -> Iterator[tuple[bool, memoryview]]:
        """The next line of a partition, as `pieces` gives it."""
        made = self._sources[number].long_line()
        piece = next(made)
        for following in made:
            yield False, piece
            piece = following
        self._heads[number, 0] += 1
        yield True, piece

    def _fill(self, number: int) -> bool:
        """Puts the next lines of a partition where the last ones were; False where it has none."""
        source, first = self._sources[number], number * self._stamps.shape[1]
        rows, ends, text = source.next_lines(self._share, self._stamps.shape[1] - 1)
        count = len(rows)
        if not count:
            return False
        at = number * self._share
        self._text[at : at + len(text)] = text
        self._stamps[number, :count] = rows["timestamp"]
        self._offsets[number, :count] = rows["offset"]
        self._offsets[number, count] = rows["offset"][-1] + 1
        self._bounds[number, 0] = at
        self._bounds[number, 1 : count + 1] = at + ends
        self._heads[number] = first, first + count
        return True


class _Source:
    """One partition's lines that are made and not merged yet: some with their rows, and where each of them ends."""

    def __init__(self, maker: LineMaker, found: Iterator[Records]) -> None:
        self._made = self._pieces(maker, found)
        self._at_once = _FIRST
        self._rows: Rows = np.empty(0, np.void)
        self._ends = np.empty(0, np.int64)
        self._text: Array = np.empty(0, np.uint8)
        self._count = 0  # of lines in the piece that was taken last
        self.is_long = False
        """Whether the line that comes next is one for `long_line`."""

    def _pieces(self, maker: LineMaker, found: Iterator[Records]) -> Iterator[tuple[memoryview, Rows]]:
        """Pieces of text, each with the rows from that of its first line on."""
        for records in found:
            number = 0
            while number < len(records):
                rows = records.rows[number:]
                for piece in maker.pieces(Records(records.data, rows[: self._at_once])):
                    yield piece, records.rows[number:]
                    number += self._count
            del records, rows  # and with it a large batch's memory, before the next is unpacked

    def next_lines(self, size: int, most: int) -> tuple[Rows, np.ndarray[tuple[int], np.dtype[np.int64]], Array]:
        """The next lines that have no more than `size` bytes, `most` at most: their rows, where each ends, their text.

        Of a line that is longer there is only its row, and it ends far behind: a kernel finds no room for it.
        """
        if not len(self._text) and not self._take_piece():
            return self._rows[:0], self._ends, self._text
        count = min(int(self._ends.searchsorted(size, "right")), most)
        self.is_long = not count
        if self.is_long:
            return self._rows[:1], np.array([1 << 62]), self._text[:0]
        made = self._rows[:count], self._ends[:count], self._text[: self._ends[count - 1]]
        self._at_once = min(max(size * len(self._ends) // len(self._text), 1), most)
        self._drop(count)
        return made

    def long_line(self) -> Iterator[memoryview]:
        """The line that is too long, in pieces."""
        while not len(self._ends):
            yield self._text.data
            self._take_piece()
        yield self._text[: self._ends[0]].data
        self._drop(1)

    def _take_piece(self) -> bool:
        piece, self._rows = next(self._made, (memoryview(b""), self._rows[:0]))
        self._text = np.frombuffer(piece, np.uint8)
        self._ends = np.flatnonzero(self._text == _NEW_LINE) + 1
        self._count = len(self._ends)
        return bool(len(piece))

    def _drop(self, count: int) -> None:
        size = int(self._ends[count - 1])
        self._rows, self._ends = self._rows[count:], self._ends[count:] - size
        self._text = self._text[size:].copy()  # little: the room that it was made in is for the next lines
