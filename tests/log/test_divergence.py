"""Where two replicas part: what is alike though the files differ, and the first place where it is not."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from kafkafs.format.batch import Batches, walk
from kafkafs.format.differences import unlike
from kafkafs.log.divergence import HEADER, Divergence, first_divergence, sharing_offsets
from tests.format.batch_maker import record_bytes, v2_around
from tests.log.making import Made, log_of, made, write_partition, write_start

EVER = (1 << 63) - 1


def under(epoch: int, batch: Made) -> Made:
    """The batch as a leader of that epoch appended it: the epoch is outside of the CRC."""
    return Made(batch.data[:12] + struct.pack(">i", epoch) + batch.data[16:], batch.records)


def cleaned(batch: Made, *kept: int) -> Made:
    """The batch as the cleaner leaves it: its own offsets, some of its records."""
    left = [record for record in batch.records if record.offset in kept]
    content = b"".join(record_bytes(record, batch.base, batch.records[0].timestamp) for record in left)
    first = batch.records[0].timestamp
    return Made(v2_around(content, len(left), batch.base, batch.last, first, batch.max_timestamp), tuple(left))


def batches(first: int, stop: int, **how: object) -> list[Made]:
    """Batches of five records each."""
    return [made(base, [base + each for each in range(5)], **how) for base in range(first, stop, 5)]  # type: ignore[arg-type]


def compared(
    tmp_path: Path,
    one: Mapping[int, Sequence[Made]],
    other: Mapping[int, Sequence[Made]],
    *,
    cleaned: bool = False,
    starts: tuple[int, int] = (0, 0),
) -> Divergence | None:
    for name, segments, start in (("one", one, starts[0]), ("other", other, starts[1])):
        write_partition(tmp_path / name, segments)
        if start:
            write_start(tmp_path / name, start)
    found, mirrored = (
        first_divergence(log_of(tmp_path / first), log_of(tmp_path / second), 0, EVER, cleaned=cleaned)
        for first, second in (("one", "other"), ("other", "one"))
    )
    assert mirrored == (found and Divergence(found.offset, (found.epochs[1], found.epochs[0])))
    return found


def test_segments_starts_and_ends_need_not_be_the_same(tmp_path):
    all_ = batches(0, 100)
    one = {0: all_[:7], 35: all_[7:]}
    other = {20: all_[4:12], 60: all_[12:18]}
    assert compared(tmp_path, one, other, starts=(12, 33)) is None


def test_replicas_that_share_nothing_do_not_part(tmp_path):
    assert compared(tmp_path, {0: batches(0, 10)}, {50: batches(50, 60, size=3)}) is None


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_the_first_difference_and_both_epochs_are_named(tmp_path, is_cleaned):
    common = [under(2, batch) for batch in batches(0, 50)]
    mine = [under(4, batch) for batch in batches(50, 70)]
    theirs = [under(3, batch) for batch in batches(50, 90, size=2)]
    found = compared(tmp_path, {0: [*common, *mine]}, {0: [*common, *theirs]}, cleaned=is_cleaned)
    assert found == (50, (4, 3))


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_the_same_bytes_of_another_epoch_are_a_difference(tmp_path, is_cleaned):
    one = [*batches(0, 10), under(2, batches(10, 15)[0])]
    other = [*batches(0, 10), under(1, batches(10, 15)[0])]
    assert compared(tmp_path, {0: one}, {0: other}, cleaned=is_cleaned) == (10, (2, 1))


def test_other_borders_of_batches_are_a_difference(tmp_path):
    one = [*batches(0, 10), made(10, [1, 2, 3, 4, 5])]
    other = [*batches(0, 10), made(10, [1, 2, 3]), made(13, [4, 5])]
    assert compared(tmp_path, {0: one}, {0: other}) == (10, (0, 0))


def test_a_batch_that_one_lacks_is_a_difference_where_nothing_is_cleaned(tmp_path):
    whole = batches(0, 100)
    holed = [*whole[:8], *whole[10:]]
    assert compared(tmp_path, {0: whole}, {0: holed}) == (40, (0, 0))
    assert compared(tmp_path / "cleaned", {0: whole}, {0: holed}, cleaned=True) is None


def test_what_a_cleaner_left_is_no_difference(tmp_path):
    whole = batches(0, 100)
    one = [cleaned(whole[0], 0, 3), cleaned(whole[3], 17), *whole[10:]]
    other = [whole[0], cleaned(whole[1], 9), whole[3], cleaned(whole[4], 20, 24), *whole[11:]]
    assert compared(tmp_path, {0: one}, {0: other}) is None  # the batches tell, even where no checkpoint does


CHANGES = [{"value": b"other"}, {"key": b"other"}, {"timestamp": 7}, {"headers": ((b"h", b"v"),)}]


@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_a_record_that_is_another_one_is_a_difference_where_all_around_is_cleaned(tmp_path, change):
    whole = batches(0, 100)
    record = whole[5].records[2]
    records = [record._replace(**change) if each is record else each for each in whole[5].records]
    changed = Made(whole[5].data, tuple(records))
    one = [cleaned(whole[0], 3), cleaned(whole[5], 26, 27), *whole[7:]]
    other = [whole[0], cleaned(changed, 27, 28), *whole[8:]]
    assert compared(tmp_path, {0: one}, {0: other}) == (27, (0, 0))


def test_damage_is_another_finding(tmp_path):
    whole = batches(0, 50)
    broken = bytearray(whole[4].data)
    broken[-3] ^= 1
    other = [*whole[:4], Made(bytes(broken), ()), *whole[5:]]
    write_partition(tmp_path / "one", {0: whole})
    write_partition(tmp_path / "other", {0: other}, indexed=False)
    assert first_divergence(log_of(tmp_path / "one"), log_of(tmp_path / "other"), 0, EVER, cleaned=False) is None


def test_only_what_is_asked_for_is_compared(tmp_path):
    write_partition(tmp_path / "one", {0: batches(0, 50)})
    write_partition(tmp_path / "other", {0: [*batches(0, 20), *batches(20, 50, size=1)]})
    logs = log_of(tmp_path / "one"), log_of(tmp_path / "other")
    assert first_divergence(*logs, 0, 20, cleaned=False) is None
    assert first_divergence(*logs, 30, 40, cleaned=False) == (30, (0, 0))
    assert first_divergence(*logs, 33, 40, cleaned=False) == (33, (0, 0))


def test_runs_of_other_lengths_are_compared_to_their_ends(tmp_path):
    """What is read at once is a megabyte at most, and ends elsewhere in each replica."""
    whole = [made(base, [base], size=9_000) for base in range(400)]
    other = [*whole[:333], made(333, [333], size=8_999), *whole[334:]]
    assert compared(tmp_path, {0: whole}, {0: whole[:100], 100: other[100:]}) == (333, (0, 0))


def table(*batches: Made) -> Batches:
    return walk(b"".join(each.data for each in batches), 0).rows


def test_each_row_without_an_equal_is_named():
    one, two, three, other = made(0, [1, 2]), made(2, [3]), made(3, [4]), made(2, [3], size=9)
    odd, beside = unlike(table(one, two, three), table(one, other, three), HEADER)
    assert (odd.tolist(), beside.tolist()) == ([False, True, False], [False, True, False])
    odd, beside = unlike(table(one, three), table(two), HEADER)
    assert (odd.tolist(), beside.tolist()) == ([True, True], [True])


def test_rows_overlap_ranges_in_which_one_of_their_offsets_lies():
    rows = table(made(0, [1, 2]), made(5, [3, 4, 5]), made(9, [6]))
    firsts, lasts = np.array([1, 8]), np.array([4, 8])
    assert sharing_offsets(rows, firsts, lasts).tolist() == [True, False, False]
    assert sharing_offsets(rows, firsts[:0], lasts[:0]).tolist() == [False] * 3


def test_a_batch_behind_the_range_says_nothing_of_it(tmp_path):
    """Regression: it was read in one piece with those in front of the range. As it lacks records, the offset that one
    replica leaves out within the range counted as cleaned away."""
    common, mine, behind = batches(0, 20), made(20, [20, 21]), batches(25, 30)[0]
    write_partition(tmp_path / "one", {0: [*common, mine, behind]})
    write_partition(tmp_path / "other", {0: [*common, cleaned(behind, 25)]})
    one, other = log_of(tmp_path / "one"), log_of(tmp_path / "other")
    assert first_divergence(one, other, 20, 25, cleaned=False) == (20, (0, None))
    assert first_divergence(other, one, 20, 25, cleaned=False) == (20, (None, 0))
