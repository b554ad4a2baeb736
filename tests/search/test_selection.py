"""Which records a selection takes: fields, names of headers, and the opposite of it all."""

from collections.abc import Iterator

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.log.batch_runs import BatchRun
from kafkafs.search.pattern import Pattern
from kafkafs.search.selection import FieldMaker, Selection
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

RECORDS = [
    Record(0, 1, 0, b"key", b"value"),
    Record(1, 1, 0, None, b"key"),
    Record(2, 1, 0, b"\xffkey", None),
    Record(3, 1, 0, b"", b""),
]


DATA = v2_batch(RECORDS)
ROWS = walk(DATA, 0).rows


def taken(selection: Selection, maker: FieldMaker | None = None) -> list[int]:
    (piece,) = decode(DATA, 0, ROWS, 1 << 20)
    assert isinstance(piece, Records)
    return [int(offset) for offset in selection.of(piece, maker).rows["offset"]]


def test_only_the_fields_asked_for_count():
    key = Pattern("key", fixed=True)
    assert taken(Selection(key)) == [0, 1, 2]
    assert taken(Selection(key, value=False)) == [0, 2]
    assert taken(Selection(key, key=False)) == [1]
    assert taken(Selection(key, inverted=True)) == [3]
    assert taken(Selection(Pattern("^key$"))) == [0, 1]
    assert taken(Selection(Pattern(""))) == [0, 1, 2, 3]


class Shouting:
    """Decodes every field to its upper case."""

    def fields(self, records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
        for number in range(len(records)):
            key, value = (
                None if each is None else bytes(each).upper() for each in (records.key(number), records.value(number))
            )
            yield key, value


def test_decoded_fields_are_what_their_schema_says():
    """Nothing of the raw bytes counts, not even as a needle."""
    shouted = Selection(Pattern("KEY", fixed=True), decoded=True)
    assert shouted.batches(BatchRun(b"", 0, ROWS)) is ROWS
    assert taken(shouted, Shouting()) == [0, 1, 2]
    assert taken(Selection(Pattern("key"), decoded=True), Shouting()) == []
    assert taken(Selection(Pattern("KEY"), value=False, decoded=True, inverted=True), Shouting()) == [1, 3]
