"""`kafkafs export --compact`: small files of an export become large ones, and each record is there once.

Neighbours in the plan are put together as long as their log is not more than the `--file-mb` of the export. A larger
file is written first under a hidden name, which no reader takes. Then a journal names all that is about to change, and
the plan as it will be: from there on the change happens, even after a kill. Large files get their names, small ones are
removed, the plan is written, and last the journal goes. Each step can be done again, and `finish` does so at the
beginning of each run to this place. All of it happens under a claim (`claims`). An export by leader has a plan for each
partition, and so a journal for each.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet as pq

from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.export import export_plan
from kafkafs.spark.export.export_plan import LED, PLAN, FileUnit, file_of, units_of, words_of
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.parquet import Counts, FileWriter
from kafkafs.spark.export.tallies import Tallies
from kafkafs.spark.jobs import Progress, Step, no_progress, nothing
from kafkafs.tables.offsets import TopicPartition

JOURNAL = "_kafkafs_export.compacting"
_HIDDEN = ".compacted"
_ROUND_BYTES = 4 << 30  # bytes of log: their larger files are written before the small ones go
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


def finish(out: Output, plan_name: str = PLAN) -> None:
    """Completes what a compaction had decided when it was ended."""
    journal = journal_of(plan_name)
    text = out.read(journal)
    if text is None:
        return
    try:
        decided = json.loads(text)
        new, old = list(decided["new"]), list(decided["old"])
        plan = decided["plan"]
        if not all(map(_is_ours, (*new, *old))) or not isinstance(plan, dict):
            raise ValueError(decided)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise UsageError(
            f"'{out}/{journal}' is not what a compaction wrote; name a new directory for an export"
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
    out.write_json(plan_name, plan)
    out.remove(journal)


def journal_of(plan_name: str) -> str:
    """The name of a compaction's journal beside a plan."""
    return JOURNAL if plan_name == PLAN else plan_name.removesuffix(".json") + ".compacting"


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
    there = sorted(out.sizes())
    led = [name for name in there if name.startswith(f"{LED}/") and "/partition=" in name]
    names = [PLAN] if PLAN in there else sorted({name.rpartition(".")[0] + ".json" for name in led})
    for name in names:
        finish(out, name)
    if not names:
        raise UsageError(f"{str(out)!r} holds no export: it has no {PLAN}")
    for name in there:
        if name.endswith(_HIDDEN):
            out.remove(name)  # a compaction that was ended before its decision left it
    plans = [_Compaction(out, name) for name in names]
    sizes = out.sizes()
    merges = [(plan, each) for plan in plans for each in plan.merges(sizes)]
    total, done = sum(each.whole.weight for _, each in merges), 0
    count = before = after = rows = 0
    for plan, some in _rounds(merges):
        new: list[str] = []
        for each in some:
            counted = _write(out, each, plan.plan["request"]["compression"])
            new += sorted({each.whole.mark, *counted})
            done += each.whole.weight
            before += sum(len(part.files) for part in each.parts)
            after += len(counted)
            rows += sum(one.rows for one in counted.values())
            count += 1
            progress(Step("compact", count, len(merges), done, total))
        plan.change(some, new, still_ours)
    return Compacted(before, after, rows)


class _Compaction:
    """One plan and its units, which become fewer."""

    def __init__(self, out: Output, name: str) -> None:
        self._out, self._name = out, name
        self.plan, self._units = units_of(out, out.read(name) or b"", name)
        if self.plan.get("table"):
            raise UsageError(
                f"the files in {str(out)!r} belong to the table {self.plan['table']}: compact that table with its own"
                " tools"
            )

    def merges(self, there: Mapping[str, int]) -> list[_Merge]:
        """Neighbours among the files there that together are not more than a file of the export."""
        tallies, limit = Tallies(self._out), int(self.plan["request"]["fileBytes"])
        by_partition: defaultdict[TopicPartition, list[FileUnit]] = defaultdict(list)
        for unit in self._units:
            by_partition[unit.partition].append(unit)
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

    def change(self, merges: Sequence[_Merge], new: Sequence[str], still_ours: Callable[[], None]) -> None:
        """Puts the written files `new` in the place of the old ones."""
        self._units = _without(self._units, merges)
        self.plan["files"] = [words_of(unit) for unit in self._units]
        old = sorted({name for each in merges for name in each.old} - {*new})
        still_ours()
        self._out.write_json(journal_of(self._name), {"new": new, "old": old, "plan": self.plan})
        finish(self._out, self._name)


def _merge(group: Sequence[_Written]) -> list[_Merge]:
    if len(group) < 2:
        return []
    last = group[-1].unit
    place = replace(last.range, start=group[0].unit.range.start)
    weight = sum(each.unit.weight for each in group)
    return [_Merge(tuple(group), replace(last, range=place, weight=weight, file=file_of(place)))]


def _rounds(merges: Iterable[tuple[_Compaction, _Merge]]) -> Iterator[tuple[_Compaction, list[_Merge]]]:
    """Merges of one plan at a time, of so many bytes together."""
    for plan, group in groupby(merges, key=itemgetter(0)):
        some: list[_Merge] = []
        for _, each in group:
            some.append(each)
            if sum(one.whole.weight for one in some) >= _ROUND_BYTES:
                yield plan, some
                some = []
        if some:
            yield plan, some


def _write(out: Output, each: _Merge, compression: str) -> dict[str, Counts]:
    """Writes the larger files under hidden names: their counts by their names."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    last = each.whole.file.rpartition("/")[2]
    for part in each.parts:
        for name in part.files:
            by_name[f"{name.rpartition('/')[0]}/{last}"].append(name)
    counted = {name: _write_file(out, name, files, compression) for name, files in by_name.items()}
    if each.whole.by:
        out.write_json(hidden(each.whole.mark), counted)
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
