"""An export from plan to counts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkafs.cluster.registry import RegisteredSchema, Registry
from kafkafs.errors import UsageError
from kafkafs.format.cells import NAME, find_cells, payload_of
from kafkafs.format.columns import Records
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_SLOT
from kafkafs.format.schemas.codebook import SchemaName
from kafkafs.log.options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.export import parquet, plan, values
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan import GONE, FileUnit, Plan, Request
from kafkafs.spark.export.registered import TypedValues
from kafkafs.spark.export.tables import Table, table_of
from kafkafs.spark.jobs import Progress, no_progress
from kafkafs.spark.schema_frame import registry_of
from kafkafs.spark.tasks import batches_of, data_loss, records_of
from kafkafs.spark.waiting import nothing

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession


Call = Callable[["_Inference | _Writing"], object]


@dataclass(frozen=True, slots=True)
class Exported:
    """What is there at the end: files, those of this run among them, and records."""

    files: int
    written: int
    records: int
    size: int  # bytes of Parquet
    as_bytes: int = 0  # values that do not fit the columns, where those were asked for


@dataclass(frozen=True, slots=True)
class _Inference:
    """A pass over the values of one file to be."""

    unit: FileUnit
    isolation: Isolation
    registered: bool

    @property
    def weight(self) -> int:
        """Bytes of log that the file is made of, about."""
        return self.unit.weight

    def run(self, registry: Registry) -> values.Kind:
        """The type of all its values that are JSON objects, those of registered schemas decoded; None without any."""
        found: values.Kind = None
        for documents in self._documents(registry):
            found = values.merged(found, values.kind_of_values(documents))
        return found

    def _documents(self, registry: Registry) -> Iterator[Iterable[bytes | None]]:
        lost = data_loss(fail=True, advice=GONE)
        if self.registered:
            for piece in records_of(self.unit.range, self.isolation, lost):
                yield (each.payload for each in named_values(piece, registry, self.unit.topic))
        else:
            for batch in batches_of(self.unit.range, self.isolation, False, lost):
                yield batch.column("value").to_pylist()


@dataclass(frozen=True, slots=True)
class _Writing:
    """The writing of one file."""

    unit: FileUnit
    out: Output
    isolation: Isolation
    compression: str
    kind: values.Kind
    value: str

    @property
    def weight(self) -> int:
        """As of an inference: bytes that are read, not written."""
        return self.unit.weight

    def run(self, registry: Registry) -> None:
        """Writes the file: values as bytes, or as columns of the type that their topic was given."""
        plain = parquet.plain_schema()
        shape: parquet.Shape = parquet.plain
        schema = plain
        if self.value == "json":
            schema = values.shaped_schema(plain, self.kind)
            shape = partial(values.shaped, schema, self.kind)
        elif self.value == "registry":
            typed = TypedValues(self.unit.topic, Table.of_words(self.kind), registry, plain)
            shape, schema = typed.parts, typed.schema
        parquet.write(self.unit, self.out, self.isolation, self.compression, shape, schema)


def _call(registry: "Broadcast[Registry]", unit: _Inference | _Writing) -> object:
    return unit.run(registry.value)


def export(
    spark: "SparkSession",
    out: Output,
    request: Request,
    settled: Plan,
    progress: Progress = no_progress,
    still_ours: Callable[[], None] = nothing,
) -> Exported:
    """Writes what is missing of a request and its plan below `out`, as long as that is `still_ours` (`claim`)."""
    registry = registry_of(request.paths) if request.value == "registry" else Registry()
    if request.value == "registry" and not len(registry):
        raise UsageError("there is no schema: name the data directories that have _schemas-0 too")
    call = partial(_call, spark.sparkContext.broadcast(registry))
    if not settled.is_saved:
        if request.value == "json":
            settled.value_types |= _inferred(spark, request, settled.new_units(), call, progress)
        elif request.value == "registry":
            settled.value_types |= _tables(spark, request, settled.new_units(), registry, call, progress)
        still_ours()
        plan.save(out, request, settled)
    todo = plan.left(out, settled)
    writing = [
        _Writing(
            unit, out, request.isolation, request.compression, settled.value_types.get(unit.topic), request.value
        )
        for unit in todo
    ]  # fmt: skip
    jobs.run(spark, "export", writing, call, progress)
    plan.check_logs(request, settled)  # what was made anew since the plan was made is in some files, perhaps
    still_ours()
    out.tidy()
    sizes = out.sizes()
    files = [unit.file for unit in settled.units]
    missing = [file for file in files if file not in sizes]
    if missing:
        raise UsageError(f"{f'{out}/{missing[0]}'!r} was not written: --to must be a place that all executors share")
    counts = [parquet.counts(out, file) for file in files]
    return Exported(
        len(files), len(todo), sum(rows for rows, _ in counts), sum(sizes[file] for file in files),
        sum(values for _, values in counts),
    )  # fmt: skip


def _inferred(
    spark: "SparkSession", request: Request, units: list[FileUnit], call: Call, progress: Progress
) -> dict[str, values.Kind]:
    """The type of the values of each topic, by a pass over them."""
    passes = [_Inference(unit, request.isolation, request.value == "registry") for unit in units]
    found: dict[str, values.Kind] = {}
    for unit, kind in zip(units, jobs.run(spark, "schema", passes, call, progress), strict=True):
        found[unit.topic] = values.merged(found.get(unit.topic), kind)
    return found


def _tables(
    spark: "SparkSession", request: Request, units: list[FileUnit], registry: Registry, call: Call, progress: Progress
) -> dict[str, object]:
    """The table of each topic, in words; JSON takes a pass over the values."""
    by_topic: dict[str, list[FileUnit]] = {}
    for unit in units:
        by_topic.setdefault(unit.topic, []).append(unit)
    tables = {
        topic: table_of(registry, topic, first_named(some, request.isolation, registry))
        for topic, some in by_topic.items()
    }
    documents = [unit for unit in units if tables[unit.topic].type == "JSON"]
    kinds = _inferred(spark, request, documents, call, progress)
    return {topic: replace(table, kind=kinds.get(topic)).words() for topic, table in tables.items()}


_MOST_ASKED = 100
"""Files in whose first records a topic's first schema is sought."""


class NamedValue(NamedTuple):
    """A value without its prefix, the schema that it names, and what a header holds behind the id."""

    schema: RegisteredSchema
    payload: bytes
    header: bytes | None


def named_values(piece: Records, registry: Registry, topic: str) -> Iterator[NamedValue]:
    """The values that name a schema of the registry, in order."""
    values = find_cells(piece)[0][1::2]
    for cell in values[values[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID]:
        schema = registry.find(SchemaName(*cell[NAME].tolist()), topic, "value")
        if schema is not None:
            yield NamedValue(schema, *payload_of(piece, cell))


def first_named(units: Iterable[FileUnit], isolation: Isolation, registry: Registry) -> Iterator[NamedValue]:
    """Values of the first records of some files, in order."""
    for unit in list(units)[:_MOST_ASKED]:
        piece = next(records_of(unit.range, isolation, data_loss(fail=True, advice=GONE)), None)
        if piece is not None:
            yield from named_values(piece, registry, unit.topic)
