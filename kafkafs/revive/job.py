"""The work itself, in the order in which an interruption does no harm.

Partitions, checkpoints, the metadata, settings; then `meta.properties`, without which a broker does not start, and the
mark of an orderly stop, without which it would take a partition's end for damaged. `revive.json` says "unfinished"
until all of that is on the disk.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.cluster.transactions import Owners
from kafkafs.errors import CorruptData
from kafkafs.format.checkpoints import CheckpointOffsets, offset_checkpoint_bytes
from kafkafs.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    GROUPS_TOPIC,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    RECOVERY_POINTS,
    SHARE_TOPIC,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.rebuilding import DEFAULT_INTERVAL
from kafkafs.revive.beyond import groups_beyond, share_groups_beyond
from kafkafs.revive.changes import unchanged
from kafkafs.revive.fingerprint import fingerprint
from kafkafs.revive.group_ends import LostGroupEnds
from kafkafs.revive.kept_parts import log_size
from kafkafs.revive.metadata_snapshot import Config, State, kept_configs, snapshot_bytes, snapshot_name
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.partitions import PartitionWriter, report_of
from kafkafs.revive.place import NewDirectory, check_target
from kafkafs.revive.plan import Choices, Plan, check_room, choose_method, make_plan, next_block, room
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan, Sources
from kafkafs.revive.settings import (
    OFF,
    SECOND_PROPERTIES,
    SERVER_PROPERTIES,
    clean_shutdown,
    meta_properties,
    second_properties,
    second_settings,
    server_properties,
    settings,
    thread_counts,
    token_key,
)
from kafkafs.revive.staleness import behind_metadata

Progress = Callable[[int, int], None]
"""Told how many bytes of log are done, and of how many."""

_INTERVAL, _POLICY, _RETENTION = "index.interval.bytes", "cleanup.policy", "retention.ms"
_NAMED = 5
_FINGERPRINT, _FROM_ELSEWHERE = "madeOf", ("endedTransactions", "endedGroups")
"""Of what `revive.progress` notes: a digest, and what was made of notes in other partitions."""


def no_progress(done: int, size: int) -> None:
    """For callers that show none."""


def planned(paths: Sequence[Path], choices: Choices, progress: Progress = no_progress) -> dict[str, Any]:
    """The output of `--plan`: the plan, and the result of a scan of each partition. Nothing is written."""
    check_target(choices.to, choices.request(paths))
    with unchanged(paths) as check:
        plan = make_plan(paths, choices)
        work = _Work(plan, choices, progress)
        for each in work.scans({}):
            work.only_scan(each)
        check()
    needed = room(plan, choices.method or "copy", plan.size)
    report = {"state": "planned", **plan.report(), "neededBytes": needed, "revived": work.revived()}
    report["leftOut"] += [*_configured(plan, choices.to)[2], *work.behind_metadata()]
    report["leftOut"] += [*groups_beyond(plan.cluster, work.ends()), *work.share_groups_beyond()]
    report["retentionAdded"] = [each.resource for each in _without_retention(plan, choices)]
    return report


def revive(paths: Sequence[Path], choices: Choices, progress: Progress = no_progress) -> dict[str, Any]:
    """Writes the new directory: what `revive.json` says. CorruptData names damage that may not be passed over; Vanished
    the directories that changed while they were read."""
    with unchanged(paths) as check:
        return _revive(paths, choices, progress, check)


def _revive(
    paths: Sequence[Path], choices: Choices, progress: Progress, check_disks: Callable[[], None]
) -> dict[str, Any]:
    request = choices.request(paths)
    check_target(choices.to, request)
    plan = make_plan(paths, choices)
    place = NewDirectory(choices.to, request)
    for name in (CLEAN_SHUTDOWN, META_PROPERTIES):  # of a command that ended as all was there, and that begins again
        place.remove(name)
    method = choose_method(plan, choices.method, place)
    work = _Work(plan, choices, progress)
    done = work.unchanged_partitions(place.done)
    gone = place.keep_only({f"{topic.name}-{each.number}" for topic, each in plan.partitions() if each.replica})
    check_room(plan, method, choices.to, sum(entry["bytes"] for entry in done.values()))
    for each in work.scans(done):
        if work.damage:
            work.only_scan(each)
            continue
        with place.partition(each.name) as target:
            PartitionWriter(each.replica, each.topic_id, target, method).write(each.scan, work.move)
        report = work.report(each)
        if not each.scan.refused:
            place.note({**report, _FINGERPRINT: work.digests[each.name]})
    check_disks()
    work.refuse_damage()
    report = {**plan.report(), "method": method, "madeAgain": work.made_again, "revived": work.revived()}
    node_settings, configs, sentences = _configured(plan, place.path)
    report["leftOut"] += [*sentences, *work.behind_metadata()]
    report["leftOut"] += [f"{name} is no longer on these disks, and was taken away again" for name in gone]
    added = _without_retention(plan, choices)
    report["retentionAdded"] = [each.resource for each in added]
    others = _producer_ids(place) if choices.include else ()
    report["nextProducerId"] = _write_cluster(plan, work, place, [*configs, *added], others)
    token = token_key() if plan.metadata.image and plan.metadata.image.tokens else b""
    place.write(SERVER_PROPERTIES, server_properties(node_settings) + token)
    second = second_settings(node_settings, plan.node, place.path.resolve())
    place.write(SECOND_PROPERTIES, second_properties(second, plan.cluster_id) + token)
    report["leftOut"] += [*groups_beyond(_own_cluster(place), work.ends()), *work.share_groups_beyond(place)]
    place.settle()
    place.write(META_PROPERTIES, meta_properties(plan.cluster_id, plan.node), through=True)
    place.write(CLEAN_SHUTDOWN, clean_shutdown(), through=True)
    place.finish({"request": request, **report})
    return report


def _own_cluster(place: NewDirectory) -> Cluster:
    """The report in the new directory itself: with everything that was left out, and everything that was written
    again."""
    return Cluster([DataDirectory(place.path, ReadOptions())], ReadOptions())


def _producer_ids(place: NewDirectory) -> list[int]:
    """Those of transactions. The metadata of a cluster that started again do not know the ids of what it set aside."""
    cluster = _own_cluster(place)
    cluster.look()
    return [each for transaction, _ in cluster.transactions() for each in transaction.producer_ids]


class _Scan(NamedTuple):
    """The scan of a partition, and the name of its new directory."""

    name: str
    replica: Replica
    topic_id: str
    scan: PartitionScan


class _Work:
    """The partitions one after the other, and what was found out of each. `damage`: sentences, where it may not be."""

    def __init__(self, plan: Plan, choices: Choices, progress: Progress) -> None:
        self.plan, self.reports, self.damage = plan, dict[str, dict[str, Any]](), list[str]()
        self._choices, self._progress, self._moved = choices, progress, 0
        self.digests, self.made_again = dict[str, str](), list[str]()

    def unchanged_partitions(self, done: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the partitions that an earlier command made, without those that have changed on the disks since. If
        any changed, those do not count either that took an end from what other partitions tell."""
        for topic, each in self.plan.partitions():
            if each.replica is not None:
                name = f"{topic.name}-{each.number}"
                self.digests[name] = fingerprint(topic, each.number, each.replica)
        same = {name for name, digest in self.digests.items() if done.get(name, {}).get(_FINGERPRINT) == digest}
        if not same.issuperset(done):
            same = {name for name in same if not any(done[name][each] for each in _FROM_ELSEWHERE)}
        self.made_again = sorted(name for name in done if name in self.digests and name not in same)
        return {name: done[name] for name in same}

    def scans(self, done: dict[str, dict[str, Any]]) -> Iterator[_Scan]:
        """Each partition that a disk has and that is not done yet."""
        found = (each.cleaner_offsets() or {} for each in self.plan.disks.directories)
        compacted = {f"{topic}-{number}" for some in found for topic, number in some}
        for topic, each in self.plan.partitions():
            if each.replica is None:
                continue
            partition = each.replica.partition
            name, log = f"{topic.name}-{each.number}", partition.log()
            if name in done:
                self.reports[name] = done[name]
                self.move(sum(map(log_size, log.visible_segments())))
                continue
            interval = topic.configs.get(_INTERVAL, "")
            every = int(interval) if interval.isascii() and interval.isdigit() else DEFAULT_INTERVAL
            is_dense = topic.configs.get(_POLICY, "delete") == "delete" and name not in compacted
            rules = Rules(self._choices.corrupt, self._choices.until_ms, every, is_dense)
            sources = Sources(partial(self._is_over, topic.name, each.number), each.replica.others)
            if topic.name == GROUPS_TOPIC:
                without_groups = partial(PartitionScan, partition, log, rules, sources)
                sources = replace(sources, group_ends=LostGroupEnds(without_groups).between)
            scan = PartitionScan(partition, log, rules, sources)
            yield _Scan(name, each.replica, topic.topic_id, scan)

    @cached_property
    def _owners(self) -> Owners:
        """Asked for where damage or the moment has left a transaction open: it reads all of Kafka's own topics."""
        self.plan.cluster.look()
        return self.plan.cluster.owners()

    def _is_over(self, topic: str, partition: int, producer_id: int, ended_ms: int = 0) -> bool:
        """True if no coordinator has a transaction of the producer there any more, or if none has one yet."""
        return self._owners.hangs(topic, partition, producer_id, ended_ms) is True

    def only_scan(self, one: _Scan) -> None:
        """Finds out what there is to say of a partition."""
        for kept in one.scan.segments():
            self.move(log_size(kept.segment) if kept.is_own else 0)
        self.report(one)

    def report(self, one: _Scan) -> dict[str, Any]:
        """Return the sentences about a partition that was scanned."""
        self.damage += [f"{one.name} at offset {each.first}: {each.reason}" for each in one.scan.refused]
        report = self.reports[one.name] = {"directory": one.name, **report_of(one.scan, one.replica)}
        return report

    def move(self, size: int) -> None:
        """So many more bytes are done."""
        self._moved += size
        self._progress(self._moved, self.plan.size)

    def refuse_damage(self) -> None:
        """CorruptData that names the first places, where damage is to stop the work."""
        if self.damage:
            more = f" and {len(self.damage) - _NAMED} more" if len(self.damage) > _NAMED else ""
            places = "1 place" if len(self.damage) == 1 else f"{len(self.damage)} places"
            raise CorruptData(
                f"damage in {places}: {'; '.join(self.damage[:_NAMED])}{more}; --corrupt skip leaves it out, --corrupt"
                " cut ends the partition before it"
            )

    def behind_metadata(self) -> list[str]:
        """A sentence where the metadata are older than the logs."""
        return behind_metadata(self.plan.disks.directories, self.plan.metadata, self.plan.topics, self.reports)

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of each partition. A partition that begins empty ends at 0."""
        names = ((topic.name, each.number) for topic, each in self.plan.partitions())
        return {name: self.reports.get(f"{name[0]}-{name[1]}", {"endOffset": 0})["endOffset"] for name in names}

    def share_groups_beyond(self, place: NewDirectory | None = None) -> Iterator[str]:
        """Sentences about share groups that have read further than their partition goes: by the new directory, or
        the disks."""
        found = [(each.number, each.replica) for topic, each in self.plan.partitions() if topic.name == SHARE_TOPIC]
        partitions = [replica.partition for _, replica in found if replica is not None]
        if place is not None:
            new = DataDirectory(place.path, ReadOptions())
            partitions = [new.partition(f"{SHARE_TOPIC}-{number}") for number, replica in found if replica is not None]
        return share_groups_beyond(partitions, self.plan.topics, self.ends())

    def revived(self) -> list[dict[str, Any]]:
        """A line for each partition, in order."""
        lines = []
        for topic, each in self.plan.partitions():
            report = self.reports.get(f"{topic.name}-{each.number}", {"replica": None})
            about = {"topic": topic.name, "partition": each.number, "topicId": topic.topic_id}
            lines.append(
                about | {name: value for name, value in report.items() if name not in ("directory", _FINGERPRINT)}
            )
        return lines


def _configured(plan: Plan, to: Path) -> tuple[dict[str, str], list[Config], list[str]]:
    """Return the content of the new node's file, the configs that the cluster keeps, and sentences about the configs
    that it does not keep."""
    metadata, topics = plan.metadata, list(plan.topics)
    node_settings = settings(
        plan.node, to.resolve(), topics,
        is_dynamic=metadata.is_dynamic, has_acls=bool(metadata.image and metadata.image.acls),
        has_shares=plan.release.has_new_groups,
    )  # fmt: skip
    kept = frozenset((*node_settings, *OFF))
    configs, sentences = kept_configs(metadata.image, topics, plan.node.number, kept, plan.release)
    return node_settings | thread_counts(configs), configs, sentences


def _without_retention(plan: Plan, choices: Choices) -> list[Config]:
    """A setting for each topic that has no retention time of its own: any further broker may have another default."""
    topics = plan.topics if choices.retention == "off" else ()
    return [Config(TOPIC_RESOURCE, each.name, _RETENTION, "-1") for each in topics if _RETENTION not in each.configs]


def _write_cluster(
    plan: Plan, work: _Work, place: NewDirectory, configs: Sequence[Config], producer_ids: Sequence[int]
) -> int:
    """Checkpoints and metadata. `producer_ids`: some that are in use, beside those in logs. Returns the next one."""
    _write_checkpoints(plan, work, place)
    metadata = plan.metadata
    used = max((*producer_ids, *(each["largestProducerId"] for each in work.reports.values())), default=-1)
    as_of = metadata.as_of
    timestamp_ms = as_of.timestamp if as_of and as_of.timestamp is not None else time.time_ns() // 1_000_000
    epochs = {name: each["leaderEpoch"] for name, each in work.reports.items()}
    state = State(
        plan.node, plan.features, plan.topics, epochs, configs, metadata.image,
        max(plan.next_producer_id, next_block(used) if used >= 0 else 0), timestamp_ms,
        max(1, as_of.epoch or 1) if as_of else 1, metadata.is_dynamic,
    )  # fmt: skip
    place.remove_directory(METADATA_LOG)
    with place.below(METADATA_LOG) as target:
        offset = max(1, as_of.offset + 1) if as_of else 1
        target.write(snapshot_name(offset, state.epoch), snapshot_bytes(state))
    return state.next_producer_id


def _write_checkpoints(plan: Plan, work: _Work, place: NewDirectory) -> None:
    ends, starts, cleaned = CheckpointOffsets(), CheckpointOffsets(), CheckpointOffsets()
    cleaned_to = {directory.path: directory.cleaner_offsets() or {} for directory in plan.disks.directories}
    for topic, each in plan.partitions():
        report = work.reports.get(f"{topic.name}-{each.number}")
        if report is None or each.replica is None:
            continue
        name = topic.name, each.number
        ends[name] = report["endOffset"]
        if report["startOffset"] > report["firstBase"]:
            starts[name] = report["startOffset"]
        first_dirty = cleaned_to[each.replica.directory.path].get(name)
        if first_dirty is not None:
            cleaned[name] = min(first_dirty, report["endOffset"])
    place.write(RECOVERY_POINTS, offset_checkpoint_bytes(ends))
    place.write(HIGH_WATERMARKS, offset_checkpoint_bytes(ends))
    place.write(LOG_STARTS, offset_checkpoint_bytes(starts))
    place.write(CLEANER_OFFSETS, offset_checkpoint_bytes(cleaned))
