"""The topics that a command looks at: some by name, or those whose whole name a pattern matches, else all.

As Kafka's own tools take `--topic` and `--include`: a pattern that fits a part of a name fits none.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from kafkafs.errors import UsageError, did_you_mean

_OF_JAVA = re.compile(r"\\[pPQEhHRXGk](?:\{\^?\w+\})?|\(\?<[A-Za-z]|&&|\[\[")
"""Parts of Java's regular expressions that Python's lack: classes, quotation, named groups, sets of sets."""


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """Topics by `names`, which all have to be there, by a `pattern`, or both; of neither: all topics."""

    names: frozenset[str] = frozenset()
    pattern: str | None = None

    @classmethod
    def parse(cls, lists: Iterable[str] | None, pattern: str | None) -> "TopicChoice":
        """The choice of `--topics` (lists with commas) and `--topic-pattern`. UsageError if it is invalid."""
        names = frozenset(word.strip() for words in lists or () for word in words.split(",") if word.strip())
        if lists and not names:
            raise UsageError("--topics names no topic")
        if pattern is not None:
            cls.check_pattern(pattern, f"--topic-pattern {pattern!r}")
        return cls(names, pattern)

    @staticmethod
    def check_pattern(pattern: str, name: str) -> None:
        """Raise UsageError, which names the pattern as `name`, if it is none, or one that Java takes for another."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)  # sets such as [a&&b], which Java has and Python has not
                re.compile(pattern)
        except (re.error, FutureWarning) as error:
            java = _OF_JAVA.search(pattern)
            hint = "; {} is Java's, and this takes Python's expressions: write [a-z], (?P<name>...)"
            hint = "" if java is None else hint.format(java[0])
            raise UsageError(f"{name} is malformed: {error}{hint}") from None

    @property
    def is_all(self) -> bool:
        """True if nothing was chosen."""
        return not self.names and self.pattern is None

    def takes(self, topic: str) -> bool:
        """True if the topic is one of them."""
        if self.names and topic not in self.names:
            return False
        return self.pattern is None or re.fullmatch(self.pattern, topic) is not None

    def check(self, there: Iterable[str], place: str) -> None:
        """UsageError if a topic that is named is not among those that are `there`, or where none of them fits."""
        every = set(there)
        missing = self.names - every
        if missing:
            raise UsageError(f"there is no topic {min(missing)!r} in {place}{did_you_mean(min(missing), every)}")
        if self.pattern is not None and not any(map(self.takes, every)):
            raise UsageError(
                f"no topic in {place} has a whole name that --topic-pattern {self.pattern!r} matches;"
                f" to match a part of a name, write '.*{self.pattern}.*'"
            )


ALL_TOPICS = TopicChoice()
