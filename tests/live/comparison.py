"""How an answer is held against the naive model: in this process it must be as of now, through a mount as of a moment
less than a second ago."""

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from kafkafs.errors import CorruptData, NotFound, Vanished
from tests.live.doors import Door
from tests.live.moves import Moves
from tests.live.naive import Naive

Answer = TypeVar("Answer")

counted: Counter[str] = Counter()
"""How many of what was compared."""


class Comparison(RuleBasedStateMachine):
    """One partition, the way in to it, and what was true of it."""

    broker: Moves
    door: Door
    looks: deque[tuple[float, Naive]]
    """What was true, and since when; the newest first."""

    made_at: float
    """When the partition was made anew."""

    cut_at: float
    """When it became another log, by that or by being cut."""

    def _look(self) -> Naive:
        """What is true now; to be called after each move."""
        naive = Naive(self.broker.directory, self.broker.made)
        if not self.looks or naive != self.looks[0][1]:
            self.looks.appendleft((time.monotonic(), naive))
        return naive

    def _recent(self, asked: float) -> list[Naive]:
        """What an answer to a question asked then may say: what was true then, or had been a moment before."""
        recent = [self.looks[0][1]]
        for (superseded, _), (_, naive) in itertools.pairwise(self.looks):
            if superseded > asked - self.door.stale_s:
                recent.append(naive)
        while len(self.looks) > len(recent):
            self.looks.pop()
        return recent

    def _agree(self, ask: Callable[[], Answer], answer: Callable[[Naive], object]) -> Answer:
        """The mount's answer, which must be that of one moment."""
        asked, got = self._answered(ask)
        assert got in [answer(naive) for naive in self._recent(asked)]
        return got

    def _answered(self, ask: Callable[[], Answer]) -> tuple[float, Answer]:
        """When the mount was asked, and what it said: again where it had yet to learn of another log, or of no log for
        a moment, which may be one of the same answers (an empty log in an empty one's place)."""
        while True:
            asked = time.monotonic()
            try:
                return asked, ask()
            except NotFound:
                if asked >= self.made_at + self.door.stale_s:
                    raise
            except Vanished:
                if len(self._recent(asked)) == 1 and asked >= self.cut_at + self.door.stale_s:
                    raise

    def _soon(self, ask: Callable[[], object], wanted: object) -> None:
        """The mount's answer, which must be this one if it was asked for late enough."""
        while True:
            asked, got = time.monotonic(), None
            with suppress(OSError, NotFound, Vanished):
                got = ask()
            if got == wanted:
                return
            assert asked < self.looks[0][0] + self.door.stale_s, f"{got!r} instead of {wanted!r}"
            time.sleep(0.01)

    def _range(self, name: str) -> tuple[bytes, bool]:
        content = self.door.open(f"by-offset/{name}")
        size = content.size
        counted["streams" if size is None else "files"] += 1
        try:
            text, fails = read_all(content)
            assert size in (None, len(text) + fails) or name.endswith("..")
            return text, fails
        finally:
            content.close()

    def _whole(self, name: str) -> Any:
        """An answer's bytes, None for no such file, or the error's type."""
        counted["answers"] += 1
        try:
            content = self.door.open(name)
        except NotFound:
            return None
        except CorruptData:
            return CorruptData
        try:
            data, failed = read_all(content)
        finally:
            content.close()
        return CorruptData if failed else data


def read_all(content: Any) -> tuple[bytes, bool]:
    """What there is to read, and whether it ended with damage."""
    counted["answers"] += 1
    text = b""
    try:
        while got := bytes(content.read(len(text), 3000)):
            text += got
    except CorruptData:
        return text, True
    return text, False
