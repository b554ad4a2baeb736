"""The plan of an export. The first export to a place settles it and keeps it beside its files, so that the next one
there goes on with it.

If no end was asked for, a later export adds the records that have come since. The plan knows which logs it is of: one
that was created again under the same name has the same offsets, but is another log.
"""

import json
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kafkafs.disk.data_paths import data_path
from kafkafs.errors import DiskError, UsageError
from kafkafs.format.names import parse_partition_name
from kafkafs.log.lineage import BatchMark, LogIdentity
from kafkafs.spark.export.claims import CLAIM
from kafkafs.spark.export.dates import By, undated
from kafkafs.spark.export.output import Output
from kafkafs.tables.choice import ReadRequest
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import PartitionOffsets, TopicPartition
from kafkafs.tables.planning import PartitionRange

PLAN = "_kafkafs_export.json"
GONE = "name a new directory to export what is left"
"""The remedy if records of the plan were deleted before they were written."""
DONE = "_kafkafs_export.done"
"""The directory of what says which ranges are written, where a range becomes files by date."""
LED = "_kafkafs_export.led"
"""The directory of the plans of an export by leader: one for each partition."""
LED_DIRECTORY = "/"
"""The data directory in such a plan: another machine goes on with it, from its own disks."""
_LONGEST_NAME = 255
"""Bytes that a file system takes for a file's."""

_VERSION = 3
_MOST = 1 << 63
ELSEWHERE = "name a new directory for an export"


@dataclass(frozen=True, slots=True)
class Request(ReadRequest):
    """The choices of a user. Two requests that differ are not the same export, but for where segments are."""

    value: str = "bytes"  # or "json", "registry"
    compression: str = "snappy"
    file_bytes: int = 128 << 20  # of log
    window: tuple[str, str] = ("", "")  # the limits as they were written: "now" is another time in the next export
    by: By = ""
    led_by: int | None = None
    for_iceberg: bool = False  # values that a table cannot hold get another column; no part of an export's identity

    def words(self) -> dict[str, str]:
        """The request in a form to be written down and compared."""
        words = {
            "paths": ",".join(sorted(map(str, self.paths))),
            "choice": repr(replace(self.choice, topics=tuple(sorted(set(self.choice.topics))))),
            "starting": self.window[0] or repr(self.starting),
            "ending": self.window[1] or repr(self.ending),
            "isolation": self.isolation,
            "value": self.value,
            "compression": self.compression,
            "fileBytes": str(self.file_bytes),
        }
        words |= {"by": self.by} if self.by else {}  # plans of earlier releases know no such word
        return words if self.led_by is None else words | {"paths": LED_DIRECTORY, "led": "by leader"}


@dataclass(frozen=True, slots=True)
class FileUnit:
    """One file to be written: a range of a partition. Or `by` date: one for each that its records have."""

    range: PartitionRange
    weight: int
    file: str  # from the output directory
    by: By = ""

    @property
    def mark(self) -> str:
        """The path that is there when all of it is written: the file, or the list of its files by date."""
        if not self.by:
            return self.file
        name, offsets = str(self.partition), f"{self.range.start:020d}-{self.range.end:020d}.json"
        return f"{DONE}/{name}{'-' if len(f'{name}-{offsets}') <= _LONGEST_NAME else '/'}{offsets}"

    @property
    def partition(self) -> TopicPartition:
        """The partition that the range is of."""
        return self.range.location.name

    @property
    def topic(self) -> str:
        """The topic, whose values have one schema."""
        return self.partition.topic

    def moved(self, location: Location) -> "FileUnit":
        """The unit, to be read from another place."""
        return replace(self, range=replace(self.range, location=location))


class SettledEnd(NamedTuple):
    """The end of a partition by time: the first offset behind it, and the log that had a record of this offset."""

    offset: int
    log: LogIdentity


@dataclass(slots=True)
class ExportPlan:
    """All files of an export, and the type of each topic's values: a `json_values.Kind` where they are JSON, the words
    of a `ReaderSchema` where they name schemas.

    Types are those of the values that were there when a topic was first exported; later ones fit them or stay bytes.
    """

    units: list[FileUnit]
    value_types: dict[str, object] = field(default_factory=dict)
    logs: dict[TopicPartition, LogIdentity] = field(default_factory=dict)  # those of which there are units
    is_saved: bool = False
    gone: list[str] = field(default_factory=list)  # sentences: what a later export finds deleted before it was exported
    id: str = ""  # one of its own, for tables that know what they took of it; plans of earlier releases have none
    table: str = ""  # one that has taken files of it, if any has
    settled_ends: dict[TopicPartition, SettledEnd] = field(default_factory=dict)  # for an export by leader

    @property
    def has_place_columns(self) -> bool:
        """True if its files have the columns `topic` and `partition`, which those of earlier releases lack."""
        return bool(self.id)

    def new_units(self) -> list[FileUnit]:
        """The files of topics whose values have no type yet."""
        return [unit for unit in self.units if unit.topic not in self.value_types]


def ends(plan: ExportPlan) -> PartitionOffsets:
    """The offsets at which each partition of a plan goes on."""
    found: PartitionOffsets = {}
    for unit in plan.units:
        found[unit.partition] = max(found.get(unit.partition, 0), unit.range.end)
    return found


def file_of(each: PartitionRange) -> str:
    """The file for a range, if it is not partitioned by date."""
    name = each.location.name
    return f"topic={name.topic}/partition={name.partition}/{each.start:020d}-{each.end:020d}.parquet"


