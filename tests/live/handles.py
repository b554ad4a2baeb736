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
        offset = int(len(self.text) * at)
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
        if self.fails:
            assert wanted.startswith(got)
        else:
            assert got == wanted, f"at {offset} of {len(self.text)}: {type(self.content).__name__}"
        return True


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
            wanted = history[offsets_now[-1]]
            assert self.text.endswith(wanted) or offset_of(wanted) < self.first, "does not reach the end"
        return True
