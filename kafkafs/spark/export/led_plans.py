"""The plans of an export by leader: one for each partition, so that machines need not know of each other.

    _kafkafs_export.led/request.json                 the words of the request, the same for all machines
    _kafkafs_export.led/topic=T/topic.json           the topic's id, and the type of its values
    _kafkafs_export.led/topic=T/partition=P.json     the plan of a partition

The machine that has the claim of a partition continues its plan from its own disks, even if the leader moved. The plan
knows the log's batches, so a replica that parted from what was exported is refused. The first machine that needs the
request or a topic's file writes it, under a claim of its own, and the others read it.
"""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafkafs.errors import UsageError
from kafkafs.log.lineage import LogIdentity
from kafkafs.spark.export import export_plan
from kafkafs.spark.export.claims import CLAIM, OutputClaim
from kafkafs.spark.export.compacting import finish, journal_of
from kafkafs.spark.export.dates import undated
from kafkafs.spark.export.export_plan import DONE, LED, PLAN, ExportPlan, FileUnit, Request
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan_store import FirstPass, PlanStore
from kafkafs.spark.export.settling import extended_plan
from kafkafs.tables.led import LedPartitions
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import LATEST, AllAt, TopicPartition
from kafkafs.tables.planning import PartitionLook, planned

_REQUEST = f"{LED}/request.json"
_AT_ONCE = 16  # files that are read or written, as a bucket answers slowly
_LOOK_S = 0.5
_OF_PARTITION = re.compile(r"topic=([^/]+)/partition=([0-9]+)/.+")
_OF_MARK = re.compile(rf"{DONE}/(.+)-([0-9]+)[-/]\.?[0-9]{{20}}-[0-9]{{20}}\.json.*")
_OF_PLAN = re.compile(rf"{LED}/topic=([^/]+)/\.?partition=([0-9]+)\.json.*")

_Shared = dict[str, dict[str, Any]]
"""The content of files that all machines share, by the part of a claim that the writer of a file needs."""


def plan_name(name: TopicPartition) -> str:
    """The file with a partition's plan."""
    return f"{LED}/topic={name.topic}/partition={name.partition}.json"


def partition_of(file: str) -> TopicPartition | None:
    """The partition that a file of the export belongs to, half written ones too; None for what partitions share."""
    for pattern in (_OF_PARTITION, _OF_MARK, _OF_PLAN):
        if found := pattern.fullmatch(undated(file)):
            return TopicPartition(found[1], int(found[2]))
    return None


