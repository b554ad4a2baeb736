"""Open files of a changing log: each may answer what it was opened on, or "Stale file handle", but never a mix."""

from collections.abc import Callable, Mapping
from typing import Any

from kafkafs.errors import CorruptData, Vanished
from tests.live.naive import Naive


class Snapshot:
    """A raw or decoded view that was open when the log was as `looked`. `text` is all that it may ever say."""

    def __init__(self, content: Any, text: bytes, fails: bool) -> None:
        self.content = content
        self.text = text
        self.fails = fails
        self.must_hold = True
        self.stale = False

    def read(self, at: float, size: int) -> bool:
        """Read somewhere and compare; False where the answer was "stale"."""
        return self._read(int(len(self.text) * at), size)

    def _read(self, offset: int, size: int) -> bool:
        try:
            got = bytes(self.content.read(offset, size))
        except Vanished:
            assert not self.must_hold, "stale, though only renames, appends and deletions happened"
            self.stale = True
            return False
        except CorruptData:
            assert self.fails
            return True
        wanted = self.text[offset : offset + size]
        assert wanted.startswith(got), f"at {offset} of {len(self.text)}: {type(self.content).__name__}"
        if len(got) == len(wanted) or self.fails:
            return True
        assert got, "an early end"
        return self._read(offset + len(got), size)  # what stands before an error comes first


class Follower:
    """A `.follow.jsonl` from an offset on, read as far as it goes at each step."""

    def __init__(self, content: Any, first: int) -> None:
        self.content = content
        self.first = first
        self.text = b""
        self.must_hold = True
        self.stale = False

    def catch_up(self, history: Mapping[int, bytes], naive: Naive, offset_of: Callable[[bytes], int]) -> bool:
        """Read on. Every line ever given out is a line of the present log's history, once and in order."""
        before = len(self.text)
        try:
            while got := bytes(self.content.read(len(self.text), 4096)):
                self.text += got
        except CorruptData:
            self.stale = True
            return True
        except Vanished:
            assert not self.must_hold, "stale, though the log only grew"
            self.stale = True
            return False
        if len(self.text) > before:
            lines = self.text.splitlines(keepends=True)
            offsets = [offset_of(line) for line in lines]
            assert offsets == sorted(set(offsets))
            assert lines == [history.get(offset) for offset in offsets], "two generations in one answer"
        if offsets_now := naive.visible():
            given = self.text.splitlines(keepends=True)
            reached = offset_of(given[-1]) if given else self.first - 1
            assert reached >= offsets_now[-1], "does not reach the end"
        return True
