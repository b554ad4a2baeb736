"""Spark 4.0 to 4.3 side by side, each in an environment of its own, on executors that have no kafkafs.

Fifteen minutes, and at first 1.3 GB from the network: by hand, KAFKAFS_SPARK_RELEASES=1 pytest tests/spark/releases
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.kafka import cache
from tests.kafka.dataset import Dataset
from tests.mounting import run

pytestmark = [
    pytest.mark.skipif("KAFKAFS_SPARK_RELEASES" not in os.environ, reason="by hand: KAFKAFS_SPARK_RELEASES=1"),
]
RELEASES = ("4.0.1", "4.1.1", "4.2.0", "4.3.0")
ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("program.py")
LATEST = Dataset("4.3.1", "stopped")


def environment(release: str) -> Path:
    """The Python of an environment with this Spark and what kafkafs needs, but without kafkafs; kept."""

    def make(place: Path) -> None:
        run(sys.executable, "-m", "venv", place, timeout=300)
        own = [each for each in requires("kafkafs") or () if "extra ==" not in each]
        needed = (f"pyspark[connect,pipelines]=={release}", "pyarrow", *own)
        run(place / "bin/python", "-m", "pip", "install", "--quiet", *needed, timeout=700)

    return cache.once(cache.root() / "spark" / release, make) / "bin/python"


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """What docs/spark.md tells to ship."""
    place = tmp_path_factory.mktemp("shipped")
    shutil.copytree(ROOT / "kafkafs", place / "all/kafkafs", ignore=shutil.ignore_patterns("__pycache__"))
    return Path(shutil.make_archive(str(place / "kafkafs"), "zip", place / "all"))


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_reads_streams_and_exports(release, archive, tmp_path):
    """And refuses in a sentence what it cannot do; nothing of kafkafs comes from an installation."""
    (tmp_path / "kafkafs-shipped").symlink_to(ROOT)
    command = [environment(release), PROGRAM, LATEST.path, tmp_path, archive]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=400, cwd=tmp_path, env=bare)
    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)
    count = sum(len(LATEST.records("partitions", number)) for number in range(5))
    one = sum(record.offset >= 5 for record in LATEST.records("partitions", 0))
    assert found["release"] == release
    assert not any(Path(place).is_relative_to(ROOT) for place in found["executors"])
    assert (found["batch"], found["filtered"]) == (count, one)
    assert [found[way] for way in ("export", "once", "now")] == [count] * 3
    assert any("make it a view: CREATE TEMPORARY VIEW" in line for line in found["table"])
    if release >= "4.2":
        assert found["limited"] == count
    else:
        refusal = f"take Spark 4.2 or later, and this is {release}: leave them out"
        assert any(refusal in line for line in found["limited"])