class LedPlans(PlanStore):
    """The plans of the partitions that this process has claimed."""

    def __init__(self, out: Output, request: Request, claim: OutputClaim) -> None:
        super().__init__(out, request, claim.check)
        self.counts = f"_kafkafs_export.counts-led-by-{request.led_by}"
        self._claim = claim
        self._held: frozenset[TopicPartition] = frozenset()
        self._written: dict[TopicPartition, tuple[int, bool]] = {}
        """How many files each plan names that was read, and if it has a settled end."""

    def check(self) -> None:
        """UsageError if the output holds anything else, or an export by leader of another request."""
        there = self._there()
        if PLAN in there:
            raise UsageError(
                f"{str(self.out)!r} holds an export without --led-by; name another directory, or leave the option out"
            )
        if not any(name.startswith(f"{LED}/") for name in there) and there:
            raise UsageError(f"{str(self.out)!r} holds other files; name a new directory for an export")
        words = self._agreed({"request": _REQUEST}, lambda _: {"request": dict(self.request.words())})["request"]
        if words != self.request.words():
            export_plan.parsed(self.out, _REQUEST, json.dumps({"request": words}).encode(), self.request)

    def settle(self, led: LedPartitions, held: Iterable[TopicPartition]) -> ExportPlan:
        """The plans of claimed partitions, as one, and what is new since. UsageError as of `settling.settle`."""
        self._held = frozenset(held)
        there = self._there()
        journals = [each for each in sorted(self._held) if journal_of(plan_name(each)) in there]
        for each in journals:
            finish(self.out, plan_name(each))
        if journals:
            there = self._there()
        names = [each for each in sorted(self._held) if plan_name(each) in there]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = dict(zip(names, pool.map(self._load, names), strict=True))
        self._written = {name: (len(plan.units), name in plan.settled_ends) for name, plan in found.items()}
        before = _as_one(found, led)
        export_plan.check_files(self.out, [name for name in there if partition_of(name) in self._held], before.units)
        locations = {name: led.locations[name] for name in sorted(self._held)}
        before, locations = _without_laggards(self.request, before, locations, led.named)
        if self.request.ending != AllAt(LATEST):
            before.is_saved &= locations.keys() <= found.keys()
        return extended_plan(self.request, before, locations)

    def settle_types(self, plan: ExportPlan, first: FirstPass) -> None:
        """See `PlanStore`. The first machine that has a topic settles its type, and the others take it.

        UsageError if a topic was created again since then.
        """
        if plan.is_saved:
            return
        ids = _ids(plan)
        topics = {f"topic/{topic}": topic for topic in sorted({unit.topic for unit in plan.units})}

        def settled(parts: Sequence[str]) -> _Shared:
            some = {topics[part] for part in parts}
            units = [unit for unit in plan.units if unit.topic in some]
            types = {**plan.value_types, **first.types(replace(plan, units=units))}
            return {part: {"topicId": ids.get(topics[part]), "valueType": types.get(topics[part])} for part in parts}

        files = {part: f"{LED}/topic={topic}/topic.json" for part, topic in topics.items()}
        for part, saved in self._agreed(files, settled).items():
            topic = topics[part]
            known, now = saved.get("topicId"), ids.get(topic)
            if None not in (known, now) and known != now:
                raise UsageError(
                    f"{topic} was deleted and created again: its topic id was {known} and is {now}; name a new"
                    " directory for an export"
                )
            if saved["valueType"] is not None:
                plan.value_types[topic] = saved["valueType"]
        self.save(plan)

    def save(self, plan: ExportPlan) -> None:
        """Writes the plan of each partition that has new files down. A plan with an end says so without files, too."""
        self.still_ours()
        units: dict[TopicPartition, list[FileUnit]] = {}
        for unit in plan.units:
            units.setdefault(unit.partition, []).append(unit)
        settles = self._held if self.request.ending != AllAt(LATEST) else units.keys()
        now = {name: (len(units.get(name, ())), name in plan.settled_ends) for name in sorted(settles)}
        changed = [name for name in now if now[name] != self._written.get(name)]

        def write(name: TopicPartition) -> None:
            self._save(name, units.get(name, []), plan)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(write, changed))

    def is_ours(self, name: str) -> bool:
        """See `PlanStore`: true for what a claimed partition has."""
        return partition_of(name) in self._held

    def _save(self, name: TopicPartition, units: list[FileUnit], plan: ExportPlan) -> None:
        types = {name.topic: plan.value_types[name.topic]} if name.topic in plan.value_types else {}
        logs = {name: plan.logs[name]} if name in plan.logs else {}
        ends = {name: plan.settled_ends[name]} if name in plan.settled_ends else {}
        place = Location(Path(export_plan.LED_DIRECTORY), name)
        placed = [unit.moved(place) for unit in units]
        alone = replace(plan, units=placed, value_types=types, logs=logs, settled_ends=ends)
        export_plan.save(self.out, self.request, alone, plan_name(name))

    def _there(self) -> dict[str, int]:
        return {name: size for name, size in self.out.sizes().items() if not name.startswith(CLAIM)}

    def _load(self, name: TopicPartition) -> ExportPlan:
        file = plan_name(name)
        plan = export_plan.parsed(self.out, file, self.out.read(file) or b"", self.request)
        if {*plan.logs, *plan.settled_ends, *(unit.partition for unit in plan.units)} - {name}:
            raise UsageError(f"'{self.out}/{file}' is not the plan of {name}; name a new directory for an export")
        return plan

    def _agreed(self, files: Mapping[str, str], made: Callable[[Sequence[str]], _Shared]) -> _Shared:
        """The content of shared files, by part. The first machine that needs a file writes what is `made` for it."""
        found: _Shared = {}
        while True:
            found |= self._read(files, files.keys() - found.keys())
            left = sorted(files.keys() - found.keys())
            if not left:
                return found
            busy = self._claim.claim(left)
            mine = [part for part in left if part not in busy]
            found |= self._read(files, mine)  # another may have written one before it gave up its claim
            lacking = [part for part in mine if part not in found]
            new = made(lacking) if lacking else {}
            for part, saved in new.items():
                self.still_ours()
                self.out.write_json(files[part], saved)
            found |= new
            self._claim.release(mine)
            if not mine:
                time.sleep(_LOOK_S)

    def _read(self, files: Mapping[str, str], parts: Iterable[str]) -> _Shared:
        parts = sorted(parts)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            texts = zip(parts, pool.map(lambda part: self.out.read(files[part]), parts), strict=True)
            return {part: self._parsed(files[part], text) for part, text in texts if text is not None}

    def _parsed(self, file: str, text: bytes) -> dict[str, Any]:
        try:
            saved = json.loads(text)
            if file == _REQUEST or {"topicId", "valueType"} <= saved.keys():
                return dict(saved)
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
        raise UsageError(f"'{self.out}/{file}' is not what an export wrote; name a new directory for an export")


