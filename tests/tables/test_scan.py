"""`kafkafs.scan`: what a consumer gets, read where the indexes lead, and taken by those who read Arrow."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import kafkafs
from kafkafs.cli.main import main
from kafkafs.errors import KafkafsError, NotFound, UsageError
from kafkafs.log.read_options import Isolation
from kafkafs.sample import unpack
from tests.counting import counted
from tests.kafka.dataset import Dataset, TopicPartition
from tests.kafka.tiered import Tiered
from tests.log.making import made, write_partition
from tests.spark.reading import Row, row, rows_of
from tests.tables.test_missing import one

__all__ = ["one"]
BROKER = Dataset("4.3.1", "stopped")
MINUTE_MS = 60_000
DAY = 3 * 24 * 60  # three records a minute
START_MS = 1_790_000_000_000


def truth(topic: str, isolation: Isolation = "read_uncommitted") -> list[Row]:
    places = [place for place in BROKER.partitions() if place.topic == topic]
    return [row(*place, record) for place in places for record in BROKER.records(*place, isolation)]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_rows_are_those_of_a_consumer(isolation):
    topics = sorted({str(place.topic) for place in BROKER.partitions()})
    assert len(topics) > 30
    for topic in topics:
        found = kafkafs.scan(BROKER.path, topic, isolation=isolation)
        expected = truth(topic, isolation)
        table = found.to_arrow()
        assert rows_of(table) == expected, topic
        assert found.count() == table.num_rows == len(expected), topic
        places = list(zip(*(table.column(name).to_pylist() for name in ("partition", "offset")), strict=True))
        assert places == sorted(places), "in the order that is told"


@pytest.mark.parametrize("topic", ["segments", "disorder", "segments-disorder", "transactions-spread", "partitions"])
def test_times_lead_where_a_broker_leads(topic):
    """Each partition from its first record at or after the start up to its first one at or after the end."""
    records = {place: BROKER.records(*place) for place in BROKER.partitions() if place.topic == topic}
    times = sorted({each.timestamp_ms for some in records.values() for each in some})
    low, high = times[len(times) // 3], times[2 * len(times) // 3]

    def at(place: TopicPartition, moment: int) -> int:
        after = [each.offset for each in records[place] if each.timestamp_ms >= moment]
        return min(after, default=1 << 62)

    expected = [
        row(*place, each)
        for place, some in records.items()
        for each in some
        if at(place, low) <= each.offset < at(place, high)
    ]
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    for start, end in ((low, high), (zero + timedelta(milliseconds=low), str(high))):
        assert rows_of(kafkafs.scan(BROKER.path, topic, start=start, end=end).to_arrow()) == expected


def test_offsets_are_of_each_partition():
    expected = [each for each in truth("partitions") if each[1] != 1 or 2 <= each[2] < 9]
    assert rows_of(kafkafs.scan(BROKER.path, "partitions", start={1: 2}, end={1: 9}).to_arrow()) == expected


def test_a_minute_of_a_topic_reads_that_minute(tmp_path):
    """Of a day at most one byte in a hundred."""
    batches = [made(number, [START_MS + number * 20_000], 10_000) for number in range(DAY)]
    write_partition(tmp_path, {base: batches[base : base + 1000] for base in range(0, DAY, 1000)})
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.log"))
    kafkafs.scan(tmp_path, "t", end=START_MS + 1).to_arrow()  # imports are read from files, too
    for minute in (0, 500, 1439):
        start = START_MS + minute * MINUTE_MS

        def asked(start: int = start) -> pa.Table:
            return kafkafs.scan(tmp_path, "t", start=start, end=start + MINUTE_MS).to_arrow()

        table, read = counted(asked)
        assert table.column("offset").to_pylist() == list(range(minute * 3, minute * 3 + 3))
        assert read < size / 100, f"minute {minute}: {read:,} of {size:,}"


def test_a_window_reads_little_behind_its_end(tmp_path):
    """Regression: reads grew fourfold up to 1 MiB, whatever was left of the window."""
    batches = [made(number * 3, [START_MS + number * 3 + at for at in range(3)], 300) for number in range(900)]
    write_partition(tmp_path, {0: batches})
    window = sum(len(each.data) for each in batches[300:500])
    kafkafs.scan(tmp_path, "t", start={0: 0}, end={0: 1}).to_arrow()  # imports are read from files, too
    found = kafkafs.scan(tmp_path, "t", start={0: 900}, end={0: 1500})
    table, read = counted(found.to_arrow)
    assert table.column("offset").to_pylist() == list(range(900, 1500))
    assert read < window + 100_000, f"{read:,} of {window:,}"


@pytest.mark.parametrize(("topic", "value"), [("orders", "json"), ("readings", "registry"), ("payments", "registry")])
def test_typed_values_are_those_of_an_export(topic, value, tmp_path):
    data = unpack(tmp_path)
    assert main(["export", str(data), "--topics", topic, "--value", value, "--to", str(tmp_path / "out")]) == 0
    found = kafkafs.scan(data, topic, value=value).to_arrow()
    file = ds.dataset(tmp_path / "out", format="parquet").to_table()
    assert found.select(file.column_names) == file
    assert found.column("topic").unique().to_pylist() == [topic]


def test_columns_are_those_that_are_named(tmp_path):
    data = unpack(tmp_path)
    found = kafkafs.scan(data, "orders", value="json", columns=["offset", "valueBytes", "value"]).to_arrow()
    assert found.column_names == ["offset", "valueBytes", "value"]
    text = kafkafs.scan(data, "orders", value="string", key="string", columns=["value", "key"]).to_arrow()
    assert [field.type for field in text.schema] == [pa.string(), pa.string()]


def test_a_tier_is_read_too():
    known: dict[str, Any] = {"start": {0: 0}, "columns": ["partition", "offset", "value"]}
    left = kafkafs.scan(Tiered().left, "orders", tiered=str(Tiered().tier), **known)
    assert left.to_arrow() == kafkafs.scan(Tiered().whole, "orders", **known).to_arrow()


def test_others_take_it_as_it_is():
    found = kafkafs.scan(BROKER.path, "headers")
    assert repr(found).startswith("<kafkafs.scan of 'headers': ")
    whole = found.to_arrow()
    assert pa.table(found) == pa.RecordBatchReader.from_stream(found).read_all() == whole
    assert polars.DataFrame(found).equals(found.to_polars())
    assert found.to_polars()["offset"].to_list() == whole.column("offset").to_pylist()
    assert found.to_pandas()["value"].tolist() == whole.column("value").to_pylist()
    one, two = pa.RecordBatchReader.from_stream(found), pa.RecordBatchReader.from_stream(found)
    assert pa.Table.from_batches([one.read_next_batch()]) == pa.Table.from_batches([two.read_next_batch()])


def test_duckdb_reads_it_by_the_name_of_a_variable():
    duckdb = pytest.importorskip("duckdb")
    found = kafkafs.scan(BROKER.path, "partitions")
    counts = duckdb.sql('SELECT "partition", count(*) FROM found GROUP BY ALL ORDER BY ALL').fetchall()
    places = [each[1] for each in truth("partitions")]
    assert counts == [(number, places.count(number)) for number in sorted(set(places))]
    assert found.count() == len(places)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topic": "nix"}, "there is no topic 'nix' in "),
        ({"value": "avro"}, "value is binary, string, json or registry, not 'avro'"),
        ({"isolation": "committed"}, "isolation='committed' is neither read_uncommitted nor read_committed"),
        ({"replicas": "any"}, "replicas is furthest or refuse, not 'any'"),
        ({"data_dirs": []}, "no data directory is named"),
        ({"data_dirs": "/nowhere/*"}, "no directory matches"),
        ({"data_dirs": "/nowhere"}, "'/nowhere' does not exist"),
        ({"columns": ["offset", "valueBytes"]}, "there is no column 'valueBytes'; the columns are key, value, topic"),
        ({"tiered_key": ["x"]}, "tiered_key"),
        ({"start": {0: 5}, "end": {0: 3}}, "the starting offset 5 of partitions-0 is greater than its ending offset 3"),
        ({"start": 9_000, "end": 8_000}, "the starting timestamp 9000 is greater than the ending timestamp 8000"),
        ({"start": "2126-01-01", "end": "-1h"}, "the starting timestamp 4922899200000 is greater than the ending"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(changes, sentence):
    words: dict[str, Any] = {"data_dirs": BROKER.path, "topic": "partitions"} | changes
    with pytest.raises(KafkafsError) as refused:
        kafkafs.scan(words.pop("data_dirs"), words.pop("topic"), **words)
    assert sentence in str(refused.value)


def test_records_that_are_gone_are_data_loss(tmp_path, caplog):
    write_partition(tmp_path, {10: [made(10, [1, 2, 3])]})
    for start, end in (({0: 5}, None), (None, {0: 20})):
        with pytest.raises(NotFound, match="pass fail_on_data_loss=False to go on without them"):
            kafkafs.scan(tmp_path, "t", start=start, end=end)
        found = kafkafs.scan(tmp_path, "t", start=start, end=end, fail_on_data_loss=False)
        assert found.to_arrow().column("offset").to_pylist() == [10, 11, 12]
    assert [each.getMessage() for each in caplog.records] == [
        "offsets 5 to 9 of t-0 are gone: it starts at 10; going on without them",
        "t-0 ends at offset 13, before 20; going on without them",
    ]


def test_partitions_that_only_the_metadata_have_are_data_loss(one, caplog):
    with pytest.raises(NotFound, match=r"of orders partitions 0, 2 of 3 are not on these disks; name the other"):
        kafkafs.scan(one.path, "orders")
    assert kafkafs.scan(one.path, "orders", fail_on_data_loss=False).count() == 2
    assert "of orders partitions 0, 2 of 3 are not on these disks; going on" in caplog.text


def test_a_library_that_is_missing_is_named(monkeypatch):
    found = kafkafs.scan(BROKER.path, "partitions")
    monkeypatch.setattr("kafkafs.tables.scan.find_spec", lambda _: None)
    for method in (found.to_pandas, found.to_polars):
        with pytest.raises(UsageError, match=r"to_\w+\(\) takes (pandas|polars): pip install "):
            method()


def program(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=300).stdout


def test_importing_kafkafs_costs_nothing_and_scan_takes_no_spark(tmp_path: Path):
    reported = program(
        "import sys; before = set(sys.modules); import kafkafs; print(sorted(set(sys.modules) - before))\n"
        "sys.modules['pyspark'] = None\n"
        f"print(kafkafs.scan({str(unpack(tmp_path))!r}, 'orders').count(), kafkafs.__all__)"
    )
    assert reported == "['kafkafs']\n35 ['__version__', 'scan']\n"


def test_without_arrow_it_says_what_to_install():
    reported = program(
        "import sys; sys.modules['pyarrow'] = None; import kafkafs\n"
        "try: kafkafs.scan\nexcept ImportError as error: print(error)"
    )
    assert reported.startswith("kafkafs.scan takes pyarrow (")
    assert "[tables]" in reported


def test_one_topic_is_scanned_at_a_time(tmp_path):
    """Regression: a list of topics was a TypeError."""
    with pytest.raises(UsageError, match="is not one topic's name"):
        kafkafs.scan(tmp_path, ["a", "b"])  # type: ignore[arg-type]
