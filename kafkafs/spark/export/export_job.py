"""An export from plan to counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Protocol

from kafkafs.cluster.registry import Registry
from kafkafs.errors import UsageError
from kafkafs.log.read_options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.export import export_plan, learned, parquet
from kafkafs.spark.export.dates import undated
from kafkafs.spark.export.export_plan import GONE, ExportPlan, FileUnit, Request
from kafkafs.spark.export.newer_schemas import new_misfits, newer_schemas
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.settling import check_logs
from kafkafs.spark.export.tallies import TALLIES, Tallies
from kafkafs.spark.jobs import Engine, Progress, Shared, no_progress, nothing
from kafkafs.tables.ranges import data_loss
from kafkafs.tables.registries import registry_with_schemas
from kafkafs.tables.typed import json_values
from kafkafs.tables.typed.json_column import JsonColumn
from kafkafs.tables.typed.kinds import TIMES, Mapped, Pass, ReaderSchema, candidates, kinds, reader_schemas
from kafkafs.tables.typed.registered import RegisteredColumn
from kafkafs.tables.typed.typed_columns import Column, FieldName, column_type


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
        """Both together."""
        return Exported(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


Infer = Callable[[ExportPlan], Mapping[str, object]]
"""The types of the topics of a plan whose values have none yet."""


class PlanStore(Protocol):
    """The place of plans below an output."""

    @property
    def counts(self) -> str:
        """The name of the file with `Tallies`."""

    def agree(self, plan: ExportPlan, infer: Infer) -> Mapping[str, object]:
        """The types of all topics of a plan that have none yet."""

    def save(self, plan: ExportPlan) -> None:
        """Writes the plan down."""

    def is_ours(self, name: str) -> bool:
        """True for a half written file that no other run may be writing."""


@dataclass(frozen=True, slots=True)
class SinglePlanStore:
    """One plan for the whole output."""

    out: Output
    request: Request
    counts: str = TALLIES

    def agree(self, plan: ExportPlan, infer: Infer) -> Mapping[str, object]:
        """See `PlanStore`."""
        return infer(plan)

    def save(self, plan: ExportPlan) -> None:
        """See `PlanStore`."""
        export_plan.save(self.out, self.request, plan)

    def is_ours(self, name: str) -> bool:
        """See `PlanStore`."""
        return bool(name)


@dataclass(frozen=True, slots=True)
class _Writing:
    """The writing of one unit."""

    unit: FileUnit
    out: Output
    isolation: Isolation
    compression: str
    kind: json_values.Kind
    value: str
    has_place_columns: bool

    @property
    def weight(self) -> int:
        """Bytes that are read, not written."""
        return self.unit.weight

    def write(self, registry: Registry) -> None:
        """Writes its files: values as bytes, or as columns of the type that their topic was given."""
        typed: dict[FieldName, Column] = {}
        if self.value == "json":
            typed["value"] = JsonColumn("value", self.kind)
        elif self.value == "registry":
            reader = ReaderSchema.of_words(self.kind)
            kind = column_type(reader.shape())
            typed["value"] = RegisteredColumn("value", self.unit.topic, reader, registry, kind)
        columns = parquet.columns_of(self.unit, typed, self.has_place_columns)
        write_files = parquet.write_dated if self.unit.by else parquet.write
        write_files(self.unit, self.out, self.isolation, self.compression, columns)


def _write(registry: Shared[Registry], unit: _Writing) -> None:
    unit.write(registry.value)


def _infer(registry: Shared[Registry], each: Pass) -> json_values.Kind:
    return each.registered_kind(registry.value)


def export(
    engine: Engine,
    out: Output,
    request: Request,
    settled: ExportPlan,
    progress: Progress = no_progress,
    still_ours: Callable[[], None] = nothing,
    books: PlanStore | None = None,
) -> Exported:
    """Writes what is missing of a request and its plan below `out`, as long as that is `still_ours` (`claims`)."""
    book: PlanStore = books or SinglePlanStore(out, request)
    registry = registry_with_schemas(request.paths) if request.value == "registry" else Registry()
    shared, fresh = jobs.shared(engine, registry), set[str]()
    untyped = settled.new_units() if books is None and request.value in ("json", "registry") else []
    if untyped:
        still_ours()
        book.save(settled)  # with the ranges whose results `learned` keeps
    if untyped or not settled.is_saved:
        mapped: Mapped = partial(jobs.run, engine, "schema", progress=progress)
        mapped = learned.remembering(out, mapped) if untyped else mapped

        def infer(plan: ExportPlan) -> Mapping[str, object]:
            found = _types(plan, request, registry, shared, mapped)
            fresh.update(found)
            return found

        settled.value_types |= book.agree(settled, infer)
        still_ours()
        book.save(settled)
    if untyped:
        learned.forget(out)
    if request.value == "registry":
        settled.gone += newer_schemas(registry, settled.value_types)
    tallies = Tallies(out, book.counts)
    todo = _left(out, settled, tallies)
    writing = [
        _Writing(
            unit, out, request.isolation, request.compression, settled.value_types.get(unit.topic), request.value,
            settled.has_place_columns,
        )
        for unit in todo
    ]  # fmt: skip
    jobs.run(engine, "export", writing, partial(_write, shared), progress)
    check_logs(request, settled)  # a log created again since the plan may be in some files
    still_ours()
    out.tidy(book.is_ours)
    done = _exported(out, settled, todo, tallies)
    settled.gone += new_misfits(_as_bytes(out, [unit for unit in todo if unit.topic not in fresh], tallies))
    return done


def _types(
    plan: ExportPlan,
    request: Request,
    registry: Registry,
    shared: Shared[Registry],
    mapped: Mapped,
) -> Mapping[str, object]:
    lost = data_loss(fail=True, advice=GONE)
    passes = [Pass(unit.range, unit.weight, "value", request.isolation, lost) for unit in plan.new_units()]
    if request.value == "json":
        return kinds(mapped, passes, Pass.kind)
    if request.value == "registry":
        topics = {each.topic for each in passes}
        some = candidates(registry, topics, "value", passes)
        found = reader_schemas(mapped, some, passes, partial(_infer, shared))
        times = ("Timestamp",) if request.for_iceberg else TIMES  # an Iceberg table has no type for a Duration
        return {topic: replace(each, times=each.times and times).words() for topic, each in found.items()}
    return {}


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
