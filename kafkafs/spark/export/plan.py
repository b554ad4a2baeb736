"""What is to be exported, settled at the first run and kept beside the files, so that a second run goes on with it."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.errors import UsageError
from kafkafs.log.options import Isolation
from kafkafs.spark import planning
from kafkafs.spark.locations import Location, chosen
from kafkafs.spark.offsets import EARLIEST, LATEST, Limit, Specific, TopicPartition
from kafkafs.spark.options import Choice
from kafkafs.spark.planning import OffsetRange
from kafkafs.spark.snapshots import Snapshots, planned

PLAN = "_kafkafs_export.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for. Two requests that differ are not the same export."""

    paths: tuple[Path, ...]
    choice: Choice
    starting: Limit
    ending: Limit
    isolation: Isolation = "read_uncommitted"
    value: str = "bytes"  # or "json"
    compression: str = "snappy"
    file_bytes: int = 128 << 20  # of log
    window: tuple[str, str] = ("", "")  # the limits as they were written: "now" is another time in a second run

    def words(self) -> dict[str, str]:
        """In a form to be written down and compared."""
        return {
            "paths": ",".join(map(str, self.paths)),
            "choice": repr(self.choice),
            "starting": self.window[0] or repr(self.starting),
            "ending": self.window[1] or repr(self.ending),
            "isolation": self.isolation,
            "value": self.value,
            "compression": self.compression,
            "fileBytes": str(self.file_bytes),
        }


@dataclass(frozen=True, slots=True)
class FileUnit:
    """One file to be written: a range of a partition."""

    range: OffsetRange
    weight: int
    file: str  # from the output directory


@dataclass(slots=True)
class Plan:
    """All files of an export, and the schema of its values where they are JSON (Spark's notation)."""

    units: list[FileUnit]
    value_type: object | None = None
    is_saved: bool = False


def settle(out: Path, request: Request) -> Plan:
    """The plan of an earlier run below `out`, or a new one. UsageError for what cannot be."""
    return load(out, request) or make(request)


def make(request: Request) -> Plan:
    """Looks at the logs as they are now."""
    locations = chosen(request.paths, request.choice)
    if not locations:
        raise UsageError("no topic is chosen: name some with --topics, or a pattern that fits some")
    return planned(locations, request.isolation, lambda snapshots: _made(snapshots, request))


def _made(snapshots: Snapshots, request: Request) -> Plan:
    starts = planning.resolve(_filled(request.starting, snapshots, EARLIEST), snapshots, starting=True)
    ends = planning.resolve(_filled(request.ending, snapshots, LATEST), snapshots, starting=False)
    units = []
    for name, snapshot in sorted(snapshots.items()):
        start, end = max(starts[name], snapshot.start_offset), min(ends[name], snapshot.visible_end)
        if start >= end:
            continue
        for each, size in planning.files_of(OffsetRange(snapshot.location, start, end), snapshot, request.file_bytes):
            units.append(FileUnit(each, size, _file(each)))
    return Plan(units)


def _filled(limit: Limit, partitions: Iterable[TopicPartition], otherwise: int) -> Limit:
    """Partitions that a limit does not name are taken whole."""
    if not isinstance(limit, Specific):
        return limit
    return Specific(dict.fromkeys(partitions, otherwise) | dict(limit.offsets))


def _file(each: OffsetRange) -> str:
    name = each.location.name
    return f"topic={name.topic}/partition={name.partition}/{each.start:020d}-{each.end:020d}.parquet"


def load(out: Path, request: Request) -> Plan | None:
    """The plan of an earlier run of the same request; UsageError where it was another one, or other files are there."""
    place = out / PLAN
    try:
        told = json.loads(place.read_text())
    except FileNotFoundError:
        if out.is_dir() and os.listdir(out):
            raise UsageError(f"{str(out)!r} holds other files; name a new directory for an export") from None
        return None
    except NotADirectoryError:
        raise UsageError(f"{str(out)!r} is no directory; name a new directory for an export") from None
    except (ValueError, OSError) as error:
        raise UsageError(f"{str(place)!r} cannot be read: {error}; name a new directory for an export") from error
    if told.get("version") != _VERSION or told.get("request") != request.words():
        raise UsageError(f"{str(out)!r} holds an export of something else; name another directory, or the same request")
    units = [_unit(each) for each in told["files"]]
    return Plan(units, told["valueType"], is_saved=True)


def save(out: Path, request: Request, plan: Plan) -> None:
    """Writes the plan down, whole or not at all."""
    told = {
        "version": _VERSION,
        "request": request.words(),
        "valueType": plan.value_type,
        "files": [_told(unit) for unit in plan.units],
    }
    unfinished = out / f"{PLAN}.tmp"
    try:
        out.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(told))
        unfinished.replace(out / PLAN)
    except OSError as error:
        raise UsageError(f"{str(out)!r} cannot be written: {error.strerror}") from error


def _told(unit: FileUnit) -> list[object]:
    location = unit.range.location
    return [str(location.data_directory), *location.name, unit.range.start, unit.range.end, unit.weight]


def _unit(told: Sequence[object]) -> FileUnit:
    directory, topic, partition, start, end, weight = told
    location = Location(Path(str(directory)), TopicPartition(str(topic), int(str(partition))))
    each = OffsetRange(location, int(str(start)), int(str(end)))
    return FileUnit(each, int(str(weight)), _file(each))


def left(out: Path, plan: Plan) -> list[FileUnit]:
    """The files that are not there yet."""
    return [unit for unit in plan.units if not (out / unit.file).exists()]
