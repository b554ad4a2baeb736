"""How an export goes on from its plan: what is new in the partitions since then.

Records that came since the last run are added. If an export has an end by time, the first run that sees a record at
or after this time settles the end of the partition. Retention or compaction can remove this record later, and the next
such record is far behind it.

Replicas of a partition do not begin at the same offset. An export by leader takes what a later machine has in front of
an earlier one's first offset, too. Other exports name it: a table takes a partition in the order of its offsets.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafkafs.errors import UsageError
from kafkafs.log.lineage import LogIdentity
from kafkafs.spark.export.export_plan import ELSEWHERE, ExportPlan, FileUnit, Request, SettledEnd, ends, file_of, load
from kafkafs.spark.export.output import Output
from kafkafs.tables import planning
from kafkafs.tables.cutting import pieces_of
from kafkafs.tables.locations import Location, every_location
from kafkafs.tables.missing import chosen_here, missing_names, missing_of, missing_sentence, refuse_missing
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Limit, Specific, Timestamps, TopicPartition, names
from kafkafs.tables.planning import PartitionLook, PartitionRange, planned


def settle(out: Output, request: Request) -> ExportPlan:
    """The plan of an earlier export below `out` and what is new since, or a new plan. UsageError for what cannot be,
    and for partitions that the metadata name and no disk here has."""
    found = missing_of(request)
    missing = refuse_missing(found, request.fail_on_data_loss)
    before = load(out, request) or ExportPlan([], id=uuid.uuid4().hex)
    before.gone += missing
    if before.is_saved:
        before.units = _where_they_are_now(before.units, request)
        if request.ending != AllAt(LATEST):
            check_logs(request, before)
            return before
    locations = chosen_here(found, request)
    if not locations:
        raise UsageError(
            f"{missing_sentence(found)}, and nothing else is chosen"
            if found
            else "no topic is chosen: name some with --topics, or a pattern that fits some"
        )
    if not before.units:
        check_names(request, {*locations, *missing_names(found)})
    lost = sorted(before.logs.keys() - locations.keys())
    before.gone += [f"{name} is not there any more; what was exported of it stays" for name in lost]
    return extended_plan(request, before, locations)


def extended_plan(request: Request, before: ExportPlan, locations: Mapping[TopicPartition, Location]) -> ExportPlan:
    """The plan with what is new in the partitions there."""
    added = _added(request, before, locations)
    logs = {
        name: before.logs.get(name, LogIdentity()).extended_by(each.log)
        for name, each in added.items()
        if each.log is not None
    }
    units = [unit for each in added.values() for unit in each.units]
    new_ends = {name: each.settled_end for name, each in added.items() if each.settled_end is not None}
    return replace(
        before,
        units=before.units + units,
        logs=before.logs | logs,
        is_saved=before.is_saved and not units and not new_ends,
        gone=[*before.gone, *(each.gone for each in added.values() if each.gone)],
        settled_ends=before.settled_ends | new_ends,
    )


def _where_they_are_now(units: Iterable[FileUnit], request: Request) -> list[FileUnit]:
    """The units, each to be read from where its partition is by now: it may have moved to another disk."""
    every = every_location(request.paths, request.replicas, request.tiered)
    return [unit.moved(every.get(unit.partition, unit.range.location)) for unit in units]


def check_logs(request: Request, plan: ExportPlan) -> None:
    """UsageError if a log of the plan, as it is now, is another one than the plan's."""
    every = every_location(request.paths, request.replicas, request.tiered)
    there = {name: every[name] for name in plan.logs if name in every}
    planned(there, request.isolation, _same_as(plan))


def _same_as(plan: ExportPlan) -> Callable[[PartitionLook], None]:
    """A check of a partition: UsageError if its log is another one than the plan's."""
    end_of = ends(plan)
    topics = {name.topic: LogIdentity(each.topic_id) for name, each in plan.logs.items() if each.topic_id is not None}

    def check(look: PartitionLook) -> None:
        name = look.location.name
        if end_of.get(name, 0) > look.visible_end:
            raise UsageError(
                f"{name} was exported up to offset {end_of[name]} and ends at {look.visible_end} now: it was truncated,"
                f" or deleted and created again; {ELSEWHERE}"
            )
        known = plan.logs.get(name, topics.get(name.topic))
        if known is not None and (reason := known.difference(look.log)):
            raise UsageError(f"{name} {reason}; {ELSEWHERE}")
        settled = plan.settled_ends.get(name)
        is_there = settled is not None and settled.offset < look.log.end_offset
        if settled is not None and is_there and (reason := settled.log.difference(look.log)):
            raise UsageError(f"{name} {reason}; {ELSEWHERE}")

    return check


