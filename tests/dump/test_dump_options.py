"""What of a file is wanted: the tool's defaults, and windows of offsets."""

import numpy as np
import pytest

from kafkafs.dump.dump_options import WHOLE, DumpOptions, OffsetWindow
from kafkafs.format.records import RECORD, Records


def records(*offsets: int) -> Records:
    rows = np.zeros(len(offsets), RECORD)
    rows["offset"] = offsets
    return Records(np.empty(0, np.uint8), rows)


@pytest.mark.parametrize("start", [None, 0, 3, 5, 9])
@pytest.mark.parametrize("stop", [None, 0, 3, 5, 9])
def test_a_window_has_those_records_one_by_one_that_it_has_of_many(start, stop):
    """Sound batches are cut as a whole, damaged ones record by record: the same must be shown."""
    window, offsets = OffsetWindow(start, stop), (3, 4, 5, 8)
    kept = [offset for offset in offsets if window.has(offset)]
    assert kept == [each for each in offsets if (start or 0) <= each < (10 if stop is None else stop)]
    assert window.of(records(*offsets)).rows["offset"].tolist() == kept


def test_the_whole_of_a_log_is_handed_on_as_it_is():
    found = records(1, 2)
    assert WHOLE.of(found) is found


def test_data_is_printed_deeply():
    """As Kafka's tool has it: `--print-data-log` implies `--deep-iteration`."""
    assert not DumpOptions().is_deep
    assert DumpOptions(print_data_log=True).is_deep
    assert DumpOptions(deep_iteration=True).is_deep
