"""Reading straight on through data that is not in memory: in whole blocks, and before they are asked for.

With RWF_DONTCACHE the kernel reads folios of up to 2 MiB, and drops each behind the first read that has touched it. A
reader that goes on from the midst of one has it read from the disk again; so a block ends where such a folio does.
While a reader takes what it got, `fuse` has a worker `fill` in the next.

Bytes in memory are not read ahead, because no read waits for them. A few pages that are not, in the middle of others,
are no reason to read all that follows in blocks.
"""

import threading
from dataclasses import dataclass

from kafkafs.disk.blocking import may_block
from kafkafs.disk.budget import Budget
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import DiskError, WouldBlock
from kafkafs.format.memory import Buffers

BLOCK = 2 << 20
"""Bytes: the largest folio on a machine with pages of 4 KiB."""

_BYTES_AHEAD = 2 * BLOCK
STRAIGHT = 512 << 10
"""A reader that has read so many bytes one behind the other will go on."""

_COLD = 16 << 20
_COLDEST = 128 << 20
"""After a cache miss, do not check the page cache for this many bytes. If the next check is a miss too, the number
doubles, up to `_COLDEST`. A check costs the disk up to a block."""

_KERNEL_AHEAD = 16 << 20
"""Bytes that the kernel may have read ahead where it does so by 8 MiB. It stops so far before the reader's end: what
is behind that nobody would read, and nothing drop."""

MOST = _BYTES_AHEAD + 2 * BLOCK
"""Bytes that one reader holds at most: what is ahead of it, what it reads, and what is being read."""

MEMORY = 8 * MOST
"""Bytes that the readers of one tree hold together; who finds no room reads as it asks."""

_IDLE_S = 1.0
"""A reader that has taken no block for so long may lose those it has to another."""

