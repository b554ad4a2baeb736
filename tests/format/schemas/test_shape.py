"""What columns a schema's data have: bits of numbers."""

import math
import struct

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.schemas.shape import double_bits, float_bits


@given(st.floats() | st.floats(width=32))
def test_the_bits_of_a_number_are_all_of_it(number: float) -> None:
    """NaN's payload, the sign of zero: a JSON reader that rounds would lose them."""
    assert struct.pack("<q", double_bits(number)) == struct.pack("<d", number)
    if not math.isfinite(number) or abs(number) < 3e38:
        assert struct.pack("<i", float_bits(number)) == struct.pack("<f", number)
