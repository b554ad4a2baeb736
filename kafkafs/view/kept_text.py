"""The part of a text that was made last, and is in memory."""

from collections import deque
from copy import copy

from kafkafs.format.memory import Buffers

_ROOMS = Buffers(1 << 20, keep=4)
"""For what is asked for at once and is in two pieces."""


class KeptText:
    """Pieces of a text, one behind the other, up to the byte `end`, which is where the text is made next."""

    def __init__(self, small: int, end: int = 0) -> None:
        """Pieces up to `small` bytes are put together."""
        self._small = small
        self._pieces: deque[tuple[int, bytes | memoryview]] = deque()
        self.end = end

    @property
    def start(self) -> int:
        """The first byte that is kept; `end` where none is."""
        return self._pieces[0][0] if self._pieces else self.end

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(len(text) for _, text in self._pieces)

    @property
    def last_size(self) -> int:
        """Bytes of the piece that was made last."""
        return len(self._pieces[-1][1]) if self._pieces else 0

    def has(self, offset: int, size: int) -> bool:
        """True if all of these bytes are kept."""
        return bool(self._pieces) and self.start <= offset and offset + size <= self.end

    def add(self, text: bytes | memoryview) -> None:
        """Small pieces become one: a follower gets thousands, and each would keep the buffer that it was made in."""
        if len(text) > self._small:
            self._pieces.append((self.end, text))
        elif self._pieces and len(self._pieces[-1][1]) + len(text) <= self._small:
            position, before = self._pieces[-1]
            self._pieces[-1] = position, b"".join((before, text))
        else:
            self._pieces.append((self.end, bytes(text)))
        self.end += len(text)

    def cut(self, offset: int, size: int) -> bytes | memoryview | None:
        """The bytes at `offset`, as far as they are in memory; None if none are."""
        parts: list[bytes | memoryview] = []
        for position, text in self._pieces:
            if size and position <= offset < position + len(text):
                part = text[offset - position : offset - position + size]
                parts.append(part)
                offset, size = offset + len(part), size - len(part)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else _joined(parts)

    def forget(self, until: int) -> None:
        """Lets go of the pieces that end at or before that byte, but never of the last one."""
        while len(self._pieces) > 1 and self._pieces[1][0] <= until:
            self._pieces.popleft()

    def clear(self, end: int) -> None:
        """Drop all pieces. The text is made from byte `end` on."""
        self._pieces.clear()
        self.end = end

    def copy(self) -> "KeptText":
        """A copy with the same pieces, to be added to."""
        other = copy(self)
        other._pieces = self._pieces.copy()
        return other


def _joined(parts: list[bytes | memoryview]) -> bytes | memoryview:
    """The parts as one buffer. A large one is in memory that is used again: fresh pages would take longer than
    copying."""
    size = sum(map(len, parts))
    if not _ROOMS.size // 16 < size <= _ROOMS.size:
        return b"".join(parts)
    room, at = _ROOMS.take().data, 0
    for part in parts:
        room[at : at + len(part)] = part
        at += len(part)
    return room[:size]
