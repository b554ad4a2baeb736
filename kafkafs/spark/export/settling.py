"""How an export goes on from its plan: what is new in the partitions since then.

Records that came since the last run are added. If an export has an end by time, the first run that sees a record at
or after this time settles the end of the partition. Retention or compaction can remove this record later, and the next
such record is far behind it.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from kafkafs.errors import UsageError
from kafkafs.log.lineage import LogIdentity
from kafkafs.spark.export.export_plan import ELSEWHERE, ExportPlan, FileUnit, Request, SettledEnd, ends, file_of, load
from kafkafs.spark.export.output import Output
from kafkafs.tables import planning
from kafkafs.tables.locations import Location, every_location
from kafkafs.tables.missing import chosen_here, missing_names, missing_of, missing_sentence, refuse_missing
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Limit, Specific, Timestamps, TopicPartition, names
from kafkafs.tables.planning import PartitionLook, PartitionRange, planned


def settle(out: Output, request: Request) -> ExportPlan:
    """The plan of an earlier export below `out` and what is new since, or a new plan. UsageError for what cannot be,
    and for partitions that the metadata name and no disk here has."""
    found = missing_of(request.paths, request.choice, request.tiered)
    missing = refuse_missing(found, request.fail_on_data_loss)
    before = load(out, request) or ExportPlan([], id=uuid.uuid4().hex)
    before.gone += missing
    if before.is_saved:
        before.units = _where_they_are_now(before.units, request)
        if request.ending != AllAt(LATEST):
            check_logs(request, before)
            return before
    locations = chosen_here(found, request.paths, request.choice, request.replicas, request.tiered)
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
        name: before.logs.get(name, LogIdentity()).went_on(each.log)
        for name, each in added.items()
        if each.log is not None
    }
    units = [unit for each in added.values() for unit in each.units]
    new_ends = {name: each.settled_end for name, each in added.items() if each.settled_end is not None}
    return ExportPlan(
        before.units + units,
        before.value_types,
        before.logs | logs,
        is_saved=before.is_saved and not units and not new_ends,
        gone=[*before.gone, *(each.gone for each in added.values() if each.gone)],
        id=before.id,
        table=before.table,
        settled_ends=before.settled_ends | new_ends,
    )


def _where_they_are_now(units: Iterable[FileUnit], request: Request) -> list[FileUnit]:
    """The units, each to be read from where its partition is by now: it may have moved to another disk."""
    every = every_location(request.paths, request.replicas, request.tiered)
    return [
        replace(unit, range=replace(unit.range, location=every.get(unit.range.location.name, unit.range.location)))
        for unit in units
    ]


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


class _Added(NamedTuple):
    """What is new in a partition: its files, the log that has their records, a sentence if something is gone, and the
    end if this look settles it."""

    units: list[FileUnit]
    log: LogIdentity | None = None
    gone: str = ""
    settled_end: SettledEnd | None = None


def _added(
    request: Request, before: ExportPlan, locations: Mapping[TopicPartition, Location]
) -> dict[TopicPartition, _Added]:
    """The records of the logs as they are now, after the plan before."""
    check_same, begun = _same_as(before), ends(before)
    starting = _filled(request.starting, locations.keys() - begun.keys(), EARLIEST)
    ending = _filled(request.ending, locations, LATEST)

    def added(look: PartitionLook) -> _Added:
        check_same(look)
        name, gone = look.location.name, ""
        begin = begun.get(name)
        settled = before.settled_ends.get(name)
        new = _settled_end(request, look) if settled is None else None
        known = settled or new
        end = planning.resolved(ending, look) if known is None else known.offset
        if begin is None:
            begin = planning.resolved(starting, look)
        elif begin < (first := min(look.start_offset, end)):
            gone = f"offsets {begin} to {first - 1} of {name} were deleted before this run"
        start, end = max(begin, look.start_offset), min(end, look.visible_end)
        if start >= end:
            return _Added([], gone=gone, settled_end=new)
        pieces = planning.pieces_of(
            PartitionRange(look.location, start, end), look.log, request.file_bytes, len(locations)
        )
        units = [FileUnit(each, size, file_of(each), request.by) for each, size in pieces]
        return _Added(units, LogIdentity.of(look.log, start, end), gone, new)

    return planned(locations, request.isolation, added)


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
