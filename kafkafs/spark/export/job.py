"""An export from plan to counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.errors import UsageError
from kafkafs.log.options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.export import parquet, plan, values
from kafkafs.spark.export.plan import FileUnit, Plan, Request
from kafkafs.spark.jobs import Progress, no_progress
from kafkafs.spark.tasks import batches_of, data_loss

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Exported:
    """What is there at the end: files, those of this run among them, and records."""

    files: int
    written: int
    records: int
    size: int  # bytes of Parquet
    as_bytes: int = 0  # values that are no JSON objects, where columns were asked for


@dataclass(frozen=True, slots=True)
class _Inference:
    """A pass over the values of one file to be."""

    unit: FileUnit
    isolation: Isolation

    @property
    def weight(self) -> int:
        return self.unit.weight

    def __call__(self) -> values.Kind:
        found: values.Kind = None
        for batch in batches_of(self.unit.range, self.isolation, False, data_loss(fail=True)):
            found = values.merged(found, values.kind_of_values(batch.column("value").to_pylist()))
        return found


@dataclass(frozen=True, slots=True)
class _Writing:
    """The writing of one file."""

    unit: FileUnit
    out: Path
    isolation: Isolation
    compression: str
    kind: values.Kind | None
    shaped: bool

    @property
    def weight(self) -> int:
        return self.unit.weight

    def __call__(self) -> int:
        schema = parquet.plain_schema()
        if not self.shaped:
            return parquet.write(self.unit, self.out, self.isolation, self.compression, parquet.plain, schema)
        shaped = values.shaped_schema(schema, self.kind)
        return parquet.write(
            self.unit, self.out, self.isolation, self.compression,
            lambda batch: values.shape(parquet.plain(batch), shaped, self.kind), shaped,
        )  # fmt: skip


def _call(unit: "_Inference | _Writing") -> object:
    return unit()


def export(
    spark: "SparkSession", out: Path, request: Request, settled: Plan, progress: Progress = no_progress
) -> Exported:
    """Writes what is missing of a request and its plan below `out`."""
    if not settled.is_saved:
        if request.value == "json":
            settled.value_types |= _inferred(spark, request, settled, progress)
        plan.save(out, request, settled)
    todo = plan.left(out, settled)
    writing = [
        _Writing(
            unit, out, request.isolation, request.compression, settled.value_types.get(unit.topic),
            request.value == "json",
        )
        for unit in todo
    ]  # fmt: skip
    jobs.run(spark, "export", writing, _call, progress)
    files = [out / unit.file for unit in settled.units]
    for directory in {file.parent for file in files}:  # what a run left that was killed
        for unfinished in directory.glob(".*.parquet.*.tmp"):
            unfinished.unlink(missing_ok=True)
    missing = [file for file in files if not file.exists()]
    if missing:
        raise UsageError(f"{str(missing[0])!r} was not written here: --to must be a directory that all executors share")
    size = sum(file.stat().st_size for file in files)
    return Exported(
        len(files), len(todo), sum(map(parquet.rows_in, files)), size, sum(map(parquet.bytes_in, files))
    )  # fmt: skip


def _inferred(spark: "SparkSession", request: Request, settled: Plan, progress: Progress) -> dict[str, values.Kind]:
    """The type of the values of each topic that has none yet."""
    units = [unit for unit in settled.units if unit.topic not in settled.value_types]
    passes = [_Inference(unit, request.isolation) for unit in units]
    found: dict[str, values.Kind] = {}
    for unit, kind in zip(units, jobs.run(spark, "schema", passes, _call, progress), strict=True):
        found[unit.topic] = values.merged(found.get(unit.topic), kind)
    return found