def load(out: Output, request: Request) -> ExportPlan | None:
    """The plan of an earlier export, of the same request. UsageError if that was another one, or others' files are
    there."""
    out.check()
    text = out.read(PLAN)
    there = {name for name in out.sizes() if not name.startswith(CLAIM)}
    if text is None:
        if any(name.startswith(f"{LED}/") for name in there):
            raise UsageError(f"{str(out)!r} holds an export by --led-by; name another directory, or the same option")
        if there:
            raise UsageError(f"{str(out)!r} holds other files; name a new directory for an export")
        return None
    plan = parsed(out, PLAN, text, request)
    check_files(out, there, plan.units)
    return plan


def parsed(out: Output, name: str, text: bytes, request: Request) -> ExportPlan:
    """A plan that was written down, if it is of the same request. UsageError if it is not, or no plan."""
    try:
        saved = json.loads(text)
        begun = saved["request"]
        if begun.get("by", "") != request.by:
            raise UsageError(
                f"{str(out)!r} holds an export {'by date' if not request.by else 'with another --by, or none'}; name"
                " another directory, or the same --by"
            )
        if begun != request.words():
            raise UsageError(
                f"{str(out)!r} holds an export of something else; name another directory, or the same request"
            )
        if saved["version"] != _VERSION:
            raise UsageError(f"{str(out)!r} holds an export that another release of kafkafs began; {ELSEWHERE}")
        paths = request.paths if request.led_by is None else (LED_DIRECTORY,)
        directories = frozenset(map(str, paths))
        units = [_unit(each, directories, request.by) for each in saved["files"]]
        return ExportPlan(
            units, dict(saved["valueTypes"]), dict(map(_log, saved["logs"])), is_saved=True, id=_id(saved.get("id")),
            table=str(saved.get("table", "")), settled_ends=dict(map(_end, saved.get("ends", []))),
        )  # fmt: skip
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UsageError(f"'{out}/{name}' is not the plan of an export; name a new directory for one") from error


def units_of(out: Output, text: bytes, plan: str = PLAN) -> tuple[dict[str, Any], list[FileUnit]]:
    """A plan's words, and its files, whatever was asked for. UsageError if it is invalid."""
    try:
        saved = json.loads(text)
        directories = frozenset(str(each[0]) for each in saved["files"])
        if saved["version"] == _VERSION:
            return saved, [_unit(each, directories, saved["request"].get("by", "")) for each in saved["files"]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise UsageError(f"'{out}/{plan}' is no plan of an export, or another release's; {ELSEWHERE}")


def check_files(out: Output, there: Iterable[str], units: Iterable[FileUnit]) -> None:
    """UsageError if there are files that the plan does not name: a reader of the directory would read them too."""
    planned_files = {unit.file for unit in units}
    others = sorted(name for name in there if name.endswith(".parquet") and undated(name) not in planned_files)
    if others:
        many = f"{len(others):,} files" if len(others) > 1 else "a file"
        raise UsageError(
            f"{str(out)!r} holds {many} that its plan does not name, first {others[0]!r}: another export wrote there"
            f" too, or somebody else, and records may be there twice; {ELSEWHERE}"
        )


def save(out: Output, request: Request, plan: ExportPlan, name: str = PLAN) -> None:
    """Writes the plan down, whole or not at all."""
    saved = {
        "version": _VERSION,
        "id": plan.id,
        "table": plan.table,
        "request": request.words(),
        "valueTypes": plan.value_types,
        "logs": [[*partition, each.topic_id, each.first, each.last] for partition, each in sorted(plan.logs.items())],
        "files": [words_of(unit) for unit in plan.units],
    }
    if plan.settled_ends:
        saved["ends"] = [
            [*name, end.offset, end.log.topic_id, end.log.last] for name, end in sorted(plan.settled_ends.items())
        ]
    try:
        out.write_json(name, saved)
    except DiskError as error:
        raise UsageError(str(error)) from error


def words_of(unit: FileUnit) -> list[object]:
    """A file as the plan names it."""
    location = unit.range.location
    return [str(location.data_directory), *location.name, unit.range.start, unit.range.end, unit.weight]


def _unit(saved: Sequence[object], directories: Set[str], by: By) -> FileUnit:
    """A file of the plan. ValueError for one that no export wrote: it might name any file of the machine.

    `directories` are those that the request names.
    """
    directory, topic, partition, *numbers = saved
    name = parse_partition_name(f"{topic}-{partition}")
    if directory not in directories or name is None or name.mark or name.topic != topic:
        raise ValueError(f"{directory}/{topic}-{partition}")
    start, end, weight = (int(str(number)) for number in numbers)
    if not (0 <= start < end < _MOST and 0 <= weight < _MOST):
        raise ValueError(f"{start} to {end}, {weight}")
    location = Location(data_path(str(directory)), TopicPartition(name.topic, name.partition))
    each = PartitionRange(location, start, end)
    return FileUnit(each, weight, file_of(each), by)


def _id(saved: object) -> str:
    return saved if isinstance(saved, str) and re.fullmatch("[0-9a-f]{32}", saved) else ""


def _end(saved: Sequence[Any]) -> tuple[TopicPartition, SettledEnd]:
    topic, partition, offset, topic_id, batch = saved
    last = None if batch is None else BatchMark(*batch)
    return TopicPartition(topic, int(partition)), SettledEnd(int(offset), LogIdentity(topic_id, last=last))


def _log(saved: Sequence[Any]) -> tuple[TopicPartition, LogIdentity]:
    topic, partition, topic_id, *batches = saved
    first, last = (BatchMark(*each) if each is not None else None for each in batches)
    return TopicPartition(topic, int(partition)), LogIdentity(topic_id, first, last)
