"""The registry that is in data directories, for those who make columns by it."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.tables.registries import registry_of, registry_with_schemas
from tests.kafka import registered
from tests.log.making import made, write_partition


def test_it_has_every_version_of_every_subject():
    found = registry_with_schemas([registered.data()])
    assert {schema.subject for schema in found} >= {"every-value", "orders-value"}
    assert len(found) == len(registry_of([str(registered.data())]))


def test_without_schemas_it_is_empty_or_refused(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    assert len(registry_of([tmp_path])) == 0
    with pytest.raises(UsageError, match="name the data directories that have _schemas-0 too"):
        registry_with_schemas([tmp_path])
