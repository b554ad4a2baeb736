"""Choose the replica of a partition that counts, and describe in sentences what the others have besides.

The replica that got furthest counts (`log.replicas`): a leader's log is in those of its followers, so the furthest one
has all that the others have. That is not so if leaders were elected uncleanly, one after the other. The last leader may
have written nothing, and then its log is not the one with the newest epoch. Two notes know it nevertheless. The
metadata tell which replicas were in sync, and they alone have all that was acknowledged. A broker that becomes leader
notes its epoch in `leader-epoch-checkpoint` before it writes.

So the last leader's log goes before the furthest one if the furthest lacks some of it; where it lacks nothing, more
records are better than fewer. Either way a sentence names what is left out, with its offsets and epochs. The metadata
prove nothing if a replica knows a later epoch than they do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from kafkafs.cluster.image import PartitionState
from kafkafs.errors import UNREADABLE
from kafkafs.format.batch import is_control
from kafkafs.format.checkpoints import LeaderEpoch
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.lineage import last_leader_epoch
from kafkafs.log.log import Log
from kafkafs.log.partition import progress
from kafkafs.revive.broker_notes import BrokerNotes
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.tally import Tally

_NO_EPOCH = -1
"""The epoch of batches of older formats."""

_UNREADABLE = (-2, -1)
"""How far a replica got that cannot be read. Source: `log.partition.progress`."""


class EpochSpan(NamedTuple):
    """Offsets that were appended under one leader epoch: [start, end)."""

    epoch: int
    start: int
    end: int


@dataclass(frozen=True)
class RankedReplica:
    """How far a replica got, and under which leaders."""

    replica: Replica

    @cached_property
    def progress(self) -> tuple[int, int]:
        """As `log.replicas` has it."""
        return progress(self.replica.partition)

    @cached_property
    def node(self) -> int | None:
        """The node whose disk it is on."""
        return self.replica.directory.node_id()

    @cached_property
    def span(self) -> tuple[int, int]:
        """The replica's log start and end; nothing if it cannot be read."""
        try:
            log = self.replica.partition.log()
            return log.start_offset, log.end_offset
        except UNREADABLE:
            return 0, 0

    @cached_property
    def lineage(self) -> tuple[EpochSpan, ...]:
        """The replica's epochs in order; the last one may have no offsets."""
        start, end = self.span
        try:
            epochs = _epochs(self.replica, self.replica.partition.log())
        except UNREADABLE:
            epochs = ()
        if start < end and (not epochs or epochs[0].start_offset > start):
            epochs = (LeaderEpoch(_NO_EPOCH, start), *epochs)
        ends = [*(each.start_offset for each in epochs), end][1:]
        return tuple(
            EpochSpan(each.epoch, min(max(each.start_offset, start), end), min(max(behind, start), end))
            for each, behind in zip(epochs, ends, strict=True)
        )

    @property
    def latest_epoch(self) -> int:
        """The newest one that it knows, whether or not something was written under it."""
        return max((each.epoch for each in self.lineage), default=_NO_EPOCH)

    def shown(self) -> str:
        """The replica's place, offsets and epochs, in words."""
        start, end = self.span
        if self.progress == _UNREADABLE:
            return f"{self.replica.place!r} (which cannot be read)"
        if start == end:
            offsets = f"empty at offset {end}"
        else:
            offsets = f"offsets {start} to {end - 1}, last leader epoch {self.progress[0]}"
        led = f", leader of epoch {self.latest_epoch} without a record" if self.latest_epoch > self.progress[0] else ""
        return f"{self.replica.place!r} ({offsets}{led})"

    def missing_from(self, chosen: "RankedReplica") -> list[EpochSpan]:
        """Return the offsets that it has and the chosen replica lacks, or has otherwise."""
        (start, end), (chosen_start, _) = self.span, chosen.span
        parts = max(start, parting(self, chosen))
        pieces = (start, min(end, chosen_start)), (max(parts, chosen_start), end)
        return [
            EpochSpan(each.epoch, max(first, each.start), min(last, each.end))
            for first, last in pieces for each in self.lineage
            if max(first, each.start) < min(last, each.end)
        ]  # fmt: skip


def _epochs(replica: Replica, log: Log) -> tuple[LeaderEpoch, ...]:
    """The epochs that the broker recorded. If these are missing or do not fit, those of the batches."""
    epochs, last = BrokerNotes(replica.partition, log).epochs(), last_leader_epoch(log)
    known = {each.epoch for each in epochs}
    if epochs and epochs[-1].start_offset <= log.end_offset and (last in known or last == _NO_EPOCH):
        return epochs
    tally = Tally(log.start_offset, log.start_offset)
    for _, item in log.walk(log.start_offset, log.end_offset):
        if isinstance(item, BatchRun):
            tally.follow_epochs(item.rows)
    return tuple(tally.epochs)


