"""Batch reads on Sail, which is Spark Connect without a JVM; by hand, as `test_releases` says."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from kafkafs.sample import unpack
from kafkafs.tables.locations import every_location, partition
from kafkafs.tables.offsets import TopicPartition
from tests.kafka import cache
from tests.log.reading import reader, rows
from tests.mounting import run
from tests.spark.releases.test_releases import ROOT, pytestmark

__all__ = ["pytestmark"]
PACKAGES = ("pysail==0.7.2", "pyspark-client==4.1.1", "pyarrow", "pandas")
PROGRAM = Path(__file__).with_name("sail.py")


def environment() -> Path:
    """The Python of an environment with Sail and what kafkafs needs, but without kafkafs; kept."""

    def make(place: Path) -> None:
        run(sys.executable, "-m", "venv", place, timeout=300)
        own = [each for each in requires("kafkafs") or () if "extra ==" not in each]
        run(place / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES, *own, timeout=700)

    return cache.once(cache.root() / "spark" / "sail-0.7.2", make) / "bin/python"


def install(place: Path) -> None:
    """kafkafs as a wheel would be there: the package, and what its metadata say of entry points."""
    (place / "kafkafs").symlink_to(ROOT / "kafkafs")
    about = place / "kafkafs-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kafkafs\nVersion: 0\n")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    settings = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in of.items()) for group, of in points.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(settings))


def test_sail_reads_what_is_there(tmp_path):
    """Rows with headers, typed values, and a refusal, found by the entry point."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    install(shipped)
    data = unpack(tmp_path)
    settings = {"PYTHONPATH": str(shipped)}
    command = [str(environment()), str(PROGRAM), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=os.environ | settings)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    orders = {name: each for name, each in every_location([data]).items() if name.topic == "orders"}
    wanted = [
        [name.partition, row.offset, None if row.value is None else row.value.decode("latin-1")]
        for name, location in sorted(orders.items())
        for row in rows(reader(partition(location).log()).records(0))
    ]
    assert TopicPartition("orders", 0) in orders
    assert found["count"] == len(wanted) > 30
    assert [row[:3] for row in found["rows"]] == wanted
    assert "content-type" in found["rows"][0][3]
    assert set(found["items"]) >= {"tea"}
    assert "there is no topic 'nowhere'" in found["refused"]
