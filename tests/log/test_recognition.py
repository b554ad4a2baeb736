"""Which directories are a broker's."""

from pathlib import Path

import pytest

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.log.recognition import is_kafkas


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["meta.properties"], True),
        (["orders-0/00000000000000000000.log"], True),
        (["orders-0/partition.metadata"], True),
        (["orders-0/notes.txt"], False),
        (["python-3/00000000000000000000.log/x"], False),
        (["README.md"], False),
    ],
)
def test_a_brokers_directory_has_files_that_only_a_broker_writes(tmp_path: Path, files: list[str], wanted: bool):
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert is_kafkas(LocalDirectory(str(tmp_path), DiskOptions())) == wanted
