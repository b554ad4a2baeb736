"""Indexes against their log: none is wrong that a broker could have written, and each that is changed is."""

import struct
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.index_check import check_offset_index, check_time_index
from kafkafs.spark.audit.log_check import check_log
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit
from tests.log.making import Made, made, write_partition

OFFSETS, TIMES = struct.Struct(">ii"), struct.Struct(">qi")
Indexes = tuple[bytes, bytes]
BASE = 100
LAST = 2**63 - 1


def batches(times: Sequence[int]) -> list[Made]:
    """A batch of three records for each time, which is the last record's and the largest: no offset beside its last
    one ends a batch, and no record beside it has its time."""
    return [made(BASE + 3 * number, [time - 9, time - 5, time]) for number, time in enumerate(times)]


def written(log: Sequence[Made], indexed: Sequence[bool], rolls: bool = True) -> Indexes:
    """The indexes of a broker whose interval ended with the batches `indexed`: LogSegment.append, and the roll."""
    offsets, times, position, newest, newest_at, timed = b"", b"", 0, -1, BASE, -1
    for batch, gets_entry in zip(log, indexed, strict=True):
        if batch.max_timestamp > newest:
            newest, newest_at = batch.max_timestamp, batch.last
        if gets_entry and position:
            offsets += OFFSETS.pack(batch.last - BASE, position)
        if newest > timed and gets_entry and position:
            times, timed = times + TIMES.pack(newest, newest_at - BASE), newest
        position += len(batch.data)
    if rolls and newest > timed:
        times += TIMES.pack(newest, newest_at - BASE)
    return offsets, times


def look(log: Sequence[Made], indexes: Indexes, *, closed: bool = True, clean: bool = False) -> list[Finding]:
    """What is wrong with the indexes of that log, behind which another segment stands if it is closed."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-", dir="/dev/shm") as place:
        segments = {BASE: log} | ({log[-1].last + 1: [made(log[-1].last + 1, [1])]} if closed else {})
        directory = write_partition(Path(place), segments)
        for kind, content in zip(("index", "timeindex"), indexes, strict=True):
            (directory / f"{BASE:020}.{kind}").write_bytes(content)

        def question(look: SegmentLook) -> list[Finding]:
            where = [CheckedFile(place, f"t-0/{BASE:020}.{kind}") for kind in ("log", "index", "timeindex")]
            findings, valid = check_log(look, where[0], clean)
            assert findings == []
            findings = check_offset_index(look.segment, where[1], valid, clean)
            return findings + check_time_index(look.segment, where[2], valid, clean)

        found = SegmentUnit(Path(place), "t-0", BASE, 0).ask(question)
        assert found is not None
        return found


def kinds(findings: list[Finding]) -> list[str]:
    """What kinds they are of."""
    return [each.kind for each in findings]


_times = st.lists(st.integers(0, 30).map(lambda number: number * 100), min_size=2, max_size=8)


@given(_times, st.data(), st.booleans())
def test_nothing_is_wrong_with_what_a_broker_writes(times, data, closed):
    """Whatever its interval, in a segment that is closed, or grows."""
    log = batches(times)
    indexed = data.draw(st.lists(st.booleans(), min_size=len(log), max_size=len(log)))
    assert look(log, written(log, indexed, rolls=closed), closed=closed) == []


@given(_times, st.data())
def test_each_changed_entry_is_found(times, data):
    """A lookup goes by them: a wrong one costs it a scan, and Kafka the right answer."""
    log = batches(times)
    indexes = list(written(log, [True] * len(log)))
    which = data.draw(st.sampled_from([0, 1]))
    layout = (OFFSETS, TIMES)[which]
    slot = data.draw(st.integers(0, len(indexes[which]) // layout.size - 1))
    values = list(layout.unpack_from(indexes[which], slot * layout.size))
    values[data.draw(st.sampled_from([0, 1]))] += data.draw(st.sampled_from([-1, 1]))
    changed = bytearray(indexes[which])
    layout.pack_into(changed, slot * layout.size, *values)
    indexes[which] = bytes(changed)
    found = look(log, (indexes[0], indexes[1]))
    assert slot in [each.slot for each in found if each.kind.endswith("-entry")]
    assert {each.severity for each in found} == {"rebuildable index"}
    assert all(each.position == each.slot * layout.size for each in found if each.slot is not None)


def test_one_entry_of_zeros_is_an_entry():
    """Regression: a closed segment of nothing but times of 1970's first moment was told to have a padded index."""
    log = [made(BASE, [0]), made(BASE + 1, [0, 0])]
    indexes = written(log, [True] * len(log))
    assert indexes[1] == bytes(TIMES.size)
    assert look(log, indexes) == look(log, indexes, closed=False, clean=True) == []
    newer = [*log, made(BASE + 3, [100])]
    assert kinds(look(newer, (written(newer, [False, True, True])[0], indexes[1]))) == ["time-index-end"]


