"""The lines of several partitions as one text, in the order of their records' times (docs/queries.md, "Topics").

Next comes always the line whose record has the smallest timestamp among those that come next of their partition; of
equal ones that of the first partition. So each partition's order is kept, whatever its times are. Some lines of each
are made ahead, side by side in one buffer, and a kernel takes turns between them until one partition has none left.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.jsonl import LITTLE, LineMaker
from kafkafs.format.memory import Array, Buffers
from kafkafs.format.records import Records, Rows

_AHEAD = 32 << 20
"""Bytes of lines that are made ahead, if that is no less than `_LEAST` and no more than `MOST` of each partition."""

_LEAST, MOST = 128 << 10, 1024 << 10
_SHORTEST = 100
"""Bytes; no line is shorter."""

_FIRST = 64
"""Lines of each partition that are made at first: the reader waits for all of them."""

_BEHIND = 16
"""Bytes behind all texts: the kernel takes as many at a time."""

ROOMS = Buffers(1 << 20, keep=4)
_NEW_LINE = ord("\n")


class MergedLines:
    """The lines of partitions, for one reader."""

    def __init__(
        self, sources: Sequence[tuple[LineMaker, Iterator[Records]]], offsets: Sequence[int], most: int = MOST
    ) -> None:
        """For each partition: the maker of its lines, its records, and the offset that the records begin at."""
        share = min(max(_AHEAD // max(len(sources), 1), _LEAST), most)
        most = share // _SHORTEST
        self._text = np.empty(len(sources) * share + _BEHIND, np.uint8)
        self._stamps = np.empty(len(sources) * most, np.int64)
        self._heads = np.zeros((len(sources), 3), np.int64)
        self._heads[:, 0] = np.arange(len(sources)) * most
        self._sources = [
            _Source(maker, found, offset, self._text[number * share : (number + 1) * share], most)
            for number, ((maker, found), offset) in enumerate(zip(sources, offsets, strict=True))
        ]
        self._share, self._most = share, most

    @property
    def places(self) -> tuple[int, ...]:
        """Return, for each partition, the offset at which the next pieces begin, once all pieces so far are handed
        out."""
        lines = self._heads[:, 0].tolist()
        return tuple(
            source.offset(line - number * self._most)
            for number, (source, line) in enumerate(zip(self._sources, lines, strict=True))
        )

    def pieces(self) -> Iterator[tuple[bool, memoryview]]:
        """All lines, and whether `places` are those behind the piece: it is the end of a line then."""
        waiting = np.array([number for number in range(len(self._sources)) if self._fill(number)], np.int64)
        times = self._stamps[self._heads[waiting, 0]]
        order = np.argsort(times, kind="stable")  # sorted, it is a heap
        queue, count = np.stack([times[order], waiting[order]], 1), len(waiting)
        room, made = ROOMS.take(), 0
        while count:
            made += kernels.merge_lines(queue, count, self._heads, self._stamps, self._text, room[made:])
            first = int(queue[0, 1])
            is_empty = self._heads[first, 1] == self._heads[first, 2]
            is_long = is_empty and self._sources[first].is_long
            if made and (is_long or not is_empty or len(room) - made < LITTLE):
                yield True, room.data[:made]
                room, made = room[made:], 0
            if is_long:
                yield from self._long_line(first)
            if not is_empty or len(room) < LITTLE:
                room = ROOMS.take()
            if is_empty:
                try:
                    has_more = self._fill(first)
                except Exception:
                    if made:  # lines before an error come first
                        yield True, room.data[:made]
                    raise
                if not has_more:
                    count -= 1
                    queue[0] = queue[count]
        if made:
            yield True, room.data[:made]

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
        """Puts the next lines of a partition where the last ones were; False if it has none."""
        source, line = self._sources[number], number * self._most
        while (found := source.next_lines()) is None:
            rows = source.take_rows()
            if not len(rows):
                return False
            self._stamps[line : line + len(rows)] = rows["timestamp"]
            self._heads[number, 0] = line
        self._heads[number, 1:] = found
        self._heads[number, 1:] += number * self._share
        return True


class _Source:
    """One partition: some of its records at a time, whose lines are made where the kernel takes them, by and by."""

    def __init__(self, maker: LineMaker, found: Iterator[Records], offset: int, share: Array, most: int) -> None:
        self._maker = maker
        self._found = (records for records in found if len(records))
        self._share = share
        self._most = most
        self._at_once = _FIRST
        self._start = offset
        self._left: Records | None = None
        self._rows: Rows = np.empty(0, np.void)
        self._pieces: Iterator[memoryview] = iter(())
        self._piece = self._share[:0]  # lines of the rows that are made and not merged yet
        self._made = 0
        self.is_long = False
        """True if the next line is too long for this, and `long_line` must make it."""

    def offset(self, line: int) -> int:
        """The offset that what follows is made from, where that line of the rows that were taken last comes next."""
        if line < len(self._rows):
            return int(self._rows["offset"][line])
        return int(self._rows["offset"][-1]) + 1 if len(self._rows) else self._start

    def take_rows(self) -> Rows:
        """The next records, whose lines come next; none at the end."""
        if self._made:
            self._at_once = min(max(len(self._share) * 7 // 8 * len(self._rows) // self._made, 1), self._most)
        self._pieces = iter(())  # and with it a large batch's memory is free, before the next is unpacked
        found = self._left or next(self._found, None)
        if found is None:
            return self._rows[:0]
        self._rows, self._made = np.ascontiguousarray(found.rows[: self._at_once]), 0
        self._left = Records(found.data, found.rows[self._at_once :]) if len(found) > self._at_once else None
        self._pieces = self._maker.pieces(Records(found.data, self._rows), self._share)
        return self._rows

    def next_lines(self) -> tuple[int, int] | None:
        """Put the next lines of those records into the share: from where to where; None if there are none.

        A line that does not fit is left out as a whole.
        """
        if not len(self._piece) and not self._take_piece():
            return None
        size = min(len(self._piece), len(self._share))
        if self._piece[size - 1] != _NEW_LINE:
            ends = np.flatnonzero(self._piece[:size] == _NEW_LINE)
            size = int(ends[-1]) + 1 if len(ends) else 0
        self.is_long = not size
        at = self._piece.ctypes.data - self._share.ctypes.data
        if not 0 <= at <= len(self._share) - size:
            at = 0
            self._share[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return at, at + size

    def long_line(self) -> Iterator[memoryview]:
        """The line that is too long, in pieces."""
        while not len(ends := np.flatnonzero(self._piece == _NEW_LINE)):
            yield self._piece.data
            self._take_piece()
        yield self._piece[: ends[0] + 1].data
        self._piece = self._piece[ends[0] + 1 :]

    def _take_piece(self) -> bool:
        self._piece = np.frombuffer(next(self._pieces, b""), np.uint8)
        self._made += len(self._piece)
        return bool(len(self._piece))