_buffers = Buffers(BLOCK, keep=4)
Stamp = tuple[int, int]
"""Size and modification time of a file: while they hold, so do its bytes."""


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The bytes that were read of a file, one block behind the other."""

    file: DataFile
    stamp: Stamp
    position: int
    end: int
    blocks: tuple[memoryview, ...]

    def holds(self, file: DataFile, position: int) -> bool:
        """True if a reader at `position` finds its bytes there, or goes on where the blocks end."""
        return self.file is file and self.position <= position <= self.end

    def cut(self, position: int, size: int) -> bytes | memoryview:
        """Bytes of which there are all."""
        parts, at = [], self.position
        for block in self.blocks:
            if at + len(block) > position and at < position + size:
                parts.append(block[max(position - at, 0) : position + size - at])
            at += len(block)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def and_then(self, block: memoryview, read_to: int) -> "_Blocks":
        """The blocks with one more, and without those that are behind the reader."""
        blocks, position = self.blocks, self.position
        while blocks and position + len(blocks[0]) <= read_to:
            blocks, position = blocks[1:], position + len(blocks[0])
        return _Blocks(self.file, self.stamp, position, self.end + len(block), (*blocks, block))


class Prefetch:
    """The bytes that one reader is about to read. It may go from one file on into the next.

    Readers write without a lock where they are and whether it was cold; of several at once the last one counts, which
    costs a block at most. `_made` is replaced whole, by the thread that holds `_making`.
    """

    def __init__(self, budget: Budget) -> None:
        """From its first block on, the reader counts in `budget` with its largest size."""
        self._budget = budget
        self._making = threading.Lock()
        self._advanced = 0.0
        self.made: _Blocks | None = None
        self._file: DataFile | None = None
        self._position = self._read_to = self._end = 0
        self._straight = 0
        self._cold_to, self._cold = 0, _COLD
        self._unfit: DataFile | None = None

    def read(self, file: DataFile, position: int, size: int, end: int) -> bytes | memoryview:
        """As `file.stream`, but nothing behind `end`, which the reader will not pass."""
        size = min(size, end - position)
        if size <= 0:
            return b""
        self._follow(file, position, size, end)
        data = self._ready(file, position, size)
        if data is None and (self._straight < STRAIGHT or position >= self._cold_to or file is self._unfit):
            return self._stream(file, position, size)
        if data is None:
            may_block()
            with self._making:
                while (data := self._ready(file, position, size)) is None and self._advance(file, position, end):
                    pass
        return file.stream(position, size) if data is None else data

    def _follow(self, file: DataFile, position: int, size: int, end: int) -> None:
        """Notes how the reader moves. A call is made twice where it could not be answered at once."""
        if file is self._file and position == self._read_to:
            self._straight += size
        elif file is self._file and position != self._position:
            self._straight, self._cold_to, self._cold = 0, 0, _COLD
        self._file, self._position, self._read_to, self._end = file, position, position + size, end

    def _stream(self, file: DataFile, position: int, size: int) -> bytes | memoryview:
        try:
            data = file.stream(position, size)
        except WouldBlock:
            self._cold_to = position + self._cold
            if self._straight >= STRAIGHT:
                self._cold = min(2 * self._cold, _COLDEST)
            raise
        if position >= self._cold_to:
            self._cold = _COLD
        return data

    def _ready(self, file: DataFile, position: int, size: int) -> bytes | memoryview | None:
        """The bytes, where the blocks have them all and they are true still."""
        made = self.made
        if made is None or not made.holds(file, position) or made.end < position + size or made.stamp != _stamp(file):
            return None
        return made.cut(position, size)

    @property
    def is_due(self) -> bool:
        """True if the reader goes on and should find more than there is."""
        return not self._making.locked() and self._wants_more()

    def _wants_more(self) -> bool:
        made, file = self.made, self._file
        if made is None or file is None or not made.holds(file, self._read_to):
            return False
        return made.end < min(self._end, self._cold_to, self._read_to + _BYTES_AHEAD)

    def fill(self) -> None:
        """Reads what will be asked for next. For a worker thread."""
        if self._making.acquire(blocking=False):
            try:
                while self._wants_more() and (file := self._file) and self._advance(file, self._read_to, self._end):
                    pass
            finally:
                self._making.release()

    def _advance(self, file: DataFile, position: int, end: int) -> bool:
        """Reads one more block for a reader at `position`; False if there is no such block, or no memory for it."""
        stamp, made = _stamp(file), self.made
        if made is None or not made.holds(file, position):
            made = _Blocks(file, stamp, position, position, ())
        if made.stamp != stamp:
            self._unfit = file  # it is being written: what is read ahead would not be true for long
        if made.stamp != stamp or made.end >= end or not self._has_room():
            return False
        try:
            block = _buffers.take()[: min(BLOCK - made.end % BLOCK, end - made.end)].data
            block = block[: file.read_into(block, made.end, straight=end - made.end > _KERNEL_AHEAD)]
        except (DiskError, MemoryError):
            self._unfit = file  # smaller reads get all that can be read, also before a damaged place
            return False
        self.made, self._advanced = made.and_then(block, position), self._budget.clock()
        return len(block) > 0

    def _has_room(self) -> bool:
        """True if it may hold blocks. If it already holds some, it may have one more: somebody else just tries."""
        has_room = self._budget.hold(self, MOST) or self.made is not None
        if not has_room:
            self._budget.hold(self, 0)
        return has_room

    def release(self) -> bool:
        """Free its blocks, unless a read uses them; see `Budget`."""
        if self._budget.clock() - self._advanced < _IDLE_S or not self._making.acquire(blocking=False):
            return False
        self.made = None
        self._making.release()
        return True

    def close(self) -> None:
        """Gives all memory back."""
        self.made = self._file = self._unfit = None
        self._budget.hold(self, 0)


def _stamp(file: DataFile) -> Stamp:
    about = file.stat()
    return about.st_size, about.st_mtime_ns
