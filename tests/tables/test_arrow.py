"""Records as Arrow batches, against the records themselves."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Unsupported
from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.tables.arrow import BatchMaker, grouped, groups, rows_and_bytes, schema, together
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.spark.reading import rows_of

_maybe = st.one_of(st.none(), st.binary(max_size=300))
_names = st.one_of(st.text(max_size=8).map(str.encode), st.binary(max_size=8))
_records = st.lists(
    st.builds(
        Record, st.just(0), st.integers(-(2**40), 2**40), st.just(0), _maybe, _maybe,
        st.lists(st.tuples(_names, _maybe), max_size=3).map(tuple),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def numbered(records: list[Record], base: int = 0) -> list[Record]:
    """With offsets one behind the other."""
    return [record._replace(offset=base + number) for number, record in enumerate(records)]


def pieces(*batches: list[Record]) -> list[Records]:
    """What decoding gives of these batches, a piece each."""
    found = []
    for records in batches:
        data = v2_batch(records)
        (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
        assert isinstance(piece, Records)
        found.append(piece)
    return found


def record_batches(some, topic: str, partition: int, headers: bool):
    """The batches of one partition's pieces."""
    return map(BatchMaker(topic, partition, headers).batch, groups(some))


def reported_of(record: Record) -> tuple[tuple[str, bytes | None], ...]:
    """Its headers as Spark has them: names are text, as Kafka's consumer reads it."""
    return tuple((name.decode(errors="replace"), value) for name, value in record.headers)


@given(_records, _records, st.booleans())
def test_a_row_is_its_record(first, second, headers):
    """Null is not empty, a header's name may repeat, and no headers are null as in Spark's own source."""
    first, second = numbered(first), numbered(second, len(first))
    made = list(record_batches(pieces(first, second), "t\u00e4", 3, headers))
    table = pa.Table.from_batches(made, schema(headers))
    assert rows_of(table) == [
        ("t\u00e4", 3, each.offset, each.timestamp, 0, each.key, each.value, reported_of(each) if headers else ())
        for each in [*first, *second]
    ]
    if headers:
        reported = dict(zip(table.column("offset").to_pylist(), table.column("headers").to_pylist(), strict=True))
        assert all((reported[each.offset] is None) == (not each.headers) for each in [*first, *second])


def test_no_records_are_no_batch():
    (piece,) = pieces(numbered([Record(0, 0, 0, None, None)]))
    assert list(record_batches([piece.between(5, 9)], "t", 0, False)) == []
    assert list(groups([piece, piece.between(5, 9)])) == [[piece]]


def test_a_small_batch_holds_no_more_than_its_rows():
    """Regression: constants for 16,384 rows were made for each partition, 10,000 small ones held 3 GB."""
    for name in ("t", "a-topic-of-a-longer-name"):
        (batch,) = record_batches(pieces(numbered([Record(0, 0, 0, None, b"v")] * 3)), name, 1, True)
        assert batch.get_total_buffer_size() < 3000


def test_constants_grow_with_the_batches():
    maker, some = BatchMaker("t", 5, False), pieces(numbered([Record(0, 0, 0, None, b"v")] * 3000))
    for count in (1, 2, 7, 1):
        batch = maker.batch(some * count)
        assert set(zip(batch["topic"].to_pylist(), batch["partition"].to_pylist(), strict=True)) == {("t", 5)}
        assert len(batch) == 3000 * count


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=30), st.integers(1, 8), st.integers(1, 80))
def test_a_group_ends_with_the_item_that_fills_it(items, rows, size):
    """In order, none lost; each but the last is full, and was not before its last item."""

    def is_full(group):
        return sum(item[0] for item in group) >= rows or sum(item[1] for item in group) >= size

    found = list(grouped(items, lambda item: item, rows, size))
    assert [item for group in found for item in group] == items
    assert all(is_full(group) for group in found[:-1])
    assert not any(is_full(group[:-1]) for group in found)
    assert all(found)


@given(st.lists(_records, min_size=1, max_size=5))
def test_small_batches_are_sent_together(batches):
    """Each costs Spark's JVM some milliseconds; a large one stays as it is."""
    many = [numbered(each) for each in batches]
    made = [batch for number, each in enumerate(many) for batch in record_batches(pieces(each), "t", number, False)]
    (one,) = together(made)
    assert pa.Table.from_batches([one]).equals(pa.Table.from_batches(made))
    assert rows_and_bytes(one)[0] == sum(map(len, many))
    assert list(together([])) == []


LAST_MS = (2**63 - 1) // 1000


@pytest.mark.parametrize("timestamp", [LAST_MS, -LAST_MS])
def test_the_last_timestamp_that_spark_knows_is_read(timestamp):
    (batch,) = record_batches(pieces([Record(0, timestamp, 0, None, None)]), "t", 0, False)
    assert batch.column("timestamp").cast("int64").to_pylist() == [timestamp * 1000]


@pytest.mark.parametrize("timestamp", [LAST_MS + 1, 1_600_000_000_000_000_000, -(2**63) + 1_000])
def test_a_timestamp_beyond_sparks_is_refused(timestamp):
    """Regression: nanoseconds where milliseconds belong gave some other date; Spark's own source fails there."""
    records = [Record(0, 1_000, 0, None, None)], [Record(1, timestamp, 0, None, None)]
    with pytest.raises(Unsupported, match=f"offset 1 of t-0 has the timestamp {timestamp} ms"):
        list(record_batches(pieces(*records), "t", 0, False))


def test_a_batch_is_made_without_pandas():
    """Regression: `pa.array` and `pa.scalar` imported it, for 0.3 s in each process of an export."""
    code = (
        "import sys, numpy as np\n"
        "from kafkafs.format.native.layout import RECORD\n"
        "from kafkafs.tables.arrow import BatchMaker, Records\n"
        "piece = Records(np.empty(0, np.uint8), np.zeros(2, RECORD))\n"
        "assert BatchMaker('t\\u00e4', 7, True).batch([piece]).column('topic').to_pylist() == ['t\\u00e4'] * 2\n"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
