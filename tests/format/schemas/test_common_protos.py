"""The files that a registry provides by itself: whole, and found by the names under which texts import them."""

import pytest

from kafkafs.format.schemas.protobuf import COMMON, ProtobufSchema


@pytest.mark.parametrize("name", COMMON)
def test_a_file_is_whole(name: str) -> None:
    """A topic whose schema imports one has no subject that could tell it."""
    pool = ProtobufSchema(f'syntax = "proto3"; import "{name}"; message A {{}}', ()).pool
    file = pool.FindFileByName(name)
    assert file.message_types_by_name or file.enum_types_by_name
    assert file.package == name.rpartition("/")[0].replace("/", ".")
