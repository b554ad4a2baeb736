"""Images of scripts/container do what their first lines say: built here, and run on the sample.

Twenty minutes, by hand: KAFKAFS_IMAGES=1 pytest tests/packaging/test_images.py, with buildah and mmdebstrap.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.packaging.images import BUILD_S, Store, new_store

pytestmark = [
    pytest.mark.skipif("KAFKAFS_IMAGES" not in os.environ, reason="twenty minutes: by hand, KAFKAFS_IMAGES=1"),
    pytest.mark.timeout(3 * BUILD_S),
]
COMMANDS = {
    "ls /data": "orders-0\n",
    "cat /data test-0/by-offset/23400.value": "message 23400........",
    "grep -c -F customer-2 --topics orders /data": "orders-0:11\n",
    "groups --table /data": "dashboard",
    "du /data": "TOTAL",
    "triage /data": "kafkafs groups /data",
    "audit /data": "",
    "diff /data --against /data": "",
    "export --to /tmp/out /data": "",
    "revive --plan /data --to /tmp/revived": '"orders"',
}


@pytest.fixture(scope="module")
def images() -> Iterator[Store]:
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")
    with new_store(Path(tempfile.mkdtemp(prefix="kafkafs-images-", dir="/tmp"))) as store:
        store.build("Containerfile", "kafkafs")
        store.build("Containerfile.spark", "kafkafs-spark")
        yield store


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> tuple[str, ...]:
    """Options that bring the sample to /data, read-only."""
    place = tmp_path_factory.mktemp("sample")
    return ("--volume", f"{unpack(place)}:/data:ro")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_slim_image_answers_without_java(images, data, command):
    """As the image's own user, who has no privileges."""
    assert COMMANDS[command] in images.run("kafkafs", "kafkafs", *command.split(), options=data)


def test_the_slim_image_has_neither_java_nor_a_compiler_nor_spark(images):
    look = "id -u; command -v java gcc pip; /opt/kafkafs/bin/python -c 'import pyspark' 2>/dev/null || echo none"
    assert images.run("kafkafs", "sh", "-c", look) == "1000\nnone\n"


def test_the_slim_image_mounts_where_it_may(images, data):
    """With /dev/fuse and CAP_SYS_ADMIN, as root."""
    script = (
        "mkdir -p /mnt/kafka && kafkafs mount /data /mnt/kafka --background"
        " && cat /mnt/kafka/test-0/by-offset/23400.value; kafkafs umount /mnt/kafka"
    )
    options = (*data, "--user", "root", "--cap-add", "CAP_SYS_ADMIN", "--volume", "/dev/fuse:/dev/fuse")
    assert "message 23400........" in images.run("kafkafs", "sh", "-c", script, options=options)


def test_the_slim_image_is_smaller_by_half(images):
    assert images.size("kafkafs") < images.size("kafkafs-spark") / 2


@pytest.mark.parametrize(
    ("command", "reported"),
    [("audit --engine spark /data", ""), ("profile /data --html /tmp/page.html", "")],
    ids=["audit", "profile"],
)
def test_the_image_with_spark_runs_jobs_on_spark(images, data, command, reported):
    assert reported in images.run("kafkafs-spark", "kafkafs", *command.split(), options=data)
