"""`kafkafs stat` against `stat` and the extended attributes below a mount point."""

import os
import re

import pytest

from tests.cli.asking import unmounted
from tests.kafka.dataset import Dataset
from tests.mounting import run


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset("4.3.1", "stopped")


def test_attributes_are_those_of_a_mount(dataset, mount):
    mounted = mount(dataset.path)
    path = "segments-0/by-offset/5"
    about, reported = (mounted / path).stat(), unmounted("stat", dataset.path, path).stdout.decode()
    assert f"  Size: {about.st_size} " in reported
    assert f"({about.st_mode & 0o7777:04o}/" in reported
    assert re.search(
        r"^Modify: (.*)$", reported, re.M
    )[
        1
    ].startswith(  # type: ignore[index]
        run("stat", "-c", "%y", mounted / path).stdout.decode()[:29]
    )
    names = {line.partition("=")[0] for line in reported.splitlines() if line.startswith("user.kafkafs.")}
    assert names == set(os.listxattr(mounted / path))
