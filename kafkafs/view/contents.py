"""Contents that are whole in memory: what a small file answers, of a size that is told or not (see `node.Content`)."""


class BytesContent:
    """A small answer, whole in memory."""

    follows = False
    kept_as = None

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int | None:
        """Exact; 0 once it is closed."""
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        """A slice: short at the end, empty behind it and once it is closed."""
        return self._data[offset : offset + size]

    def close(self) -> None:
        """The bytes are let go of."""
        self._data = b""


class TextContent(BytesContent):
    """A text made when it was opened, whose size could not be told before: a stream, as long ones are."""

    @property
    def size(self) -> None:
        """None: `stat` has shown 0, which nobody shall trust."""
        return None
