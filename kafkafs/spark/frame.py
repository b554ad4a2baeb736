"""The columns of a read: settled by the driver when the frame is made, and made of records by executors.

Those of Spark's Kafka source, but for keys and values that are to be text or columns of a type (the options `key` and
`value`), with what does not fit beside them, as `export` has it. A schema of one's own names some of the columns, and
the type of one that is typed, so that a stream has the same columns whenever it is started.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from kafkafs.cluster.registry import Registry
from kafkafs.errors import UsageError
from kafkafs.spark.source_options import SourceOptions, forms, schema_options, wants_headers
from kafkafs.spark.tasks import Task
from kafkafs.tables import arrow, planning
from kafkafs.tables.arrow import BatchMaker, together
from kafkafs.tables.choice import Form
from kafkafs.tables.local import mapped
from kafkafs.tables.missing import chosen_here, missing_names, missing_of
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionLook, planned
from kafkafs.tables.ranges import data_loss, records_of
from kafkafs.tables.registries import registry_with_schemas
from kafkafs.tables.typed.json_values import Kind, merged, shape_of
from kafkafs.tables.typed.kinds import Pass, candidates, kinds, passed_over, passes_over, reader_schemas
from kafkafs.tables.typed.reader_schema import NOTHING, ReaderSchema
from kafkafs.tables.typed.typed_columns import Columns, FieldName, column_type
from kafkafs.tables.typed.typed_field import TypedField

_FIELDS: tuple[FieldName, ...] = ("key", "value")


@dataclass(frozen=True)
class Frame:
    """The columns of a read. `names` are the columns that a schema of one's own names, all where there is none."""

    headers: bool = False
    typed: Mapping[FieldName, TypedField] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def schema(self) -> StructType:
        """The schema as Spark asks for it."""
        columns = self._columns(TopicPartition("", 0), Registry()).schema
        made = from_arrow_schema(columns, prefer_timestamp_ntz=True)
        return StructType([made[name] for name in self.names or columns.names])

    def read(self, task: InputPartition) -> Iterator[pa.RecordBatch]:
        """The task's rows, in an executor. Spark hands over an empty partition where there is no task at all."""
        if not isinstance(task, Task):
            return iter(())
        lost = data_loss(task.fail_on_data_loss)
        has_names = any(each.form == "registry" for each in self.typed.values())
        registry = registry_with_schemas(self.paths) if has_names else Registry()
        batches = (
            self._columns(each.location.name, registry).batches(records_of(each, task.isolation, lost))
            for each in task.ranges
        )
        made = together(chain.from_iterable(batches))
        return (batch.select(self.names) for batch in made) if self.names else made

    def _columns(self, name: TopicPartition, registry: Registry) -> Columns:
        maker = BatchMaker(name.topic, name.partition, self.headers)
        typed = {field: each.column(name.topic, registry) for field, each in self.typed.items()}
        return Columns(maker, arrow.schema(self.headers), typed)

    def chosen(self, given: StructType) -> "Frame":
        """Return those of these columns that a schema names, in its order. UsageError if it names others."""
        own = {each.name: each.dataType.simpleString() for each in self.schema}
        for each in given:
            if not each.nullable:
                raise UsageError(f"schema(...) has {each.name} as NOT NULL, and it may be null: leave NOT NULL out")
        for name, kind in ((each.name, each.dataType.simpleString()) for each in given):
            if name not in own:
                raise UsageError(f"schema(...) names the column {name!r}; the columns are {', '.join(own)}")
            if kind != own[name]:
                raise UsageError(f"schema(...) has {name} as {kind}, and it is {own[name]}")
        return replace(self, names=tuple(given.fieldNames()))


def frame_of(options: Mapping[str, str], given: StructType | None = None) -> Frame:
    """The columns that options, what is there, and a schema of one's own ask for. UsageError."""
    asked: dict[FieldName, Form] = dict(zip(_FIELDS, forms(options), strict=True))
    types = {each.name: each.dataType for each in given or ()}
    typed = {
        name: TypedField(name, form)
        for name, form in asked.items()
        if form != "binary" and (given is None or {name, f"{name}Bytes", f"{name}Error"} & types.keys())
    }
    frame = Frame(wants_headers(options), typed)
    if not {"json", "registry"} & set(asked.values()):
        if given not in (None, frame.schema):
            raise UsageError("the schema is fixed: leave schema(...) out, and select columns from what is read")
        return frame
    about = schema_options(options)
    for name in typed:
        if asked[name] != "string":
            typed[name] = (_json if asked[name] == "json" else _registered)(about, name, types.get(name))
    frame = replace(frame, paths=about.paths)
    return frame if given is None else frame.chosen(given)


