"""The options `key` and `value`: frames beside what an export writes, and beside the objects that were produced."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark import cloudpickle
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafkafs.errors import UsageError
from kafkafs.sample import unpack
from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.spark.frame import frame_of
from kafkafs.spark.session import in_one_sentence
from kafkafs.spark.source import KafkafsDataSource
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.cluster.writing import Data
from tests.kafka import registered
from tests.kafka.broker import Broker
from tests.kafka.dataset import Dataset
from tests.kafka.registered import avro, prefix
from tests.kafka.topics.formats import VERSIONS
from tests.kafka.writer import Record, Topic, Writer, create
from tests.spark import packages
from tests.spark.reading import frame
from tests.spark.streams import finish

OLD = Dataset("2.8.0", "stopped")
TYPED = ["every", "users", "orders", "raw", "gone", "removed", "tenants", "karapace", "paid", "documents"]


@pytest.fixture(scope="module")
def exported(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an export by registry of all those topics, and of one by JSON."""
    place = tmp_path_factory.mktemp("exported")
    for value, topics in (("registry", TYPED), ("json", ["documents"])):
        whole = Choice(topics=tuple(topics)), AllAt(EARLIEST), AllAt(LATEST)
        request = Request((registered.data(),), *whole, value=value)
        out = output(str(place / value))
        assert export(spark, PlanStore(out, request), settle(out, request)).records > 0
    return place


@pytest.mark.parametrize(("topic", "value"), [*((each, "registry") for each in TYPED), ("documents", "json")])
def test_a_frame_is_what_an_export_writes(topic: str, value: str, exported: Path, spark: SparkSession) -> None:
    """Of Avro, Protobuf and JSON that a broker has on disk: the columns, their types, and what does not fit."""
    written = spark.read.parquet(str(exported / value / f"topic={topic}"))
    read = frame(spark, registered.data(), subscribe=topic, value=value, includeHeaders=True)
    own = [name for name in read.columns if name.startswith("value")]
    assert own == [name for name in written.columns if name.startswith("value")]
    assert dict(read.dtypes).items() >= {name: kind for name, kind in written.dtypes if name in own}.items()
    columns = ["offset", "key", "headers", *own]
    assert same(read.select(columns), written.select(columns))


def same(one: DataFrame, other: DataFrame) -> bool:
    """The same rows in the order of their offsets, where NaN is NaN."""
    return repr(one.orderBy("offset").collect()) == repr(other.orderBy("offset").collect())


def test_a_stream_is_what_a_batch_is(spark: SparkSession, tmp_path: Path) -> None:
    place = registered.data()
    options = {"subscribe": "orders", "key": "registry", "value": "registry", "path": str(place)}
    stream = spark.readStream.format("kafkafs").options(**options).option("startingOffsets", "earliest").load()
    batch = frame(spark, place, **{name: each for name, each in options.items() if name != "path"})
    assert stream.dtypes == batch.dtypes
    assert [row["key"] for row in batch.orderBy("offset").collect()][:2] == [77, 77]
    into_parquet(stream, tmp_path)
    assert same(spark.read.parquet(str(tmp_path / "out")), batch)


def into_parquet(stream: DataFrame, place: Path) -> None:
    """What a stream finds now, written by Spark; a second call goes on from there."""
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    finish(lambda: writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination())


ORDER = {"type": "record", "name": "Order", "fields": [
    {"name": "customer", "type": "string"}, {"name": "amount", "type": "double"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "lines", "type": {"type": "array", "items": ["null", "long", "string"]}},
    {"name": "sizes", "type": {"type": "map", "values": ["null", "float"]}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "crc", "type": {"type": "fixed", "name": "Crc", "size": 4}},
]}  # fmt: skip
LATER = ORDER | {"fields": [{"name": "amount", "type": "double"}, {"name": "note", "type": "string", "default": "-"}]}
FORMATS = {"old": "v0", "middle": "v1", "new": "v2"}


def order(number: int) -> dict[str, Any]:
    at = datetime(2026, 11, 25) + timedelta(milliseconds=number)
    return {
        "customer": f"customer-{number}", "amount": number + 0.5, "price": Decimal(number).scaleb(-2),
        "at": at.replace(tzinfo=UTC), "lines": [None, number, "tea"], "sizes": {"a": 0.5, "b": None},
        "state": "PAID" if number % 2 else "NEW", "crc": number.to_bytes(4),
    }  # fmt: skip


