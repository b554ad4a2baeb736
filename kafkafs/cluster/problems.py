"""What could not be read, in sentences: as many as a person reads, and how many more there are."""

from collections.abc import Iterator

MOST = 100


class Problems:
    """Sentences in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._left_out = 0

    def add(self, sentence: str) -> None:
        """One more sentence."""
        if sentence in self._sentences:
            return
        if len(self._sentences) < MOST:
            self._sentences[sentence] = None
        else:
            self._left_out += 1

    def __iter__(self) -> Iterator[str]:
        yield from self._sentences
        if self._left_out:
            yield f"{self._left_out:,} more problems like these"
