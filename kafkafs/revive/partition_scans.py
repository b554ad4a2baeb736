"""The scans of all partitions, one after the other, and the report about each."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

from kafkafs.cluster.transactions import Owners
from kafkafs.errors import CorruptData
from kafkafs.format.names import GROUPS_TOPIC
from kafkafs.log.rebuilding import DEFAULT_INTERVAL
from kafkafs.revive.compacted_gaps import lost_to_others
from kafkafs.revive.fingerprint import fingerprint
from kafkafs.revive.group_ends import LostGroupEnds
from kafkafs.revive.kept_parts import log_size
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.partitions import report_of
from kafkafs.revive.plan import Choices, Plan
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.tally import Loss

Progress = Callable[[int, int], None]
"""Called with the bytes of log that are done, and with those of all logs."""

_INTERVAL, _POLICY = "index.interval.bytes", "cleanup.policy"
_NAMED = 5
_FINGERPRINT, _FROM_ELSEWHERE = "madeOf", ("endedTransactions", "endedGroups")
"""Fields of `revive.progress`: a digest, and the ends that were taken from other partitions."""


class NamedScan(NamedTuple):
    """The scan of a partition, and the name of its new directory."""

    name: str
    replica: Replica
    topic_id: str
    scan: PartitionScan


class PartitionScans:
    """`reports`: the report about each partition, by the name of its directory. `damage`: a sentence for each damaged
    place, if damage is to stop the work. `made_again`: the partitions that have changed since an earlier command."""

    def __init__(self, plan: Plan, choices: Choices, progress: Progress) -> None:
        self.reports, self.damage, self.made_again = dict[str, dict[str, Any]](), list[str](), list[str]()
        self._plan, self._choices, self._progress, self._moved = plan, choices, progress, 0
        self._fingerprints = dict[str, str]()

    def unchanged_partitions(self, done: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the partitions that an earlier command made, without those that have changed on the disks since. If
        any changed, those do not count either that took an end from what other partitions tell."""
        for topic, each in self._plan.partitions():
            if each.replica is not None:
                is_linked = self._choices.method == "link"
                self._fingerprints[each.name] = fingerprint(topic, each.number, each.replica, is_linked=is_linked)
        same = {name for name, digest in self._fingerprints.items() if done.get(name, {}).get(_FINGERPRINT) == digest}
        if not same.issuperset(done):
            same = {name for name in same if not any(done[name][each] for each in _FROM_ELSEWHERE)}
        self.made_again = sorted(name for name in done if name in self._fingerprints and name not in same)
        return {name: done[name] for name in same}

    def scans(self, done: dict[str, dict[str, Any]]) -> Iterator[NamedScan]:
        """Each partition that a disk has and that is not done yet."""
        found = (each.checkpoints.cleaner_offsets() or {} for each in self._plan.disks.directories)
        compacted = {f"{topic}-{number}" for some in found for topic, number in some}
        for topic, each in self._plan.partitions():
            if each.replica is None:
                continue
            partition = each.replica.partition
            name, log = each.name, partition.log()
            if name in done:
                self.reports[name] = done[name]
                self.move(sum(map(log_size, log.visible_segments())))
                continue
            interval = topic.configs.get(_INTERVAL, "")
            every = int(interval) if interval.isascii() and interval.isdigit() else DEFAULT_INTERVAL
            cleaned_to = (each.replica.directory.checkpoints.cleaner_offsets() or {}).get((topic.name, each.number))
            is_uncompacted = topic.configs.get(_POLICY, "delete") == "delete" and name not in compacted
            rules = Rules(
                self._choices.corrupt, self._choices.until_ms, every, dense_from=0 if is_uncompacted else cleaned_to
            )  # fmt: skip
            is_over = partial(self._is_over, topic.name, each.number)
            scan_of = partial(PartitionScan, partition, log, rules, is_over, each.replica.others)
            scan = scan_of(LostGroupEnds(scan_of).between) if topic.name == GROUPS_TOPIC else scan_of()
            yield NamedScan(name, each.replica, topic.topic_id, scan)

    @cached_property
    def _owners(self) -> Owners:
        """Asked for where damage or the moment has left a transaction open: it reads all of Kafka's own topics."""
        self._plan.cluster.look()
        return self._plan.cluster.transactions.owners()

    def _is_over(self, topic: str, partition: int, producer_id: int, ended_ms: int = 0) -> bool:
        """True if no coordinator has a transaction of the producer there any more, or if none has one yet."""
        return self._owners.hangs(topic, partition, producer_id, ended_ms) is True

    def only_scan(self, one: NamedScan) -> None:
        """Finds out what there is to say of a partition."""
        for kept in one.scan.segments():
            self.move(log_size(kept.segment) if kept.is_own else 0)
        self.report(one)

    def report(self, one: NamedScan) -> dict[str, Any]:
        """Return the report about a partition that was scanned, as the next command needs it if this one is
        interrupted."""
        self.damage += [f"{one.name} at offset {each.first}: {each.reason}" for each in one.scan.refused]
        log = one.scan.log
        if log.tail is not None and log.tail.end_offset < log.start_offset:
            end, start = log.tail.end_offset, log.start_offset
            reason = (
                f"the log ends at {end}, and its broker recorded its start at {start}: all its records count as deleted"
            )
            one.scan.tally.add_loss(Loss(end, start - 1, reason, is_damage=False))
        for each in lost_to_others(one.replica, one.scan.gaps, one.scan.rules.dense_from):
            one.scan.tally.add_loss(each)
        made_of = {_FINGERPRINT: self._fingerprints.get(one.name)}
        report = self.reports[one.name] = {"directory": one.name, **made_of, **report_of(one.scan, one.replica)}
        return report

    def move(self, size: int) -> None:
        """Count `size` more bytes as done."""
        self._moved += size
        self._progress(self._moved, self._plan.size)

    def refuse_damage(self) -> None:
        """CorruptData that names the first places, where damage is to stop the work."""
        if self.damage:
            more = f" and {len(self.damage) - _NAMED} more" if len(self.damage) > _NAMED else ""
            places = "1 place" if len(self.damage) == 1 else f"{len(self.damage)} places"
            raise CorruptData(
                f"damage in {places}: {'; '.join(self.damage[:_NAMED])}{more}; --corrupt skip leaves it out, --corrupt"
                " cut ends the partition before it"
            )

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of each partition. A partition that begins empty ends at 0."""
        return {
            (each.topic, each.number): self.reports.get(each.name, {"endOffset": 0})["endOffset"]
            for _, each in self._plan.partitions()
        }

    def revived(self) -> list[dict[str, Any]]:
        """A line for each partition, in order."""
        lines = []
        for topic, each in self._plan.partitions():
            report = dict(self.reports.get(each.name, {"replica": None}))
            for name in ("directory", _FINGERPRINT):
                report.pop(name, None)
            lines.append({"topic": topic.name, "partition": each.number, "topicId": topic.topic_id, **report})
        return lines