def as_row(number: int) -> dict[str, Any]:
    """An order as Spark has it in Python: local times without a zone, unions of several types as objects."""
    order_row = order(number)
    members = [None, {"member0": number, "member1": None}, {"member0": None, "member1": "tea"}]
    return order_row | {
        "at": order_row["at"].astimezone().replace(tzinfo=None),
        "lines": members,
        "crc": bytearray(order_row["crc"]),
    }


def register(writer: Writer, *versions: Mapping[str, Any]) -> None:
    """In the registry's topic, with the ids 1, 2, ..., and a key's schema with 10."""
    order_row = [
        registered.registered(f"{topic}-value", number, number, json.dumps(schema))
        for topic in FORMATS
        for number, schema in enumerate(versions, 1)
    ]
    order_row += [registered.registered(f"{topic}-key", 1, 10, '"long"') for topic in FORMATS]
    writer.batch("_schemas", [Record(value, key) for key, value in order_row])


def beside_sparks_own(spark: SparkSession, place: Path) -> tuple[DataFrame, DataFrame]:
    """The orders that are in Avro, by the option and by `from_avro`."""
    spark.sql(f"ADD JAR '{packages.avro()}'")
    ours = frame(spark, place, subscribe="new", value="registry").where("value IS NOT NULL").select("offset", "value")
    plain = frame(spark, place, subscribe="new").where("substring(value, 1, 5) = X'0000000001'")
    theirs = plain.selectExpr("offset", f"from_avro(substring(value, 6), '{json.dumps(ORDER)}', map()) AS value")
    assert ours.dtypes == theirs.dtypes
    return ours, theirs


@pytest.fixture
def node(running_broker) -> Broker:
    """A broker that writes all three formats of records, with an order of each kind in each."""
    node: Broker = running_broker("2.8.0")
    topics = {topic: Topic(settings={"message.format.version": VERSIONS[name]}) for topic, name in FORMATS.items()}
    create(node, topics | {"_schemas": Topic(settings={"cleanup.policy": "compact"})})
    writer = Writer(node, "gzip")
    register(writer, ORDER)
    for topic in FORMATS:
        records = [Record(prefix(1) + avro(ORDER, order(each)), prefix(10) + avro("long", each)) for each in range(50)]
        writer.batch(topic, [*records, Record(b"no order", b"no number"), Record(None)])
    return node


def test_orders_are_the_orders_that_were_produced(node: Broker, spark: SparkSession, tmp_path: Path) -> None:
    """In every record format, in SQL, and in a stream whose schema goes on meanwhile."""
    every = frame(spark, node.data, subscribe=",".join(FORMATS), key="registry", value="registry")
    for topic in FORMATS:
        rows = every.where(f"topic = '{topic}'").orderBy("offset").collect()
        assert [row["key"] for row in rows] == [*range(50), None, None]
        assert [row["value"] and row["value"].asDict(True) for row in rows] == [*map(as_row, range(50)), None, None]
        assert [row["valueBytes"] for row in rows[50:]] == [b"no order", None]
        assert [row["keyBytes"] for row in rows[50:]] == [b"no number", None]
        assert [row["valueError"] is None for row in rows] == [True] * 50 + [False, True]
    assert same(*beside_sparks_own(spark, node.data))
    options = f"path '{node.data}', subscribe 'old,new', value 'registry'"
    spark.sql(f"CREATE TEMPORARY VIEW orders USING kafkafs OPTIONS ({options})")
    try:
        query = "SELECT sum(value.amount), count(value), count(*) FROM orders WHERE value.customer <> 'customer-7'"
        found = spark.sql(query).head()
    finally:
        spark.sql("DROP VIEW orders")
    expected = 2 * sum(order(each)["amount"] for each in range(50) if each != 7)
    assert found is not None
    assert tuple(found) == (expected, 98, 98)

    def stream(reader: Any) -> DataFrame:
        named = reader.format("kafkafs").options(path=str(node.data), subscribe="new", value="registry")
        return cast("DataFrame", named.option("startingOffsets", "earliest").load())

    first = stream(spark.readStream)
    into_parquet(first, tmp_path)
    writer = Writer(node)
    register(writer, ORDER, LATER)
    writer.batch("new", [Record(prefix(2) + avro(LATER, {"amount": 0.25, "note": "n"}))])
    writer.batch("new", [Record(prefix(1) + avro(ORDER, order(60)))])
    assert dict(stream(spark.readStream).dtypes)["value"] == "struct<amount:double,note:string>"
    kept = stream(spark.readStream.schema(first.schema))
    assert kept.dtypes == first.dtypes
    into_parquet(kept, tmp_path)
    last = spark.read.parquet(str(tmp_path / "out")).where("offset >= 52").orderBy("offset").collect()
    assert [row["value"] and row["value"].asDict(True) for row in last] == [None, as_row(60)]
    assert last[0]["valueError"] is not None, "it has no customer, and no default for one"
    late = frame(spark, node.data, subscribe="new", value="registry").where("offset >= 49").orderBy("offset").collect()
    notes = [row["value"] and row["value"].asDict() for row in late]
    assert notes == [{"amount": 49.5, "note": "-"}, None, None, {"amount": 0.25, "note": "n"},
                     {"amount": 60.5, "note": "-"}]  # fmt: skip


