"""The records of a topic by content: in any partition, at any offset, as often as they occur on either side.

Records are counted by hashes of 128 bits. If there are more than some millions, each pass counts a part of the hashes,
so memory is bounded, and the logs are read once for each part. The lines of the records that only one side has take
one more reading.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafkafs.format.differences import HASH, Hashes, content_hashes
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.records import Records, Refusal
from kafkafs.format.tables import Numbers
from kafkafs.log.look import Look, Reader
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Damage
from kafkafs.tables.locations import Location, partition

MOST_RECORDS = 1 << 23
"""Records of both sides that are counted in one pass, at 16 bytes each and some copies."""

_OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class ContentUnit:
    """The offsets [start, end) of a partition of one side. `weight`: bytes of its log, about."""

    location: Location
    is_old: bool
    start: int
    end: int
    weight: int


class Part(NamedTuple):
    """One of `of` parts of all hashes."""

    number: int
    of: int


@dataclass(slots=True)
class HashedUnit:
    """The hashes of a unit's records, and sentences about batches that were passed over."""

    hashes: Hashes
    troubles: list[str] = field(default_factory=list)


class Excess(NamedTuple):
    """The hashes that one side has more often, in order; how much more often; how often it has them."""

    hashes: Hashes
    more: Numbers
    all: Numbers


class Written(NamedTuple):
    """The lines of a unit's records whose hashes one side has more often, and the place of each one's hash."""

    text: bytes
    places: Numbers


def count(unit: ContentUnit, seed: bytes, part: Part) -> HashedUnit:
    """Hash the records of a unit; the hashes of the part."""

    def question(look: Look) -> HashedUnit:
        found = HashedUnit(np.empty(0, HASH))
        pieces = [_of_part(content_hashes(piece, seed), part) for piece in _pieces(look.visible, unit, found.troubles)]
        found.hashes = np.concatenate(pieces) if pieces else found.hashes
        return found

    return partition(unit.location).ask_as(_OPTIONS, question)


def write(unit: ContentUnit, seed: bytes, excess: Excess) -> Written:
    """The lines of a unit's records that have one of the hashes."""
    side = "old" if unit.is_old else "new"
    maker = JsonLines(*unit.location.name, f'"side":"{side}",')

    def question(look: Look) -> Written:
        texts, found = list[bytes](), list[Numbers]()
        for piece in _pieces(look.visible, unit, []):
            places = _places(content_hashes(piece, seed), excess.hashes)
            chosen = np.flatnonzero(places >= 0)
            if len(chosen):
                texts += map(bytes, maker.pieces(Records(piece.data, piece.rows[chosen])))
                found.append(places[chosen])
        return Written(b"".join(texts), np.concatenate(found) if found else np.empty(0, np.int64))

    return partition(unit.location).ask_as(_OPTIONS, question)


def excesses(old: Hashes, new: Hashes) -> tuple[int, Excess, Excess]:
    """Return how many records are on both sides, and what the old and the new side have more often."""
    both = np.concatenate([old, new])
    order = np.lexsort((both["second"], both["first"]))
    ordered = both[order]
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    hashes = ordered[is_first]
    group = np.cumsum(is_first) - 1
    olds = np.bincount(group[order < len(old)], minlength=len(hashes))
    news = np.bincount(group[order >= len(old)], minlength=len(hashes))
    equal = int(np.minimum(olds, news).sum())
    return equal, _excess(hashes, olds, news), _excess(hashes, news, olds)


def left_over(written: Iterator[Written], excess: Excess) -> Iterator[bytes]:
    """The lines of one side, each record as often as the side has it more often: the last ones of equals."""
    skipped = excess.all - excess.more
    for text, places in written:
        if not skipped[places].any():
            yield text
            continue
        lines = text.splitlines(True)
        for line, place in zip(lines, places.tolist(), strict=True):
            if skipped[place]:
                skipped[place] -= 1
            else:
                yield line


def _excess(hashes: Hashes, mine: Numbers, theirs: Numbers) -> Excess:
    more = mine > theirs
    return Excess(hashes[more], (mine - theirs)[more], mine[more])


def _of_part(hashes: Hashes, part: Part) -> Hashes:
    return hashes if part.of == 1 else hashes[hashes["first"] % np.uint64(part.of) == part.number]


def _places(hashes: Hashes, known: Hashes) -> Numbers:
    """The place of each hash among known ones, which are in order; -1 for none."""
    if not len(known):
        return np.full(len(hashes), -1)
    place = np.minimum(np.searchsorted(known["first"], hashes["first"]), len(known) - 1)
    for _ in range(2):  # two known hashes may have the same first half, three have not
        behind = np.minimum(place + 1, len(known) - 1)
        place = np.where((known[place] != hashes) & (known["first"][behind] == hashes["first"]), behind, place)
    found: Numbers = np.where(known[place] == hashes, place, -1)
    return found


def _pieces(reader: Reader, unit: ContentUnit, troubles: list[str]) -> Iterator[Records]:
    """The visible records of the window. A corrupt batch is passed over, with a sentence."""
    log, name = reader.log, reader.log.name.directory
    for segment, item in reader.batches(unit.start, unit.end):
        if isinstance(item, Damage):
            troubles.append(f"{name}: {segment.log_name}: {item}")
            continue
        for piece in reader.decoded(segment, item):
            if isinstance(piece, Refusal):
                troubles.append(f"{name}: {segment.log_name}: {piece.error}")
            elif len(kept := piece.between(max(unit.start, log.start_offset), unit.end)):
                yield kept
