"""The gaps that are losses, among those of a compacted log.

Compaction leaves gaps, so a gap alone proves nothing. An index proves a loss if its log is gone, or ends before it.
Records of another replica prove it if compaction cannot have removed them. Compaction removes a record only for a later
one of the same key, and a tombstone only if no earlier record is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kafkafs.errors import UNREADABLE
from kafkafs.format.names import segment_file
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.segment import Segment
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.replica_choice import RankedReplica, parting
from kafkafs.revive.tally import Loss
from kafkafs.search.cleaned import Candidates, candidates, cleaned_offsets, together

_AT_ONCE = 1 << 21
"""Records of another replica that are looked for together: each such part reads both logs."""


class CompactedGap(NamedTuple):
    """Offsets that no batch has, and that compaction has passed: [first, end)."""

    first: int
    end: int


class Proof(NamedTuple):
    """The first lost offset of a gap, and the reason."""

    first: int
    reason: str


def proof_on_disk(partition: Partition, segment: Segment, gap: CompactedGap) -> Proof | None:
    """Return what proves on this disk that a gap is a loss. The gap is behind a segment, or in place of its batches. A
    broker that deletes a segment renames the log first."""
    indexes = (segment.indexes.offset_index, segment.indexes.time_index)
    named = max((each.entry(each.entries - 1).offset for each in indexes if each.entries), default=-1)
    if gap.first <= named < gap.end:
        return Proof(gap.first, f"the indexes of {segment.log_name} go on to offset {named}, and it does not")
    base = next((each for each in partition.listing().logless if gap.first <= each < gap.end), None)
    return None if base is None else Proof(base, f"{segment_file(base, 'log')} is gone, and its index is there")


def lost_to_others(replica: Replica, gaps: Sequence[CompactedGap], cleaned_to: int | None) -> Iterator[Loss]:
    """Yield what the other replicas have in the gaps and compaction does not explain. `cleaned_to`: how far compaction
    had come; None if it is unknown. A replica that does not reach there may lack the later record of a key."""
    left = list(gaps)
    for other in replica.others:
        if not left:
            return
        try:
            found = list(_lost_to(replica, other, left, cleaned_to))
        except UNREADABLE:
            continue
        left = [each for each in left if not any(each.first <= loss.first < each.end for loss in found)]
        yield from found


def _lost_to(replica: Replica, other: Replica, gaps: Sequence[CompactedGap], cleaned_to: int | None) -> Iterator[Loss]:
    ours, theirs = _reader(replica), _reader(other)
    needed = ours.log.end_offset if cleaned_to is None else cleaned_to
    alike = parting(RankedReplica(other), RankedReplica(replica))
    if theirs.log.end_offset < needed:
        return
    for part in _parts(theirs, [each for each in gaps if each.end <= alike]):
        missing = part[part["keyed"]]
        for lacking in (ours, theirs):
            missing = missing[~np.isin(missing["offset"], cleaned_offsets(missing, lacking))]
        for gap in gaps:
            lost = missing["offset"][(missing["offset"] >= gap.first) & (missing["offset"] < gap.end)]
            if len(lost):
                records = "1 record" if len(lost) == 1 else f"{len(lost)} records"
                reason = f"{other.place!r} has {records} there that compaction does not explain"
                yield Loss(int(lost[0]), int(lost[-1]), reason, is_damage=False)


def _reader(replica: Replica) -> Reader:
    """The records that consumers of committed records see: compaction removes aborted ones."""
    options = replace(replica.directory.options, isolation="read_committed", corrupt_skip=True)
    return replica.partition.look_as(options).visible


def _parts(reader: Reader, gaps: Sequence[CompactedGap]) -> Iterator[Candidates]:
    """The records in the gaps, so many at once as memory holds."""
    waiting, count = list[Candidates](), 0
    for gap in gaps:
        for records in reader.records(*gap):
            waiting.append(candidates(records))
            count += len(records)
            if count >= _AT_ONCE:
                yield together(waiting)
                waiting, count = [], 0
    if count:
        yield together(waiting)
