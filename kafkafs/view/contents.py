"""Contents that are whole in memory: what a small file answers, of a size that is told or not (see `node.Content`)."""


class BytesContent:
    """A small answer, whole in memory."""

    follows = False
    keep_cache = False

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int | None:
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]

    def close(self) -> None:
        self._data = b""


class TextContent(BytesContent):
    """A text made when it was opened, whose size could not be told before: a stream, as long ones are."""

    @property
    def size(self) -> None:
        return None
