"""What is shipped of Kafka is what its jars hold."""

import json
from pathlib import Path

from tests.kafka import schemas


def test_the_schemas_are_those_of_the_jars_and_all_of_them() -> None:
    root = schemas.SHIPPED / "schemas"
    shipped = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    assert shipped == schemas.schema_files()
    assert len(shipped) > 80


def test_the_names_of_configs_are_kafkas_own() -> None:
    shipped = Path(schemas.SHIPPED / "configs.json").read_bytes()
    assert shipped == schemas.config_names()
    assert not any("password" in name for names in json.loads(shipped).values() for name in names)
