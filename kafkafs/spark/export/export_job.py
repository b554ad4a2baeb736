"""An export from plan to counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from kafkafs.cluster.registry import Registry
from kafkafs.errors import UsageError
from kafkafs.log.read_options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.export import parquet
from kafkafs.spark.export.dates import undated
from kafkafs.spark.export.export_plan import ExportPlan, FileUnit
from kafkafs.spark.export.newer_schemas import new_misfits, newer_schemas
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan_store import FirstPass, PlanStore
from kafkafs.spark.export.settling import check_logs
from kafkafs.spark.export.tallies import Tallies
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.tables.registries import registry_with_schemas
from kafkafs.tables.typed.reader_schema import ReaderSchema
from kafkafs.tables.typed.typed_columns import Column, FieldName
from kafkafs.tables.typed.typed_field import TypedField


@dataclass(frozen=True, slots=True)
class Exported:
    """The result at the end: all files, the files of this export among them, and records."""

    files: int
    written: int
    records: int
    size: int  # bytes of Parquet
    as_bytes: int = 0  # values that do not fit the columns, where those were asked for
    without_time: int = 0  # records whose timestamp no column can hold: it is null

    def __add__(self, other: "Exported") -> "Exported":
        """The sum of two results."""
        return Exported(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class _Writing:
    """The writing of one unit."""

    unit: FileUnit
    out: Output
    isolation: Isolation
    compression: str
    typed: TypedField | None
    has_place_columns: bool

    @property
    def weight(self) -> int:
        """Bytes that are read, not written."""
        return self.unit.weight


def _write(registry: Callable[[], Registry], writing: _Writing) -> None:
    """Writes the files of a unit: values as bytes, or as columns of the type that their topic was given."""
    unit, typed = writing.unit, dict[FieldName, Column]()
    if writing.typed is not None:
        typed["value"] = writing.typed.column(unit.topic, registry())
    columns = parquet.columns_of(unit, typed, writing.has_place_columns)
    parquet.write(unit, writing.out, writing.isolation, writing.compression, columns)


def export(engine: Engine, store: PlanStore, settled: ExportPlan, progress: Progress = no_progress) -> Exported:
    """Writes what is missing of a plan below the output of its store."""
    out, request = store.out, store.request
    registry = registry_with_schemas(request.paths) if request.value == "registry" else Registry()
    shared = jobs.shared(engine, registry)
    first = FirstPass(request, registry, shared, partial(jobs.run, engine, "schema", progress=progress))
    store.settle_types(settled, first)
    if request.value == "registry":
        settled.gone += newer_schemas(registry, settled.value_types)
    tallies = Tallies(out, store.counts)
    todo = _left(out, settled, tallies)
    typed = {topic: _typed(request.value, topic, settled) for topic in {unit.topic for unit in todo}}
    writing = [
        _Writing(unit, out, request.isolation, request.compression, typed[unit.topic], settled.has_place_columns)
        for unit in todo
    ]
    jobs.run(engine, "export", writing, partial(_write, shared), progress)
    check_logs(request, settled)  # a log created again since the plan may be in some files
    store.still_ours()
    out.tidy(store.is_ours)
    done = _exported(out, settled, todo, tallies)
    settled.gone += new_misfits(_as_bytes(out, [unit for unit in todo if unit.topic not in first.fresh], tallies))
    return done


def _typed(value: str, topic: str, settled: ExportPlan) -> TypedField | None:
    """A topic's values by the type that the plan has for them; None for bytes."""
    kind: Any = settled.value_types.get(topic)
    if value == "registry":
        return TypedField("value", "registry", readers={topic: ReaderSchema.of_words(kind)})
    return TypedField("value", "json", kind) if value == "json" else None


def _left(out: Output, settled: ExportPlan, tallies: Tallies) -> list[FileUnit]:
    """The units that are not written yet: a mark is lacking, or a file that it names."""
    there = out.sizes()
    left = [
        unit
        for unit in settled.units
        if unit.mark not in there or (unit.by and not tallies.files_of(unit, there[unit.mark]).keys() <= there.keys())
    ]
    for unit in left:
        tallies.forget(unit)
    return left


def _as_bytes(out: Output, units: Iterable[FileUnit], tallies: Tallies) -> Mapping[str, int]:
    """The number of values that stayed bytes in the files of units, by topic."""
    sizes, found = out.sizes(), Counter[str]()
    for unit in units:
        found[unit.topic] += sum(each.as_bytes for each in tallies.files_of(unit, sizes[unit.mark]).values())
    return found


def _exported(out: Output, settled: ExportPlan, written: Iterable[FileUnit], tallies: Tallies) -> Exported:
    """The result at the end. UsageError if something that was written is not."""
    sizes, new = out.sizes(), {unit.file for unit in written}
    missing = [unit.mark for unit in settled.units if unit.mark not in sizes]
    counted: dict[str, parquet.Counts] = {}
    if not missing:
        for unit in settled.units:
            counted |= tallies.files_of(unit, sizes[unit.mark])
        missing = [name for name in counted if name not in sizes]
    if missing:
        raise UsageError(f"{f'{out}/{missing[0]}'!r} was not written: --to must be a place that all executors share")
    parquet.remove_strays(out, settled, sizes, counted)
    tallies.save()
    return Exported(
        len(counted), sum(undated(name) in new for name in counted), sum(each.rows for each in counted.values()),
        sum(sizes[name] for name in counted), sum(each.as_bytes for each in counted.values()),
        sum(each.without_time for each in counted.values()),
    )  # fmt: skip