@pytest.mark.parametrize("times", [[LAST], [100, LAST], [LAST, 100, LAST], [100, 200, LAST - 1, LAST]])
def test_the_last_time_there_is_comes_behind_every_other(times):
    """Regression: between -1 and 2^63-1 there is no difference in 64 bits, and a sound index was called wrong."""
    log = batches(times)
    assert look(log, written(log, [True] * len(log))) == []


MANY = batches([100 * number for number in range(1, 41)])
SOUND = written(MANY, [True] * len(MANY))


def without(first: int, stop: int, size: int) -> Callable[[bytes], bytes]:
    """An index without those entries."""
    return lambda data: data[: first * size] + data[stop * size :]


@pytest.mark.parametrize(
    ("offsets", "times", "kind"),
    [
        (without(10, 30, 8), None, "offset-index-sparse"),
        (lambda data: b"", None, "offset-index-sparse"),
        (None, without(10, 12, 12), "time-index-sparse"),
        (None, without(38, 40, 12), "time-index-end"),
        (None, lambda data: b"", "time-index-end"),
        (lambda data: data[:-3], None, "index-length"),
        (None, lambda data: data[:-3], "index-length"),
        (lambda data: data + bytes(80), None, "index-padding"),
        (None, lambda data: data + bytes(120), "index-padding"),
        (lambda data: data[8:16] + data[:8] + data[16:], None, "offset-index-entry"),
        (None, lambda data: data[12:24] + data[:12] + data[24:], "time-index-entry"),
    ],
)
def test_what_is_missing_or_too_much_in_a_closed_index_is_found(offsets, times, kind):
    changed = (offsets or bytes)(SOUND[0]), (times or bytes)(SOUND[1])
    assert kind in kinds(look(MANY, changed))
    assert kind in kinds(look(MANY, changed, closed=False, clean=True))


def test_the_end_of_a_growing_index_is_no_finding():
    """Zeros of the file that was made at its full size, an entry half written, and what a truncation has left."""
    log = MANY[:20]
    offsets, times = written(log, [True] * 20, rolls=False)
    for more, later in ((bytes(800), bytes(1200)), (b"\0\0\0\x3c" + bytes(12), bytes(24))):
        assert look(log, (offsets + more, times + later), closed=False) == []
    assert look(log, SOUND, closed=False) == []
    (finding,) = look(log, (offsets + OFFSETS.pack(1, 70) * 2, times), closed=False)
    assert (finding.kind, finding.slot) == ("offset-index-entry", 19)  # what was cut off had gone on from what is left


def test_what_is_legal_by_the_word_of_older_brokers_is_no_finding():
    """An entry for an append of several batches ends the last of them; a time entry may name the record itself."""
    log = [made(BASE, [1, 2, 3]), made(BASE + 3, [1000, 10, 20]), made(BASE + 6, [5, 6, 7])]
    second = len(log[0].data)
    offsets = OFFSETS.pack(8, second)
    for named in (3, 5):
        assert look(log, (offsets, TIMES.pack(1000, named))) == []
    assert kinds(look(log, (offsets, TIMES.pack(1000, 4)))) == ["time-index-entry"]


def test_a_log_without_timestamps_has_no_time_index():
    """Of format v0, or with times of -1: nothing to be missing."""
    log = [made(BASE + number, [-1]) for number in range(3)]
    positions = [len(log[0].data), len(log[0].data) + len(log[1].data)]
    offsets = b"".join(OFFSETS.pack(number + 1, at) for number, at in enumerate(positions))
    assert look(log, (offsets, b"")) == []
    assert look(log, (offsets, TIMES.pack(5, 0))) != []


def test_of_an_emptied_segment_no_time_is_asked_for(tmp_path):
    """Regression: "this is a bug", where its offset index had entries and its time index none."""
    directory = write_partition(tmp_path, {BASE: [], BASE + 9: [made(BASE + 9, [1])]})
    (directory / f"{BASE:020}.index").write_bytes(OFFSETS.pack(3, 70))
    (directory / f"{BASE:020}.timeindex").touch()

    def question(look: SegmentLook) -> list[list[str]]:
        where = CheckedFile(str(tmp_path), "t-0/x")
        _, valid = check_log(look, where, False)
        return [kinds(check(look.segment, where, valid, False)) for check in (check_offset_index, check_time_index)]

    assert SegmentUnit(tmp_path, "t-0", BASE, 0).ask(question) == [["offset-index-entry"], []]
