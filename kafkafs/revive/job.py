"""The work itself, in the order in which an interruption does no harm.

Partitions are first, then checkpoints, the metadata and settings. The last files are `meta.properties`, without which a
broker does not start, and the mark of an orderly stop. Without the mark, it would take a partition's end for damaged.
`revive.json` says "unfinished" until all of that is on the disk.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafkafs.revive.beyond import offsets_beyond
from kafkafs.revive.changes import unchanged
from kafkafs.revive.node_files import NodeFiles, cluster_of
from kafkafs.revive.partition_scans import PartitionScans, Progress
from kafkafs.revive.partitions import PartitionWriter
from kafkafs.revive.place import NewDirectory, check_target
from kafkafs.revive.plan import Choices, Plan, make_plan
from kafkafs.revive.room import check_room, choose_method, room
from kafkafs.revive.staleness import behind_metadata
from kafkafs.revive.writing import Writing


def no_progress(done: int, size: int) -> None:
    """Report nothing: for callers that show no progress."""


def planned(paths: Sequence[Path], choices: Choices, progress: Progress = no_progress) -> dict[str, Any]:
    """The output of `--plan`: the plan, and the result of a scan of each partition. Nothing is written."""
    check_target(choices.to, choices.request(paths))
    with unchanged(paths) as check:
        plan = make_plan(paths, choices)
        scans = PartitionScans(plan, choices, progress)
        for each in scans.scans({}):
            scans.only_scan(each)
        node = NodeFiles(plan, choices)
        needed = room(plan, choices.method or "copy", plan.size)
        report = {"state": "planned", **plan.report(), "neededBytes": needed, "revived": scans.revived()}
        report["leftOut"] += [*node.sentences, *behind_metadata(plan, scans.reports)]
        report["leftOut"] += offsets_beyond(plan.cluster, plan, scans.ends(), choices.topics)
        report["retentionAdded"] = node.without_retention
        check()
    return report


def revive(paths: Sequence[Path], choices: Choices, progress: Progress = no_progress) -> dict[str, Any]:
    """Writes the new directory: what `revive.json` says. CorruptData names damage that may not be passed over; Vanished
    the directories that changed while they were read."""
    request = choices.request(paths)
    check_target(choices.to, request)
    with unchanged(paths) as check:
        plan = make_plan(paths, choices)
        with NewDirectory(choices.to, request) as place:
            report = _revive(plan, choices, place, progress, check)
            place.finish({"request": request, **report})
    return report


def _revive(
    plan: Plan, choices: Choices, place: NewDirectory, progress: Progress, check_disks: Callable[[], None]
) -> dict[str, Any]:
    node = NodeFiles(plan, choices)
    node.remove_last_files(place)
    method = choose_method(plan, choices.method, place)
    scans = PartitionScans(plan, choices, progress)
    done = scans.unchanged_partitions(place.done)
    gone = place.keep_only({each.name for _, each in plan.partitions() if each.replica})
    size_done = sum(entry["bytes"] for entry in done.values())
    check_room(plan, method, choices.to, size_done)
    with Writing(place, plan.size - size_done if method == "copy" else 0) as writing:
        for each in scans.scans(done):
            if scans.damage:
                scans.only_scan(each)
                continue
            with place.partition(each.name) as target:
                PartitionWriter(each.replica, each.topic_id, target, method, writing).write(each.scan, scans.move)
            report = scans.report(each)
            if not each.scan.refused:
                place.note(report)
    scans.refuse_damage()
    report = {**plan.report(), "method": method, "madeAgain": scans.made_again, "revived": scans.revived()}
    report["leftOut"] += [*node.sentences, *behind_metadata(plan, scans.reports)]
    report["leftOut"] += [f"{name} is no longer on these disks, and was taken away again" for name in gone]
    report["retentionAdded"] = node.without_retention
    report["nextProducerId"] = node.write_cluster(place, scans.reports)
    node.write_settings(place)
    report["leftOut"] += offsets_beyond(cluster_of(place), plan, scans.ends(), choices.topics)
    check_disks()
    place.settle()
    node.write_last_files(place)
    return report
