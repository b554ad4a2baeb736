"""Lines that are too large for one piece: the same bytes as if they were not."""

import pytest

from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.view.json_model import line as model_line
from tests.view.rendering import rendered


@pytest.mark.parametrize("size", [350_000, 393_216, 400_001, 1_500_000])
@pytest.mark.parametrize("unit", [b"plain ", "日本語 ".encode(), b"\x00", b"\xff\xfe"])
def test_a_line_larger_than_a_piece_is_the_same_line(size, unit):
    """A value of many megabytes must not take six times as much memory, nor be cut inside a character."""
    value = (unit * (size // len(unit) + 1))[: size - size % len(unit)]
    records = [Record(1, 2, 0, b"k", b"small"), Record(2, 3, 0, value, value, ((b"h", value), (value, None)) * 2),
               Record(3, 3, 0, None, b"behind")]  # fmt: skip
    assert rendered(v2_batch(records)) == b"".join(model_line("my-topic.x_1", 3, record) for record in records)


def test_a_hundred_thousand_headers_are_all_there():
    """Headers have no limit of their own."""
    record = Record(2, 3, 0, b"k", b"v", tuple((b"name%d" % i, b"v" if i % 3 else None) for i in range(100_000)))
    assert rendered(v2_batch([record])) == model_line("my-topic.x_1", 3, record)
