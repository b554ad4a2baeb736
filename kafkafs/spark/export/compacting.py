"""`kafkafs export --compact`: small files of an export become large ones, and each record stands there once.

Neighbours in the plan are put together as long as their log is not more than the `--file-mb` of the export. A larger
file is written first under a hidden name, which no reader takes. Then a journal names all that is about to change, and
the plan as it will be: from there on the change happens, whoever is killed. Large files get their names, small ones are
removed, the plan is written, and last the journal goes. Each step can be done again, and `finish` does so at the
beginning of each run to this place. All of it happens under the claim of `output`.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.export import export_plan
from kafkafs.spark.export.export_plan import PLAN, FileUnit, file_of, units_of, words_of
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.parquet import Counts, FileWriter
from kafkafs.spark.export.tallies import Tallies
from kafkafs.spark.jobs import Progress, Step, no_progress, nothing

JOURNAL = "_kafkafs_export.compacting"
_HIDDEN = ".compacted"
_ROUND_BYTES = 4 << 30  # of log, whose larger files are written before the small ones go
_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class Compacted:
    """Files before and after, of those that were rewritten, and what is there in all."""

    before: int
    after: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Written:
    """A unit that is written, and its files."""

    unit: FileUnit
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Merge:
    """Units that become one."""

    parts: tuple[_Written, ...]
    whole: FileUnit

    @property
    def old(self) -> set[str]:
        """The files of the units there, marks too."""
        return {name for each in self.parts for name in (each.unit.mark, *each.files)}


def finish(out: Output) -> None:
    """Completes what a compaction had decided when it was ended."""
    text = out.read(JOURNAL)
    if text is None:
        return
    try:
        told = json.loads(text)
        new, old = list(told["new"]), list(told["old"])
        if not all(map(_is_ours, (*new, *old))) or not isinstance(told["plan"], dict):
            raise ValueError(JOURNAL)
        plan = json.dumps(told["plan"]).encode()
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(
            f"'{out}/{JOURNAL}' is not what a compaction wrote; name a new directory for an export"
        ) from error
    there = set(out.sizes())
    for name in new:
        if hidden(name) in there:
            out.rename(hidden(name), name)
        elif name not in there:
            raise DiskError(f"'{out}/{name}' is neither there nor beside its place: somebody removed it")
    for name in old:
        out.remove(name)
    left = set(old) & set(out.sizes())
    if left:
        raise DiskError(f"'{out}/{min(left)}' cannot be removed; until it is, its records are there twice")
    with out.writing(PLAN) as file:
        file.write(plan)
    out.remove(JOURNAL)


def _is_ours(name: object) -> bool:
    """True if an export may have such a file: nothing that leads out of it."""
    parts = Path(str(name)).parts
    is_below = isinstance(name, str) and not name.startswith("/") and ".." not in parts
    return is_below and (parts[0].startswith("topic=") or parts[0] == export_plan.DONE)


def hidden(name: str) -> str:
    """The name of a file that is whole, and not yet part of the export."""
    directory, _, last = name.rpartition("/")
    return f"{directory}/.{last}{_HIDDEN}"


def compact(out: Output, progress: Progress = no_progress, still_ours: Callable[[], None] = nothing) -> Compacted:
    """Puts small files together. UsageError if there is no export, or one whose files belong to a table."""
    out.check()
    finish(out)
    text = out.read(PLAN)
    if text is None:
        raise UsageError(f"{str(out)!r} holds no export: it has no {PLAN}")
    told, units = units_of(out, text)
    if told.get("table"):
        raise UsageError(
            f"the files in {str(out)!r} belong to the table {told['table']}: compact that table with its own tools"
        )
    for name in out.sizes():
        if name.endswith(_HIDDEN):
            out.remove(name)  # of a compaction that was ended before it decided
    merges = list(_merges(out, units, int(told["request"]["fileBytes"])))
    total = sum(each.whole.weight for each in merges)
    done, before, after, rows = 0, 0, 0, 0
    for some in _rounds(merges):
        new: list[str] = []
        for each in some:
            counted = _write(out, each, told["request"]["compression"])
            new += sorted({each.whole.mark, *counted})
            done += each.whole.weight
            before += sum(len(part.files) for part in each.parts)
            after += len(counted)
            rows += sum(one.rows for one in counted.values())
            progress(Step("compact", merges.index(each) + 1, len(merges), done, total))
        units = _without(units, some)
        told["files"] = [words_of(unit) for unit in units]
        old = sorted({name for each in some for name in each.old} - {*new})
        still_ours()
        with out.writing(JOURNAL) as file:
            file.write(json.dumps({"new": new, "old": old, "plan": told}).encode())
        finish(out)
    return Compacted(before, after, rows)


def _merges(out: Output, units: Iterable[FileUnit], limit: int) -> list[_Merge]:
    """Neighbours that are written, and that together are not more than a file of the export."""
    there, tallies = out.sizes(), Tallies(out)
    by_partition: defaultdict[object, list[FileUnit]] = defaultdict(list)
    for unit in units:
        by_partition[unit.range.location.name].append(unit)
    found: list[_Merge] = []
    for some in by_partition.values():
        group: list[_Written] = []
        for unit in sorted(some, key=lambda each: each.range.start):
            is_written = unit.mark in there
            files = tuple(tallies.files_of(unit, there[unit.mark])) if unit.by and is_written else (unit.file,)
            is_written = is_written and {*files} <= there.keys()
            if group and (not is_written or sum(each.unit.weight for each in group) + unit.weight > limit):
                found += _merge(group)
                group = []
            if is_written:
                group.append(_Written(unit, files))
        found += _merge(group)
    return found


def _merge(group: Sequence[_Written]) -> list[_Merge]:
    if len(group) < 2:
        return []
    last = group[-1].unit
    place = replace(last.range, start=group[0].unit.range.start)
    weight = sum(each.unit.weight for each in group)
    return [_Merge(tuple(group), replace(last, range=place, weight=weight, file=file_of(place)))]


def _rounds(merges: Iterable[_Merge]) -> Iterator[list[_Merge]]:
    some: list[_Merge] = []
    for each in merges:
        some.append(each)
        if sum(one.whole.weight for one in some) >= _ROUND_BYTES:
            yield some
            some = []
    if some:
        yield some


def _write(out: Output, each: _Merge, compression: str) -> dict[str, Counts]:
    """Writes the larger files under hidden names: their counts by their names."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    last = each.whole.file.rpartition("/")[2]
    for part in each.parts:
        for name in part.files:
            by_name[f"{name.rpartition('/')[0]}/{last}"].append(name)
    counted = {name: _write_file(out, name, files, compression) for name, files in by_name.items()}
    if each.whole.by:
        with out.writing(hidden(each.whole.mark)) as file:
            file.write(json.dumps(counted).encode())
    return counted


def _write_file(out: Output, name: str, parts: Sequence[str], compression: str) -> Counts:
    with ExitStack() as opening:
        files = [pq.ParquetFile(opening.enter_context(out.open(part))) for part in parts]
        kind = files[0].schema_arrow.remove_metadata()
        if any(not each.schema_arrow.remove_metadata().equals(kind) for each in files):
            raise UsageError(f"'{out}/{parts[0]}' and its neighbours have other columns: they cannot be one file")
        with FileWriter(out, hidden(name), compression, kind) as writer:
            for each in files:
                for batch in each.iter_batches(_ROWS):
                    writer.add(batch)
        if writer.rows != sum(each.metadata.num_rows for each in files):
            raise DiskError(f"'{out}/{parts[0]}' changed while it was read")
    return Counts(writer.rows, writer.as_bytes, writer.without_time)


def _without(units: Iterable[FileUnit], merges: Iterable[_Merge]) -> list[FileUnit]:
    """The plan's files, in their order, with a whole in place of its first part."""
    whole = {each.parts[0].unit.mark: each.whole for each in merges}
    parts = {part.unit.mark for each in merges for part in each.parts}
    return [whole.get(unit.mark, unit) for unit in units if unit.mark in whole or unit.mark not in parts]
