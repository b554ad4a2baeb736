"""`kafkafs export --iceberg TABLE`: the files of an export in an Iceberg table, each of them once.

The table itself knows what it took: the commit that adds files also writes the offsets of each partition up to which
files are in the table, into a property of this export. Both happen or neither, so a run that was killed before the
commit, in it or after it finds out what is left to do. The property outlives the table's own maintenance, which
rewrites files and expires snapshots.

Files have no field ids. The table gets a name mapping, so that columns are found by their names.
"""

import json
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from kafkafs.errors import DiskError, UsageError
from kafkafs.installation import install_command
from kafkafs.spark.export.export_plan import ExportPlan, FileUnit
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.tallies import Tallies
from kafkafs.tables.offsets import TopicPartition

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_PROPERTY = "kafkafs.export."
ATTEMPTS = 10
_NO_BOUNDS = {"write.metadata.metrics.column.timestamp": "counts"}
"""Has pyiceberg add files without their smallest and largest timestamp, of which it makes Python's dates."""

_ELSEWHERE = "name another table"
Taken = dict[TopicPartition, tuple[int, int]]
"""The first offset of each partition that a table took, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The files that one run added to a table."""

    files: int = 0
    records: int = 0


class IcebergTable:
    """A table by its name in the catalogue that pyiceberg's own configuration names. UsageError if there is none."""

    def __init__(self, name: str) -> None:
        self._name = name
        if name.count(".") < 1 or not all(name.split(".")):
            raise UsageError(f"--iceberg {name!r} names no table: write NAMESPACE.TABLE")
        try:
            from pyiceberg.catalog import load_catalog  # takes an extra, and half a second
        except ImportError as error:
            raise UsageError(f"--iceberg takes pyiceberg: {install_command('iceberg')}") from error
        logging.getLogger("pyiceberg").setLevel(logging.ERROR)  # it warns of each column without statistics
        with self._errors_named("cannot be reached"):
            self._catalog: Catalog = load_catalog()

    def check(self, plan: ExportPlan) -> None:
        """UsageError if files of this export cannot go into a table, before any is written."""
        if not plan.has_place_columns:
            raise UsageError(
                "the files of this export have no columns topic and partition, as an earlier release began it;"
                " name a new directory for an export"
            )

    def commit(self, store: PlanStore, plan: ExportPlan) -> Committed:
        """Adds the plan's files that the table has not taken. All of them are written."""
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        self.check(plan)
        out = store.out
        if plan.table != self._name:
            plan.table = self._name
            store.save(plan)  # from here on nothing else rewrites these files
        more: dict[str, str] = {}
        for _ in range(ATTEMPTS):
            store.still_ours()
            with self._errors_named("was not changed"), _new_files_of(out.mode):
                table = self._opened(out, plan)
                taken = _read(None if table is None else table.properties.get(_PROPERTY + plan.id))
                new = _left(plan, taken, self._name)
                if table is None or not new:
                    return Committed()
                _check_others(table, plan.id, new, self._name)
                files = _files(out, new)
                try:
                    with table.transaction() as change:
                        change.set_properties({_PROPERTY + plan.id: _words(taken, new)} | more)
                        if files:
                            places = [f"{out.location}/{name}" for name in files]
                            change.add_files(places, {"kafkafs.export": plan.id})
                except OverflowError:  # a time outside of the years 1 to 9999
                    if more:
                        raise
                    more = _NO_BOUNDS
                    continue
                except ValueError as error:
                    _check_columns(table, out, files, self._name, error)
                    raise
                except (CommitFailedException, CommitStateUnknownException):
                    continue  # another writer was faster, or it is unknown: the table shows what it has
                return Committed(len(files), sum(files.values()))
        raise DiskError(f"the table {self._name!r} changes all the time: the same command goes on from here")

    def _opened(self, out: Output, plan: ExportPlan) -> "Table | None":
        """The table, made if there is none yet; None if there are no files either."""
        from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError

        table: Table
        try:
            table = self._catalog.load_table(self._name)
            return table
        except NoSuchTableError:
            first = next(iter(_files(out, plan.units)), None)
            if first is None:
                return None
            with out.open(first) as file:
                columns = pq.read_schema(file).remove_metadata()
        self._catalog.create_namespace_if_not_exists(self._name.rpartition(".")[0])
        try:
            table = self._catalog.create_table(self._name, columns)
        except TableAlreadyExistsError:
            table = self._catalog.load_table(self._name)
        return table

    @contextmanager
    def _errors_named(self, what: str) -> Iterator[None]:
        """Errors of catalogues and of pyiceberg as one sentence."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (DiskError, UsageError):
            raise
        except Exception as error:  # catalogues are plug-ins, and raise what their libraries raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = " ".join(lines)[:300] or type(error).__name__
            raise UsageError(f"the table {self._name!r} {what}: {reason}") from error


@contextmanager
def _new_files_of(mode: int) -> Iterator[None]:
    """Grant nobody else more of the table's own files than of the export: they hold the bounds of its columns."""
    hidden = sum(7 << shift for shift in (0, 3) if not mode & 4 << shift)
    before = os.umask(0o077)
    os.umask(before | hidden)
    try:
        yield
    finally:
        os.umask(before)


