"""`kafkafs.scan`: a topic on the disks of its brokers as a table, for notebooks."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkafs.cluster.registry import Registry
from kafkafs.errors import UsageError
from kafkafs.format.records import Records
from kafkafs.log.read_options import Isolation, TierSource
from kafkafs.log.read_options import isolation as level_of
from kafkafs.tables.arrow import BatchMaker, schema, together
from kafkafs.tables.choice import FORMS, REPLICAS, Choice, Form, ReadRequest, Replicas, named_paths, one_of
from kafkafs.tables.local import mapped
from kafkafs.tables.locations import Location
from kafkafs.tables.missing import chosen_here, missing_names, missing_of, missing_sentence
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionLook, PartitionRange, checked_range, planned
from kafkafs.tables.ranges import data_loss, records_of
from kafkafs.tables.registries import registry_with_schemas
from kafkafs.tables.typed.kinds import Pass, kinds, passes_over, reader_schemas
from kafkafs.tables.typed.typed_columns import Columns, FieldName
from kafkafs.tables.typed.typed_field import TypedField
from kafkafs.tables.window import Bound, TopicWindow, offset_at

if TYPE_CHECKING:
    import pandas
    import polars

DataDirectories = str | PathLike[str] | Sequence[str | PathLike[str]]
GO_ON = "pass fail_on_data_loss=False to go on without them"
_NAME_ALL = f"name the other brokers' data directories too, or {GO_ON}"


@dataclass(frozen=True, slots=True)
class _Request(ReadRequest):
    """The request of a scan. `names` are those of the columns, None of all."""

    topic: str = ""
    forms: Mapping[FieldName, Form] = field(default_factory=dict)
    names: tuple[str, ...] | None = None

    def lost(self, what: str) -> None:
        """Hears of records that are gone."""
        data_loss(self.fail_on_data_loss, GO_ON)(what)


class Scan:
    """A part of a topic, fixed when `kafkafs.scan` was called. Each method reads it from the disks again.

    Rows are in the order of partitions, and in the order of offsets within each. DuckDB, Polars, pandas and others
    take the object itself: it is an Arrow stream.
    """

    def __init__(
        self, request: _Request, ranges: Sequence[PartitionRange], typed: Sequence[TypedField], registry: Registry
    ) -> None:
        self._request, self._ranges, self._typed, self._registry = request, ranges, typed, registry
        whole = self._columns(TopicPartition(request.topic, 0)).schema
        self._schema = pa.schema([whole.field(name) for name in request.names or whole.names])

    def __repr__(self) -> str:
        """The topic, and how many offsets of how many partitions."""
        offsets = sum(each.end - each.start for each in self._ranges)
        partitions = len({each.location.name for each in self._ranges})
        return f"<kafkafs.scan of {self._request.topic!r}: {offsets:,} offsets in {partitions:,} partitions>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule of a stream of record batches, in bounded memory."""
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return pa.Table.from_batches(self._batches(), self._schema)

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a data frame of pandas."""
        _need("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """All rows as a data frame of Polars."""
        _need("polars", "to_polars")
        import polars  # only who wants it has it

        found = polars.from_arrow(self.to_arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def count(self) -> int:
        """How many rows there are. Records are decoded, and no columns are made."""
        return sum(len(piece) for each in self._ranges for piece in self._records(each))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        made = together(
            batch
            for each in self._ranges
            for batch in self._columns(each.location.name).batches(self._records(each))
        )  # fmt: skip
        return (batch.select(self._schema.names) for batch in made)

    def _records(self, each: PartitionRange) -> Iterator[Records]:
        return records_of(each, self._request.isolation, self._request.lost)

    def _columns(self, name: TopicPartition) -> Columns:
        maker = BatchMaker(name.topic, name.partition, headers=True, far_as_null=True)
        return Columns(
            maker, schema(True), {each.name: each.column(name.topic, self._registry) for each in self._typed}
        )


def scan(
    data_dirs: DataDirectories,
    topic: str,
    *,
    start: Bound = None,
    end: Bound = None,
    value: Form = "binary",
    key: Form = "binary",
    columns: Iterable[str] | None = None,
    isolation: Isolation = "read_uncommitted",
    replicas: Replicas = "furthest",
    tiered: str = "",
    tiered_key: Sequence[str] = (),
    fail_on_data_loss: bool = True,
) -> Scan:
    """Read a topic, or a part of it, from data directories, without a broker.

    This call fixes the range of offsets of each partition, by the indexes. The methods of the result read the records.

        kafkafs.scan("/var/kafka-logs", "orders", start="-1h", value="json").to_polars()

    data_dirs: one data directory or several (`log.dirs`, several brokers' disks). Globs are allowed.
    start, end: offsets by partition (`{0: 100}`; other partitions are read whole), or a time for all partitions:
        milliseconds since 1970, a datetime, or text as in "2021-09-23T09:43Z", "-1h", "now". `end` is exclusive, and
        may be text such as "+10m".
    value, key: "binary", "string", "json" or "registry". For "json" a pass over the range finds the columns' type. For
        "registry" the schemas in `_schemas-0` give the columns. A value that does not fit is in `valueBytes`; see
        docs/spark.md.
    columns: the names of the columns to return, in this order.
    isolation: "read_uncommitted", or "read_committed", which leaves out aborted and open transactions.
    replicas: if several brokers have replicas of a partition: "furthest" reads the replica whose log reaches furthest,
        "refuse" raises an error.
    tiered, tiered_key: the remote tier with the older segments, as in the options `--tiered` and `--tiered-key`.
    fail_on_data_loss: if False, the scan continues without records that are gone, and logs a warning that names them.

    Raises kafkafs.errors.KafkafsError with a message of one sentence.
    """
    forms: dict[FieldName, Form] = {"key": one_of("key", key, FORMS), "value": one_of("value", value, FORMS)}
    names = columns_named(columns, _every_name(forms))
    wanted = {name: form for name, form in forms.items() if names is None or {*_parts(name, form)} & {*names}}
    level = level_of("isolation", isolation)
    words = [data_dirs] if isinstance(data_dirs, str | PathLike) else data_dirs
    paths = named_paths([fspath(word) for word in words])
    if not paths:
        raise UsageError("no data directory is named")
    if not isinstance(topic, str):
        raise UsageError(f"topic={topic!r} is not one topic's name; scan one topic at a time")
    request = _Request(
        paths, Choice(topics=(topic,)), isolation=level, replicas=one_of("replicas", replicas, REPLICAS),
        tiered=TierSource.parse(tiered, tiered_key), fail_on_data_loss=fail_on_data_loss, topic=topic, forms=wanted,
        names=names,
    )  # fmt: skip
    if missing := missing_of(request):
        data_loss(fail_on_data_loss, _NAME_ALL)(missing_sentence(missing))
    locations = chosen_here(missing, request)
    window = TopicWindow(start, end).without({name.partition for name in missing_names(missing)})
    has_names = "registry" in wanted.values()
    registry = registry_with_schemas(paths) if has_names else Registry()

    ranges, passes = _planned(locations, window, request)
    typed = [
        _typed(name, form, topic, [each for each in passes if each.field == name], registry)
        for name, form in wanted.items()
        if form != "binary"
    ]
    return Scan(request, ranges, typed, registry)


def _planned(
    locations: Mapping[TopicPartition, Location], window: TopicWindow, request: _Request
) -> tuple[list[PartitionRange], list[Pass]]:
    """The ranges to read of the partitions, and the passes over them that find the types of columns."""
    limits = window.limits(locations, time.time_ns() // 1_000_000)
    typed: list[FieldName] = [name for name, form in request.forms.items() if form in ("json", "registry")]

    def plan(look: PartitionLook) -> tuple[PartitionRange, list[Pass]] | None:
        start, end = (offset_at(limit, look) for limit in limits)
        each = checked_range(look, start, end, request.lost)
        return None if each is None else (each, passes_over(each, look, typed, len(locations)))

    found = [each for each in planned(locations, request.isolation, plan).values() if each is not None]
    return [each for each, _ in found], [one for _, some in found for one in some]


_BESIDE: dict[Form, tuple[str, ...]] = {"json": ("Bytes",), "registry": ("Bytes", "Error")}


def _parts(name: FieldName, form: Form) -> list[str]:
    """The columns that keys or values become."""
    return [name, *(f"{name}{word}" for word in _BESIDE.get(form, ()))]


def _every_name(forms: dict[FieldName, Form]) -> list[str]:
    found = list[str]()
    for name in schema(True).names:
        found += _parts(name, forms[name]) if name in forms else [name]
    return found


def columns_named(columns: Iterable[str] | None, there: Iterable[str]) -> tuple[str, ...] | None:
    """The names of the columns that are wanted; None for all. UsageError for one that is not there."""
    if columns is None:
        return None
    if isinstance(columns, str):
        raise UsageError(f"columns={columns!r} is one text; write a list of names")
    wanted, every = tuple(columns), tuple(there)
    for name in wanted:
        if name not in every:
            raise UsageError(f"there is no column {name!r}; the columns are {', '.join(every)}")
    if len(set(wanted)) < len(wanted):
        raise UsageError(f"columns names a column twice: {', '.join(wanted)}")
    return wanted


def _typed(name: FieldName, form: Form, topic: str, passes: Sequence[Pass], registry: Registry) -> TypedField:
    """Settle the type of keys or values."""
    if form == "json":
        return TypedField(name, form, kinds(mapped, passes, Pass.kind).get(topic))
    if form == "string":
        return TypedField(name, form)
    infer = partial(Pass.registered_kind, registry=registry)
    return TypedField(name, form, readers=reader_schemas(mapped, registry, [topic], name, passes, infer))


def _need(library: str, method: str) -> None:
    if find_spec(library) is None:
        raise UsageError(f"{method}() takes {library}: pip install {library}")
