"""Which records a selection takes: fields, names of headers, and the opposite of it all."""

from kafkafs.format.batches import walk
from kafkafs.format.records import Records, decode
from kafkafs.search.pattern import Pattern
from kafkafs.search.selection import Selection
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

RECORDS = [
    Record(0, 1, 0, b"key", b"value"),
    Record(1, 1, 0, None, b"key"),
    Record(2, 1, 0, b"\xffkey", None),
    Record(3, 1, 0, b"", b""),
]


def taken(selection: Selection) -> list[int]:
    data = v2_batch(RECORDS)
    (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    return [int(offset) for offset in selection.of(piece).rows["offset"]]


def test_only_the_fields_asked_for_count():
    key = Pattern("key", fixed=True)
    assert taken(Selection(key)) == [0, 1, 2]
    assert taken(Selection(key, value=False)) == [0, 2]
    assert taken(Selection(key, key=False)) == [1]
    assert taken(Selection(key, inverted=True)) == [3]
    assert taken(Selection(Pattern("^key$"))) == [0, 1]
    assert taken(Selection(Pattern(""))) == [0, 1, 2, 3]
