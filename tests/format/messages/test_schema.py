"""Kafka's schema files as values."""

import pytest

from kafkafs.format.messages.schema import Versions, names_by_number, schema


def test_a_field_has_its_versions_its_tag_and_its_default() -> None:
    found = schema("metadata", "PartitionRecord")
    fields = {field.name: field for field in found.fields}
    assert (found.number, found.versions) == (3, Versions(0, 2))
    assert 1 not in fields["eligibleLeaderReplicas"].versions
    assert (fields["leaderRecoveryState"].tag, fields["leaderRecoveryState"].default) == (0, "0")


def test_a_field_without_versions_has_those_in_which_it_is_tagged() -> None:
    field = next(field for field in schema("transaction-coordinator", "TransactionLogValue").fields if field.tag == 1)
    assert (field.name, 0 in field.versions, 1 in field.versions) == ("nextProducerId", False, True)


def test_a_schema_has_the_name_that_it_gives_itself() -> None:
    """One file of Kafka's is called otherwise, and the tool prints the name inside."""
    assert names_by_number("metadata", "Record")[21] == "ZkMigrationStateRecord"


def test_all_record_types_have_numbers_of_their_own() -> None:
    assert len(names_by_number("group-coordinator", "Key")) == 22
    assert len(names_by_number("metadata", "Record")) == 27


@pytest.mark.parametrize(("version", "nearest"), [(-1, 1), (2, 2), (9, 3)])
def test_a_version_beyond_the_range_has_a_nearest_one(version: int, nearest: int) -> None:
    assert Versions(1, 3).nearest(version) == nearest