def _ids(plan: ExportPlan) -> dict[str, str]:
    return {name.topic: each.topic_id for name, each in sorted(plan.logs.items()) if each.topic_id is not None}


def _as_one(found: Mapping[TopicPartition, ExportPlan], led: LedPartitions) -> ExportPlan:
    """The plans of partitions together, each to be read from where it is here."""
    one = ExportPlan([], id=uuid.uuid4().hex, is_saved=True)
    for name, plan in found.items():
        one.units += [unit.moved(led.locations[name]) for unit in plan.units]
        one.value_types |= plan.value_types
        one.logs |= plan.logs
        one.settled_ends |= plan.settled_ends
    return one


def _without_laggards(
    request: Request,
    before: ExportPlan,
    locations: Mapping[TopicPartition, Location],
    named: Mapping[TopicPartition, int] | None,
) -> tuple[ExportPlan, dict[TopicPartition, Location]]:
    """Leave out each replica that has nothing to add: a follower's, or that of a broker that led before.

    Without metadata, every replica that is a beginning of what was exported is left out. With metadata, it must also be
    that a later leader wrote what was exported last. If this broker leads now, records were lost, and the run fails.
    """
    ends = export_plan.ends(before)

    def led_later(name: TopicPartition) -> bool:
        """True if a leader after this broker may have written what was exported last."""
        known = before.logs.get(name, LogIdentity()).last
        return named is None or (known is not None and known.leader_epoch > named.get(name, -1))

    def behind(look: PartitionLook) -> int | None:
        """The end of a replica that is a shorter beginning of what was exported."""
        end, known = look.visible_end, before.logs.get(look.location.name)
        is_shorter = known is not None and end < ends[look.location.name] and known.is_beginning(look.log)
        return end if is_shorter else None

    begun = {name: each for name, each in locations.items() if name in ends and led_later(name)}
    answers = planned(begun, request.isolation, behind)
    found = {name: end for name, end in answers.items() if end is not None}
    one = replace(
        before,
        units=[unit for unit in before.units if unit.partition not in found],
        logs={name: each for name, each in before.logs.items() if name not in found},
        gone=[
            *before.gone,
            *(
                f"{name} was exported up to offset {ends[name]} from another replica; this one ends at {end}"
                for name, end in found.items()
            ),
        ],
    )
    return one, {name: each for name, each in locations.items() if name not in found}
