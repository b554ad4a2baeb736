"""Open files of a changing log: each may answer what it was opened on, or "Stale file handle", but never a mix."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkafs.errors import CorruptData, Vanished
from tests.live.naive import Naive


class Snapshot:
    """A raw or decoded view that was open when the log was as `looked`. `text` is all that it may ever say."""

    def __init__(self, content: Any, text: bytes, fails: bool, must_hold: bool, is_fixed: bool) -> None:
        self.content = content
        self.text = text
        self.fails = fails
        self.must_hold = must_hold
        self.is_fixed = is_fixed
        self.stale = False

    def read(self, at: float, size: int) -> bool:
        """Reads somewhere and compares; False where the answer was "stale". Its size is that of what it gives."""
        if self.is_fixed:
            assert self.content.size in (None, len(self.text) + self.fails)
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
    """A `.follow.jsonl` from an offset on, read as far as it goes at each step.

    Until `is_of_now` it may still have to learn of a truncation: what it gives since tells that it has looked. Nothing
    tells it that the log only grew where the checkpoint has forgotten the `epoch` in which it looked last; and it may
    have missed what was deleted.
    """

    def __init__(self, content: Any, first: int, epoch: int, is_of_now: bool) -> None:
        self.content = content
        self.first = first
        self.is_of_now = is_of_now
        self.epoch = epoch
        self.text = b""
        self.must_hold = is_of_now
        self.stale = False
        self.over = False  # it came to an error in the log

    def catch_up(
        self,
        histories: Sequence[Mapping[int, bytes]],
        naive: Naive,
        offset_of: Callable[[bytes], int],
        patience_s: float,
    ) -> bool:
        """Reads on to the end: False where the answer was "stale".

        Every line ever given out is a line of the same history, once and in order: of the present log's, the first; or
        of one before, from a reader who has yet to learn of it.
        """
        before, deadline = len(self.text), time.monotonic() + patience_s
        visible = naive.visible()
        self.must_hold = self.must_hold and naive.start <= self._reached(offset_of) + 1
        while self._reads_on() and visible and self._reached(offset_of) < visible[-1]:
            assert time.monotonic() < deadline, "does not reach the end"
            time.sleep(0.01)
        if len(self.text) > before:
            lines = self.text.splitlines(keepends=True)
            offsets = [offset_of(line) for line in lines]
            assert offsets == sorted(set(offsets))
            true = [lines == [history.get(offset) for offset in offsets] for history in histories]
            assert any(true), "two generations in one answer"
            self.is_of_now = true[0]
        return not self.stale

    def _reads_on(self) -> bool:
        """Whether there may be more; a stale or failed one is over."""
        try:
            while got := bytes(self.content.read(len(self.text), 4096)):
                self.text += got
        except Vanished:
            assert not self.must_hold, "stale, though the log only grew"
            self.stale = True
        except CorruptData:
            self.over = True
        return not (self.stale or self.over)

    def _reached(self, offset_of: Callable[[bytes], int]) -> int:
        given = self.text[: self.text.rfind(b"\n") + 1].splitlines(keepends=True)
        return offset_of(given[-1]) if given else self.first - 1
