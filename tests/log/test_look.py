"""A look at one log: its readers, and times that count back from the newest record."""

import pytest

from kafkafs.format.times import FromEnd
from kafkafs.log.places import Between
from tests.log.making import log_of, made, write_partition
from tests.log.reading import look
from tests.log.transactional import data, marker


def test_only_committed_records_end_at_an_open_transaction(tmp_path):
    write_partition(tmp_path, {0: [data(0, 1), marker(1, 1, True), data(2, 1)]})
    assert look(log_of(tmp_path), isolation="read_committed").visible.visible_end == 2
    assert look(log_of(tmp_path)).visible.visible_end == 3


@pytest.mark.parametrize(("times", "expected"), [([], 5), ([7, 30, 20], 25)])
def test_a_time_counts_back_from_the_newest_record(tmp_path, times, expected):
    write_partition(tmp_path, {0: [made(at, [time]) for at, time in enumerate(times)]})
    asked = look(log_of(tmp_path))
    assert asked.milliseconds(FromEnd(5)) == (expected if times else 0)
    assert asked.milliseconds(5) == 5


BOUNDS = [None, 0, 1, 2, 3, 9]


def test_a_window_is_the_offsets_that_are_in_all_of_its_bounds(tmp_path):
    """Against a naive model: times only rise, so a time is the offset of the first record at or after it."""
    write_partition(tmp_path, {0: [made(at, [10 * at + 10]) for at in range(4)]})
    asked = look(log_of(tmp_path))
    for from_offset in BOUNDS:
        for to_offset in BOUNDS:
            for from_time in BOUNDS:
                for to_time in BOUNDS:
                    window = Between(
                        from_offset,
                        to_offset,
                        None if from_time is None else 10 * from_time,
                        None if to_time is None else 10 * to_time,
                    )
                    start, end = window.offsets(asked)
                    expected = [
                        at for at in range(4)
                        if at >= (from_offset or 0) and (to_offset is None or at < to_offset)
                        and at + 1 >= (from_time or 0) and (to_time is None or at + 1 < to_time)
                    ]  # fmt: skip
                    assert list(range(start, end)) == expected, window