def _read(text: str | None) -> Taken:
    taken = json.loads(text or "{}")
    return {
        TopicPartition(topic, int(number)): (int(start), int(end))
        for topic, partitions in taken.items()
        for number, (start, end) in partitions.items()
    }


def _words(taken: Taken, new: Iterable[FileUnit]) -> str:
    found = dict(taken)
    for unit in new:
        start, end = found.get(unit.partition, (unit.range.start, 0))
        found[unit.partition] = min(start, unit.range.start), max(end, unit.range.end)
    words: dict[str, dict[str, tuple[int, int]]] = {}
    for (topic, partition), offsets in sorted(found.items()):
        words.setdefault(topic, {})[str(partition)] = offsets
    return json.dumps(words, separators=(",", ":"))


def _left(plan: ExportPlan, taken: Taken, name: str) -> list[FileUnit]:
    """The units that the table has not taken."""
    left = []
    for unit in plan.units:
        _, end = taken.get(unit.partition, (0, 0))
        if unit.range.start >= end:
            left.append(unit)
        elif unit.range.end > end:
            raise UsageError(
                f"the table {name!r} took {unit.partition} up to offset {end}, and {unit.file} holds offsets"
                f" on both sides of it; {_ELSEWHERE}"
            )
    return left


def _check_others(table: "Table", export: str, new: Sequence[FileUnit], name: str) -> None:
    """UsageError if the table took such offsets from another export: it would have their records twice."""
    for key, text in table.properties.items():
        if not key.startswith(_PROPERTY) or key == _PROPERTY + export:
            continue
        others = _read(text)
        for unit in new:
            start, end = others.get(unit.partition, (0, 0))
            if start < unit.range.end and unit.range.start < end:
                raise UsageError(
                    f"the table {name!r} has offsets {start} to {end - 1} of {unit.partition} from another"
                    f" export, and would have their records twice; {_ELSEWHERE}"
                )


def _check_columns(table: "Table", out: Output, files: Iterable[str], name: str, error: ValueError) -> None:
    """UsageError if the table lacks a column of a file, or has one of another type."""
    there = {field.name for field in table.schema().fields}
    for each in files:
        with out.open(each) as file:
            lacking = [column for column in pq.read_schema(file).names if column not in there]
        if lacking:
            raise UsageError(
                f"the table {name!r} was not changed: it has no column {', '.join(map(repr, lacking))},"
                f" which {each} has; {_ELSEWHERE}, or add the column to this one"
            ) from error
    if str(error).startswith("Mismatch in fields"):  # the rest of it is a drawn table
        raise UsageError(
            f"the table {name!r} was not changed: it has a column of another type than the new files; {_ELSEWHERE}"
        ) from error


def _files(out: Output, units: Iterable[FileUnit]) -> Mapping[str, int]:
    """The files of units that have records, and how many."""
    there, tallies = out.sizes(), Tallies(out)
    by_unit = [tallies.files_of(unit, there.get(unit.mark, -1)) for unit in units]
    return {name: counts.rows for some in by_unit for name, counts in some.items() if counts.rows}