def _json(options: SourceOptions, name: FieldName, given: DataType | None) -> TypedField:
    """One type for all topics."""
    if given is not None:
        return TypedField(name, "json", kind_of_type(given), type=to_arrow_type(given))
    _, passes = _passes(options, name)
    return TypedField(name, "json", reduce(merged, kinds(mapped, passes, Pass.kind).values(), None))


def kind_of_type(given: DataType) -> Kind:
    """The kind of a column of that type. UsageError for a type that JSON has no values of."""
    match given:
        case StructType():
            return ["object", {field.name: kind_of_type(field.dataType) for field in given}]
        case ArrayType():
            return ["list", kind_of_type(given.elementType)]
    for kind in ("boolean", "long", "double", "string"):
        if from_arrow_type(column_type(shape_of(kind))) == given:
            return kind
    has = "boolean, bigint, double, string, array and struct"
    raise UsageError(f"schema(...) has {given.simpleString()}, and a column of JSON is made of {has}")


def _registered(options: SourceOptions, name: FieldName, given: DataType | None) -> TypedField:
    """A reader schema for each topic. All of them are of one type."""
    registry = registry_with_schemas(options.paths)
    topics, passes = _passes(options, name)
    if given is None:
        infer = partial(Pass.registered_kind, registry=registry)
        found = _with_one_kind(reader_schemas(mapped, registry, topics, name, passes, infer))
    else:
        some = candidates(registry, topics, name, passes)
        found = {topic: next(_fitting(each, given), ReaderSchema()) for topic, each in some.items()}
    types = {topic: _spark_type(reader) for topic, reader in found.items() if reader.shape() != NOTHING}
    if given is not None and not types and given != StringType():
        kind = given.simpleString()
        raise UsageError(
            f"schema(...) has {name} as {kind}, and no schema of {', '.join(sorted(topics))} is such a type"
        )
    ((one, first), *others) = types.items() or [("", pa.string())]
    for topic, another in others:
        if another != first:
            raise UsageError(f"{name}s of {one} and {topic} are of different types: read one topic at a time")
    return TypedField(name, "registry", readers={topic: found[topic] for topic in types}, type=first)


def _with_one_kind(found: Mapping[str, ReaderSchema]) -> dict[str, ReaderSchema]:
    """The reader schemas; those of JSON get the type that all their values have."""
    kind = reduce(merged, (reader.kind for reader in found.values()), None)
    return {topic: replace(reader, kind=kind) if reader.type == "JSON" else reader for topic, reader in found.items()}


def _fitting(readers: Iterable[ReaderSchema], given: DataType) -> Iterator[ReaderSchema]:
    """The reader schemas whose columns have the type `given`: among several versions the one that a query was written
    for. Queries that were written for an earlier release have the times of Protobuf as text."""
    every = list(readers)
    for reader in [*every, *(replace(each, times=()) for each in every if each.times)]:
        if reader.type == "JSON":
            yield replace(reader, kind=kind_of_type(given))
        elif from_arrow_type(_spark_type(reader)).simpleString() == given.simpleString():
            yield reader


def _passes(options: SourceOptions, name: FieldName) -> tuple[set[str], list[Pass]]:
    """The topics that are read, and passes over what is there of them."""
    missing = missing_of(options)  # the read itself says if that is an error
    locations = chosen_here(missing, options)
    options = options.without(missing_names(missing))
    planning.check_named(options.starting, options.ending, locations)

    def passes(look: PartitionLook) -> list[Pass]:
        each = planning.between(options.starting, options.ending, look, passed_over)
        return [] if each is None else passes_over(each, look, [name], len(locations))

    found = planned(locations, options.isolation, passes)
    return {place.topic for place in locations}, [each for some in found.values() for each in some]


def _spark_type(reader: ReaderSchema) -> pa.DataType:
    return as_spark(column_type(reader.shape()))


def as_spark(kind: pa.DataType) -> pa.DataType:
    """The type that Spark takes in place of one: it knows no unsigned numbers, and times in microseconds alone."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_spark(field.type)) for field in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(as_spark(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, as_spark(kind.item_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.decimal128(20, 0) if pa.types.is_uint64(kind) else kind