@pytest.mark.parametrize("topic", ["mixed-formats", "v0-lz4", "v1-gzip", "binary"])
def test_text_is_what_a_consumer_for_text_gets(topic: str, spark: SparkSession) -> None:
    """`StringDeserializer` replaces what is no UTF-8; no record ends the job, nor the program that takes rows."""
    read = frame(spark, OLD.path, subscribe=topic, key="string", value="string")
    columns = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert read.columns == columns

    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode(errors="replace")

    rows = [tuple(each.values()) for each in read.select("offset", "key", "value").toArrow().to_pylist()]
    assert sorted(rows) == [(each.offset, text(each.key), text(each.value)) for each in OLD.records(topic, 0)]


def test_a_schema_of_ones_own_chooses_columns(spark: SparkSession) -> None:
    """What it does not name is not made: of an Avro topic the values alone, in the order of the schema."""
    options = {"path": str(registered.data()), "subscribe": "orders", "key": "registry", "value": "registry"}
    given = "offset bigint, value struct<id: bigint, note: string>"
    read = spark.read.format("kafkafs").options(**options).schema(given).load()
    assert read.columns == ["offset", "value"]
    assert [(row[0], row[1] and tuple(row[1])) for row in read.orderBy("offset").collect()] == [
        (0, (1, "-")), (1, (2, "n")), (2, None),
    ]  # fmt: skip
    assert set(frame_of(options, read.schema).typed) == {"value"}
    older = spark.read.format("kafkafs").options(**options).schema("value struct<id: bigint>").load()
    assert sorted(row[0]["id"] for row in older.collect() if row[0]) == [1, 2], "by the schema's first version"


def test_json_takes_the_type_it_is_given(spark: SparkSession) -> None:
    options = {"path": str(registered.data()), "subscribe": "documents", "value": "json"}
    given = "valueBytes binary, value struct<big: string, a: bigint>"
    read = spark.read.format("kafkafs").options(**options).schema(given).load()
    found = [tuple(row["value"]) for row in read.where("value IS NOT NULL").collect()]
    assert found == [("123456789012345678901234567890", 2)]


def test_json_is_what_from_json_makes(spark: SparkSession, tmp_path: Path) -> None:
    """Of the orders of the sample, by the type that was found in them; and the same of text."""
    place = unpack(tmp_path)
    ours = frame(spark, place, subscribe="orders", value="json")
    kind = dict(ours.dtypes)["value"]
    assert kind == "struct<amount:bigint,item:string,note:string,order:bigint,price:string>"
    text = frame(spark, place, subscribe="orders", value="string")
    theirs = text.selectExpr("partition", "offset", f"from_json(value, '{kind}') AS value")
    found = ours.where("value IS NOT NULL")
    assert found.count() == 32, "but for a cut order, a null and bytes that are no text"
    places = ["partition", "offset"]
    assert same(found.select(*places, "value"), theirs.join(found, places, "left_semi"))


