"""What of a segment's numbers is not counted: its heaviest keys, and why a broker keeps it."""

import random
from collections import Counter

import numpy as np
import pytest

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.spark.profile.figures import KEPT_KEYS, Figures, KeptBytes, TopKeys
from kafkafs.spark.profile.measure import measure
from kafkafs.spark.profile.page import page
from kafkafs.spark.segment_units import live_segments
from kafkafs.tables.offsets import TopicPartition
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import made, write_partition, write_start
from tests.log.transactional import data, marker


def pieces(records: list[Record], per_batch: int):
    """Decoded batches, and the bytes of their records."""
    for at in range(0, len(records), per_batch):
        data = v2_batch(tuple(records[at : at + per_batch]))
        for piece in decode(data, 0, walk(data, 0).rows, 1 << 20):
            assert isinstance(piece, Records)
            rows = piece.rows
            keys, values = rows["key_size"].astype(np.int64), rows["value_size"].astype(np.int64)
            yield piece, np.maximum(keys, 0) + np.maximum(values, 0)


def test_the_heaviest_keys_are_reported_exactly_where_there_are_few():
    chance = random.Random(5)
    keys = [None, b"", b"a", b"\xff\x00", b"k" * 100, *(b"%d" % number for number in range(20))]
    records = [Record(offset, 1000, 0, chance.choice(keys), b"v" * chance.randrange(50)) for offset in range(600)]
    sizes, counts = Counter[bytes](), Counter[bytes]()
    for each in records:
        if each.key is not None:
            sizes[each.key] += len(each.key) + len(each.value or b"")
            counts[each.key] += 1
    halves = [TopKeys(), TopKeys()]
    for number, (piece, each_size) in enumerate(pieces(records, 7)):
        halves[number % 2].add_records(piece, each_size)
    halves[0].add(halves[1])
    found = {each.shown: (each.records, each.size) for each in halves[0].heaviest(100)}
    assert found == {key[:64]: (counts[key], size) for key, size in sizes.items()}
    ranked = [each.size for each in halves[0].heaviest(3)]
    assert ranked == sorted(sizes.values(), reverse=True)[:3]


def test_of_many_keys_the_heavy_ones_stay():
    """The table is bounded, and a million keys of one record push none out that is heavy everywhere."""
    records = [
        Record(offset, 1000, 0, b"heavy" if offset % 10 == 0 else b"%d" % offset, b"v" * 20) for offset in range(2000)
    ]
    top = TopKeys()
    for piece, sizes in pieces(records, 100):
        top.add_records(piece, sizes)
    assert len(top.heaviest(2000)) <= 2 * KEPT_KEYS < 1800
    (heaviest,) = top.heaviest(1)
    assert (heaviest.shown, heaviest.records, heaviest.size) == (b"heavy", 200, 200 * 25)


def test_a_piece_without_keys_has_none():
    top = TopKeys()
    for piece, sizes in pieces([Record(0, 1000, 0, None, b"v")], 1):
        top.add_records(piece, sizes)
    assert top.heaviest(5) == []


FUTURE = 4_102_444_800_000  # 2100


def kept(directory) -> list[KeptBytes]:
    found = [unit.ask(measure) for unit in live_segments([directory], "furthest")]
    return [each.kept for each in found if each is not None]


def test_each_segment_is_kept_for_one_reason(tmp_path):
    segments = {
        0: [made(0, [1000] * 5)], 5: [made(5, [2000, 1500])], 7: [made(7, [3000, FUTURE, 3000])],
        10: [made(10, [-1, -1])], 12: [made(12, [1000, 1200])], 14: [made(14, [4000])],
    }  # fmt: skip
    write_partition(tmp_path, segments)
    write_start(tmp_path, 5)
    size = {base: sum(len(batch.data) for batch in batches) for base, batches in segments.items()}
    assert kept(tmp_path) == [
        KeptBytes(below_start=size[0]), KeptBytes(waiting=size[5], waits_since_ms=2000),
        KeptBytes(future=size[7], future_until_ms=FUTURE), KeptBytes(untimed=size[10]),
        KeptBytes(waiting=size[12], waits_since_ms=1200), KeptBytes(active=size[14]),
    ]  # fmt: skip


def test_the_end_of_a_transaction_keeps_its_segment_as_a_record_does(tmp_path):
    """Regression: what was written with old times waited for `retention.ms` since then, as the page had it."""
    write_partition(tmp_path, {0: [made(0, [2, 3])], 2: [marker(2, 7, commit=True)], 3: [data(3, 7)]})
    assert [each.waits_since_ms for each in kept(tmp_path)] == [3, 5, None]


def test_the_page_says_when_the_future_ends_and_who_goes_next(tmp_path):
    numbers = Figures()
    for each in (
        KeptBytes(future=10, future_until_ms=FUTURE),
        KeptBytes(waiting=5, waits_since_ms=1200),
        KeptBytes(active=1),
    ):
        numbers.add(Figures(size=10, segments=1, kept=each))
    html = page({TopicPartition("t", 0): numbers}, ["/data"])
    assert "<td><time>2100-01-01</time> <time>00:00</time></td>" in html
    assert "<td><time>1970-01-01</time> <time>00:00</time></td>" in html


@pytest.mark.parametrize("start", [0, 3, 5, 7, 10, 12])
def test_only_what_the_log_has_counts(tmp_path, start):
    """Regression: records below the log start counted, and damage there was damage of the log."""
    segments = {0: [made(0, [1000] * 5)], 5: [made(5, [2000] * 5), made(10, [3000] * 3)], 13: [made(13, [4000])]}
    write_partition(tmp_path, segments)
    write_start(tmp_path, start)
    log = tmp_path / "t-0/00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    figures = Figures()
    for unit in live_segments([tmp_path], "furthest"):
        figures.add(unit.ask(measure) or Figures())
    assert figures.records == 14 - max(start, 5)
    assert figures.damaged == (start < 5)
    assert figures.batches == 3 - (start >= 10)
    assert figures.segments == 3
    assert sum(records for records, _ in figures.volume.values()) == figures.records
