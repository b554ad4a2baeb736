"""Java's text of bytes and doubles; Kafka's own tool is compared with in `tests/dump`."""

import pytest

from kafkafs.format.strings import java_double, java_string


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (9999999.0, "9999999.0"), (1e7, "1.0E7"),
        (1e-5, "1.0E-5"), (123456789.25, "1.2345678925E8"), (5e-324, "4.9E-324"), (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)  # fmt: skip
def test_a_double_as_java_writes_it(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("data", "text"), [(b"a\xff", "a\ufffd"), (b"\xed\xa0\x80", "\ufffd"), ("é😀".encode(), "é😀")]
)
def test_malformed_utf_8_is_replaced_as_java_does(data: bytes, text: str) -> None:
    assert java_string(data) == text
