"""Single values at the edges of what bytes may say; what Kafka says of them is compared in `tests/dump`."""

import pytest

from kafkafs.format.messages.message_values import (
    CUT,
    CorruptMessage,
    check,
    length,
    primitive,
    unsigned_varint,
    uuid_text,
)


def test_a_length_of_null_is_negative_in_both_encodings() -> None:
    assert length("string", True)(b"\0", 0) == (-1, 1)
    assert length("string", False)(b"\xff\xff", 0) == (-1, 2)
    assert length("bytes", False)(b"\xff\xff\xff\xff", 0) == (-1, 4)


def test_an_unsigned_number_is_an_int_of_java() -> None:
    assert unsigned_varint(b"\xff\xff\xff\xff\x0f", 0) == (-1, 5)
    with pytest.raises(CorruptMessage, match="converted value: ffffffff"):
        unsigned_varint(b"\xff" * 5, 0)
    with pytest.raises(CUT):
        unsigned_varint(b"\x80", 0)


def test_bytes_that_are_not_there_are_not_taken() -> None:
    with pytest.raises(CorruptMessage, match=r"of 9 byte\(s\): only 1 byte\(s\) available"):
        check(b"abc", 2, 9)
    with pytest.raises(CUT):
        primitive("uuid", "id", True, False)(bytes(15), 0)


def test_a_null_is_only_where_it_may_be() -> None:
    assert primitive("string", "name", True, True)(b"\0", 0) == (None, 1)
    with pytest.raises(CorruptMessage, match="non-nullable field name was serialized as null"):
        primitive("string", "name", True, False)(b"\0", 0)


def test_a_uuid_is_22_characters() -> None:
    assert uuid_text(bytes(15) + b"\1") == "AAAAAAAAAAAAAAAAAAAAAQ"