def parting(one: RankedReplica, other: RankedReplica) -> int:
    """Return the offset up to which two logs are alike, as a follower finds it: by the newest epoch that both know."""
    others, common, cuts = {each.epoch: each for each in other.lineage}, list[int](), {one.span[0], other.span[0]}
    for each in one.lineage:
        found = others.get(each.epoch)
        if found is None:
            continue
        if each.start != found.start and cuts.isdisjoint({each.start, found.start}):
            break  # two leaders had that epoch: the metadata had been lost, and epochs started again
        common.append(min(each.end, found.end))
    if common:
        return common[-1]
    (start, end), (other_start, other_end) = one.span, other.span
    return start if start >= other_end else min(end, max(start, other_start))


def choose(
    name: str, candidates: Sequence[Replica], state: PartitionState | None, *, has_aside: bool = False
) -> tuple[Replica, list[str]]:
    """Return the replica that counts, with the others beside it, and sentences about the choice. `has_aside`: some
    replicas are no candidates, because a broker has set them aside."""
    ranked = [RankedReplica(each) for each in candidates]
    complete = {*state.isr, *state.eligible} if state else set[int]()
    in_sync = [each for each in ranked if each.node in complete]
    alone = len(ranked) == 1
    furthest = ranked[0] if alone else max(ranked, key=lambda each: (each.progress, each in in_sync))
    sentences, chosen = list[str](), furthest
    last, proof = _last_leader(ranked, in_sync, state)
    if last is not furthest and last.missing_from(furthest):
        chosen = last
        sentences.append(
            f"{name}: {last.shown()} is used, because it {proof}; {furthest.shown()} got further but lacks"
            " some of its records"
        )
    elif complete and chosen not in in_sync and None not in {each.node for each in ranked}:
        kind = " in use" if has_aside else ""
        sentences.append(_out_of_sync(name, chosen, in_sync, f"broker {', '.join(map(str, sorted(complete)))}", kind))
    if not alone:
        sentences += [each for other in ranked if other is not chosen for each in _more(name, other, chosen)]
    others = tuple(each.replica for each in ranked if each is not chosen)
    return replace(chosen.replica, others=others), sentences


def _last_leader(
    ranked: Sequence[RankedReplica], in_sync: Sequence[RankedReplica], state: PartitionState | None
) -> tuple[RankedReplica, str]:
    """The replica whose broker led last, or one that had all of that one's records; and how that is known."""
    if len(ranked) == 1:
        return ranked[0], ""
    latest = max(max(each.latest_epoch, each.progress[0]) for each in ranked)
    if state is None or latest > state.leader_epoch:
        return max(ranked, key=lambda each: (each.latest_epoch, *each.progress)), "recorded the newest leader epoch"
    return max(in_sync or ranked, key=lambda each: each.progress), "was in sync when the metadata ended"


def _out_of_sync(name: str, chosen: RankedReplica, in_sync: Sequence[RankedReplica], brokers: str, kind: str) -> str:
    if not in_sync:
        return (
            f"{name}: no disk has a replica{kind} that was in sync (of {brokers}), so its last records may be missing;"
            f" {chosen.shown()} is used"
        )
    there = " and ".join(each.shown() for each in in_sync)
    whole = "" if any(each.missing_from(chosen) for each in in_sync) else ", and lacks nothing of it"
    return (
        f"{name}: {chosen.shown()} is used though it was not in sync when the metadata ended: it got further than the"
        f" replica in sync, of {brokers}: {there}{whole}"
    )


def _more(name: str, other: RankedReplica, chosen: RankedReplica) -> list[str]:
    """A sentence about what is in another replica alone, if there is a record among it."""
    found = [each for each in other.missing_from(chosen) if _has_records(other, each)]
    if not found:
        return []
    spans = "; ".join(
        f"offsets {each.start} to {each.end - 1}{f' of leader epoch {each.epoch}' if each.epoch >= 0 else ''}"
        for each in _joined(found)
    )
    return [f"{name}: {other.replica.place!r} also has {spans}, which {chosen.shown()} lacks or has with other records"]


def _joined(found: Sequence[EpochSpan]) -> list[EpochSpan]:
    """Neighbours of the same epoch are one."""
    joined = list[EpochSpan](found[:1])
    for before, each in pairwise(found):
        if each.epoch == before.epoch and each.start == before.end:
            joined[-1] = joined[-1]._replace(end=each.end)
        else:
            joined.append(each)
    return joined


def _has_records(one: RankedReplica, under: EpochSpan) -> bool:
    """True if a batch of clients begins there, or if the place cannot be read."""
    try:
        for _, item in one.replica.partition.log().walk(under.start, under.end):
            if not isinstance(item, BatchRun):
                return True
            rows = item.rows
            inside = (rows["last_offset"] >= under.start) & (rows["base_offset"] < under.end) & (rows["count"] != 0)
            if (inside & ~is_control(rows)).any():
                return True
    except UNREADABLE:
        return True
    return False
