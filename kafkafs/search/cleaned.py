"""Finds out which missing records a compaction explains.

The cleaner of a broker removes a record if a later record has the same key, and a tombstone if no earlier record has
it. So a record that one side lacks is cleaned, and no difference, if that side has a later record of the key, or if the
record is a tombstone and that side has no earlier record of the key. Source: Cleaner, `shouldRetainRecord`.

Keys are known by 95 bits of a hash under a seed of this process. Memory is bounded: the caller asks about some
millions of records at a time.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.format.key_index import key_hashes, new_seed
from kafkafs.format.records import Records, Refusal
from kafkafs.format.tables import Flags, Numbers
from kafkafs.log.look import Reader
from kafkafs.log.segment import Damage

_SEED = new_seed()
_NEVER = -1
_LAST = (1 << 63) - 1
_CANDIDATE = np.dtype([("offset", "i8"), ("hash", "u8"), ("check", "u8"), ("tombstone", "?"), ("keyed", "?")])

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

Candidates = np.ndarray[tuple[int], np.dtype[np.void]]
"""A row for each missing record, in the order of offsets."""


def candidates(records: Records) -> Candidates:
    """The rows of records that the other side lacks."""
    found = np.zeros(len(records), _CANDIDATE)
    found["offset"] = records.rows["offset"]
    found["tombstone"] = records.rows["value_size"] < 0
    found["keyed"] = records.rows["key_size"] >= 0
    hashes, checks = _hashes(records)
    found["hash"][found["keyed"]], found["check"][found["keyed"]] = hashes, checks
    return found


def together(parts: list[Candidates]) -> Candidates:
    """All rows of some tables."""
    return np.concatenate(parts) if parts else np.empty(0, _CANDIDATE)


def cleaned_offsets(missing: Candidates, lacking: Reader | None) -> Numbers:
    """Return the offsets of the missing records that compaction explains, in order. `lacking` lacks the records; a side
    that is None has no record at all."""
    keyed = missing[missing["keyed"]]
    if not len(keyed):
        return np.empty(0, np.int64)
    keys, places = np.unique(keyed["check"], return_inverse=True)
    first, last = np.full(len(keys), _LAST), np.full(len(keys), _NEVER)
    for offsets, found in _places(keys, keyed, lacking):
        last[found] = offsets  # the last of equal places counts
        fresh = first[found] == _LAST
        first[found[fresh][::-1]] = offsets[fresh][::-1]
    is_replaced = last[places] > keyed["offset"]
    is_gone = keyed["tombstone"] & (first[places] >= keyed["offset"])
    cleaned: Numbers = keyed["offset"][is_replaced | is_gone]
    return cleaned


def _places(keys: Numbers, keyed: Candidates, lacking: Reader | None) -> Iterator[tuple[Numbers, Numbers]]:
    """The offsets of records that have one of the keys, and the place of each one's key among them."""
    order = np.argsort(keyed["check"], kind="stable")
    hashes = keyed["hash"][order][np.searchsorted(keyed["check"][order], keys)]
    for piece in () if lacking is None else _sound(lacking):
        own, checks = _hashes(piece)
        place = np.minimum(np.searchsorted(keys, checks), len(keys) - 1)
        known: Flags = (keys[place] == checks) & (hashes[place] == own)
        yield piece.rows["offset"][piece.rows["key_size"] >= 0][known], place[known]


def _sound(reader: Reader) -> Iterator[Records]:
    """All records, but for those of corrupt batches, which the comparison names."""
    start, end = reader.log.start_offset, reader.visible_end
    for segment, item in reader.batches(start, end):
        if isinstance(item, Damage):
            continue
        for piece in reader.decoded(segment, item):
            if not isinstance(piece, Refusal):
                yield piece.between(start, end)


def _hashes(records: Records) -> tuple[Words, Words]:
    """31 bits and 64 more for each record that has a key."""
    rows, checks = key_hashes(records, _SEED)
    return rows.view(np.uint64) >> np.uint64(32), checks.view(np.uint64)