def check_names(request: Request, locations: Iterable[TopicPartition]) -> None:
    """UsageError if the limits name partitions that are not among these."""
    for option, limit in (("--from-offsets", request.starting), ("--to-offsets", request.ending)):
        unknown = set(limit.offsets) - set(locations) if isinstance(limit, Specific) else set()
        if unknown:
            raise UsageError(f"{option} names {names(unknown)}, which is not exported; exported are {names(locations)}")


_LATE = "name a new directory to export them"
_Span = tuple[int, int]
"""The offsets [first, behind the last)."""


class _Added(NamedTuple):
    """The new part of a partition: its files, the log that has their records, a sentence if something is gone, and the
    end if this look settles it."""

    units: list[FileUnit]
    log: LogIdentity | None = None
    gone: str = ""
    settled_end: SettledEnd | None = None


def _added(
    request: Request, before: ExportPlan, locations: Mapping[TopicPartition, Location]
) -> dict[TopicPartition, _Added]:
    """The records of the logs as they are now, after the plan before."""
    check_same, covered = _same_as(before), _covered(before)
    starting = _filled(request.starting, locations, EARLIEST)
    ending = _filled(request.ending, locations, LATEST)

    def added(look: PartitionLook) -> _Added:
        check_same(look)
        name, gone = look.location.name, ""
        there = covered.get(name, [])
        settled = before.settled_ends.get(name)
        new = _settled_end(request, look) if settled is None else None
        known = settled or new
        end = planning.resolved(ending, look) if known is None else known.offset
        if there and (begin := there[-1][1]) < (first := min(look.start_offset, end)):
            gone = f"offsets {begin} to {first - 1} of {name} were deleted before this run"
        end = min(end, look.visible_end)
        wanted = _left(there, max(_begin(starting, look, there), look.start_offset), end)
        if request.led_by is None and there and wanted and wanted[0][0] < there[-1][1]:
            gone = f"offsets {wanted[0][0]} to {wanted[0][1] - 1} of {name} were not there in an earlier run; {_LATE}"
            wanted = [each for each in wanted if each[0] >= there[-1][1]]
        if not wanted:
            return _Added([], gone=gone, settled_end=new)
        pieces = [
            piece
            for begin, behind in wanted
            for piece in pieces_of(
                PartitionRange(look.location, begin, behind), look.log, request.file_bytes, len(locations)
            )
        ]
        units = [FileUnit(each, size, file_of(each), request.by) for each, size in pieces]
        is_further = not there or wanted[-1][1] > there[-1][1]
        return _Added(units, LogIdentity.of(look.log, wanted[0][0], end) if is_further else None, gone, new)

    return planned(locations, request.isolation, added)


def _covered(plan: ExportPlan) -> dict[TopicPartition, list[_Span]]:
    """The offsets of each partition that a plan has."""
    found: dict[TopicPartition, list[_Span]] = {}
    for unit in sorted(plan.units, key=lambda unit: unit.range.start):
        spans = found.setdefault(unit.partition, [])
        if spans and spans[-1][1] == unit.range.start:
            spans[-1] = (spans[-1][0], unit.range.end)
        else:
            spans.append((unit.range.start, unit.range.end))
    return found


def _begin(starting: Limit, look: PartitionLook, covered: Sequence[_Span]) -> int:
    """The offset from which on records may be lacking."""
    if len(covered) == 1 and covered[0][0] <= look.start_offset:
        return covered[0][1]
    start = planning.resolved(starting, look)
    return min(start, covered[-1][1]) if covered else start


def _left(covered: Sequence[_Span], start: int, end: int) -> list[_Span]:
    """The parts of [start, end) that are not covered."""
    left: list[_Span] = []
    for begin, behind in covered:
        if start < min(begin, end):
            left.append((start, min(begin, end)))
        start = max(start, behind)
    return [*left, (start, end)] if start < end else left


def _settled_end(request: Request, look: PartitionLook) -> SettledEnd | None:
    """The end of a partition by time, for the later runs of an export by leader; None if no record is that late."""
    match request.ending:
        case Timestamps(int(time)) if request.led_by is not None:
            end = look.reader.lookup.offset_of_broker(time)
            return None if end is None else SettledEnd(end, LogIdentity.of(look.log, end, end + 1))
    return None


def _filled(limit: Limit, partitions: Iterable[TopicPartition], otherwise: int) -> Limit:
    """Partitions that a limit does not name are taken whole."""
    if not isinstance(limit, Specific):
        return limit
    every = set(partitions)
    given = {name: offset for name, offset in limit.offsets.items() if name in every}
    return Specific(dict.fromkeys(every, otherwise) | given)