def test_json_of_several_topics_has_the_fields_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """Topics whose fields differ are read together, and no value is lost."""
    data = Data(tmp_path)
    data.write("a-0", [(None, b'{"id": 1, "name": "x"}'), (None, b"no json")])
    data.write("b-0", [(None, b'{"id": "k", "at": 1.5}')])
    read = frame(spark, tmp_path, subscribe="a,b", value="json")
    assert dict(read.dtypes)["value"] == "struct<at:double,id:string,name:string>"
    found = [
        (row["value"] and tuple(row["value"]), row["valueBytes"]) for row in read.orderBy("topic", "offset").collect()
    ]
    assert found == [((None, "1", "x"), None), (None, b"no json"), ((1.5, "k", None), None)]


DISK = {"subscribe": "orders"}
REFUSED: list[tuple[dict[str, str], str | None, str]] = [
    ({"value": "avro"}, None, "value is binary, string, json or registry, not 'avro'"),
    ({"values": "json"}, None, "there is no option 'values'; did you mean value?"),
    (
        {"value": "registry", "path": str(OLD.path), "subscribe": "binary"},
        None, "name the data directories that have _schemas-0",
    ),
    ({"value": "registry", "subscribe": "orders,users"}, None, "read one topic at a time"),
    ({"value": "json"}, "value struct<a: timestamp>", "boolean, bigint, double, string, array and struct"),
    ({"value": "registry"}, "value struct<id: int>", "no schema of orders is such a type"),
    ({"value": "registry"}, "price double", "schema(...) names the column 'price'"),
    ({"value": "registry"}, "offset bigint not null", "schema(...) has offset as NOT NULL, and it may be null"),
    ({"value": "registry"}, "offset int", "schema(...) has offset as int, and it is bigint"),
    ({"value": "string"}, "value string", "the schema is fixed"),
    ({}, "value string", "the schema is fixed"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "given", "sentence"), REFUSED)
def test_what_contradicts_is_refused(
    options: dict[str, str], given: str | None, sentence: str, spark: SparkSession
) -> None:
    del spark  # by which it parses a schema
    source = KafkafsDataSource(DISK | {"path": str(registered.data())} | options)
    with pytest.raises(UsageError, match=re.escape(sentence)) as raised:
        source.reader(cast("StructType", StructType.fromDDL(given)) if given is not None else source.schema())
    assert "\n" not in str(raised.value)


def test_spark_tells_it_in_the_same_sentence(spark: SparkSession) -> None:
    reader = spark.read.format("kafkafs").options(**DISK, path=str(registered.data()), value="registry")
    with pytest.raises(AnalysisException) as raised:
        reader.schema("price double").load().count()
    assert "schema(...) names the column 'price'" in str(in_one_sentence(raised.value))


def test_no_secret_goes_to_executors() -> None:
    """A job that was written for a broker has its password among the options; executors get a reader and its tasks."""
    options = DISK | {"path": str(registered.data()), "value": "registry", "kafka.sasl.jaas.config": "hunter2"}
    source = KafkafsDataSource(options)
    for reader in (source.reader(source.schema()), source.streamReader(source.schema())):
        assert b"hunter2" not in cloudpickle.dumps(reader)


@pytest.mark.usefixtures("spark")
def test_a_query_of_an_earlier_release_goes_on_with_its_times_as_text() -> None:
    """Protobuf's `Timestamp` was text; a schema that says so still fits."""
    options = {"path": str(registered.data()), "subscribe": "paid", "value": "registry"}
    now = frame_of(options).schema.simpleString()
    assert "paid_at:timestamp" in now
    for given in (now, now.replace("paid_at:timestamp", "paid_at:string")):
        assert frame_of(options, cast("StructType", StructType.fromDDL(given))).schema.simpleString() == given


def test_a_topic_without_records_has_the_columns_of_its_subject() -> None:
    """A stream that begins before the first record has to know them."""
    options = {"path": str(registered.data()), "subscribe": "orders", "value": "registry"}
    nothing = frame_of(options | {"startingOffsets": '{"orders":{"0":3}}', "endingOffsets": '{"orders":{"0":3}}'})
    assert nothing.schema == frame_of(options).schema
    with pytest.raises(UsageError, match="there is no topic 'nowhere'"):
        frame_of(options | {"subscribe": "nowhere"})
