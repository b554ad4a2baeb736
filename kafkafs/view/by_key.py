"""`by-key/`: the last visible record with a key in this partition, and all of them. Nothing is listed.

    name     = key , [ suffix ]
    key      = its bytes; %XX stands for the byte of that number
    suffix   "" .jsonl .decoded.jsonl .value .explain .history.jsonl

A name that ends in a suffix is a key with that suffix, the longest there is: a key that ends in one itself has its last
dot written as `%2E`. The other suffixes that begin so (`.follow.jsonl`, `.batches.jsonl`) lead nowhere here. The empty
key has no raw name. A malformed `%` is no name. A name may be of any length here; in a mount NAME_MAX bounds it.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.trace import Trace, no_trace
from kafkafs.log.log import Found, LocatedBatch
from kafkafs.log.look import Look
from kafkafs.view.decoded import PlainLines, line_pieces
from kafkafs.view.explain import Explanation
from kafkafs.view.grammar import LONGEST_FIRST, Suffix
from kafkafs.view.node import Attributes, Entry, FileNode, NoXattrs
from kafkafs.view.partition_view import PartitionView, ViewDirectory
from kafkafs.view.queries import SHOWN
from kafkafs.view.streams import Pieces, Stream

HISTORY = ".history.jsonl"
_SUFFIXES = (HISTORY, *(text for text, suffix in LONGEST_FIRST if suffix is not Suffix.KEY))
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})?")


class KeyName(NamedTuple):
    """A key, and the suffix behind it."""

    key: bytes
    suffix: str


def parse_key_name(name: str) -> KeyName | None:
    """Parse `name` in `by-key/`. Return None if it is not a name there."""
    encoded = os.fsencode(name)
    suffix = next(each for each in _SUFFIXES if name.endswith(each))
    stem = encoded[: len(encoded) - len(suffix)]
    if not (stem or suffix):
        return None
    parts = _ENCODED.split(stem)
    if None in parts:
        return None
    decoded = (part if number % 2 == 0 else bytes([int(part, 16)]) for number, part in enumerate(parts))
    return KeyName(b"".join(decoded), suffix)


def shown_name(key: bytes) -> str:
    """The key as a name that a terminal shows as it is: whatever it would not is written as %XX."""
    text = key.decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c not in "%/" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))


class AtKey(NamedTuple):
    """A point in `by-key/`, a `places.PointTarget`: raw views have the batch of the key's last visible record, too."""

    key: bytes
    view: PartitionView

    def batch(self, look: Look, trace: Trace = no_trace) -> LocatedBatch:
        """The batch that the record stands in; `trace` hears which key indexes were asked."""
        found = self.view.keys.last(look.visible, self.key, trace)
        return found.segment, found.batch

    def record(self, look: Look) -> Found:
        """The key's last visible record."""
        return self.view.keys.last(look.visible, self.key)

    def leads_to(self, look: Look) -> int | None:
        """The offset of the key's last visible record."""
        try:
            return self.record(look).offset
        except (NotFound, CorruptData, TooLarge):
            return None


_SHOWN = (Suffix.RAW, Suffix.JSONL, Suffix.DECODED, Suffix.VALUE)


class ByKey(ViewDirectory):
    """Queries by key."""

    has_long_names = True  # see `DirectoryNode`: keys have any length

    def entries(self) -> Sequence[Entry]:
        """An empty listing: a hundred million names help nobody."""
        return []

    def child(self, name: str) -> FileNode:
        """A node for the key and the suffix, which looks for the key when it is asked; NotFound for what is no name."""
        asked = parse_key_name(name)
        if asked is not None:
            target = AtKey(asked.key, self.view)
            if asked.suffix == HISTORY:
                return KeyHistory(self.view, target)
            suffix = Suffix(asked.suffix)
            if suffix is Suffix.EXPLAIN:
                return Explanation(self.view, target, f"by-key/{shown_name(asked.key)}")
            if suffix in _SHOWN:
                return SHOWN[suffix].point(self.view, target)
        raise NotFound(f"{name!r} is not a query by key")


class KeyHistory(NoXattrs):
    """`.history.jsonl`: a stream of the visible records with a key, a line each."""

    def __init__(self, view: PartitionView, target: AtKey) -> None:
        self._view = view
        self._target = target

    def attributes(self) -> Attributes:
        """A stream's, of size 0, over all logs; the time is the key's last record's. NotFound without such a record."""
        return self._view.ask(self._attributes)

    def _attributes(self, look: Look) -> Attributes:
        last = self._target.record(look)
        whole = self._view.stream_attributes(look, look.log.start_offset, None)
        own = self._view.file_attributes([last.segment.log()], 0, last.timestamp, 0.0)
        return whole._replace(mtime_ns=own.mtime_ns)

    def open(self) -> Stream:
        """A stream of the current log, once the keys of its segments are learned; NotFound without a record."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> Stream:
        self._target.record(look)
        self._view.keys.learn(look.visible)
        start, end = look.log.start_offset, look.visible.visible_end
        budget, held = self._view.resources.text, look.log.hold(start, end)
        return Stream(lambda offset: self._lines(look, offset, end), start, budget, held=held)

    def _lines(self, look: Look, start: int, end: int) -> Pieces:
        found = self._view.keys.history(look.visible, self._target.key, start, end)
        return line_pieces(PlainLines(self._view).maker(look.log.name), found)
