"""The data source and the export over a log that goes on in a tier: as if all of it were local."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from kafkafs.errors import UsageError
from kafkafs.spark.options import batch_options
from kafkafs.spark.source import BatchReader
from tests.kafka import aiven, tiers
from tests.kafka.tiered import FIRST_MS, Tiered
from tests.mounting import KAFKAFS
from tests.spark.reading import frame, rows

TIERED = Tiered()
TOPICS = "orders,payments,plain"


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Iterator[dict[str, dict[str, str]]]:
    """Options by the kind of the tier. The store is a process of its own: executors are others."""
    place, key = tmp_path_factory.mktemp("tier"), aiven.key_pair("k1")
    (place / "k1.pem").write_bytes(key.pem)
    encrypted = aiven.write(TIERED.tier, place / "encrypted", compress=True, key=key)
    with tiers.s3_process() as (server, _):
        yield {
            "directory": {"tiered": str(TIERED.tier)},
            "bucket": {"tiered": tiers.uploaded(encrypted, "read", server), "tiered_key": f"k1:{place}/k1.pem"},
        }


@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_rows_are_as_if_all_were_local(spark: SparkSession, sources, kind):
    options: dict[str, object] = {"subscribe": TOPICS, "kafka__isolation__level": "read_committed", "minPartitions": 6}
    read = frame(spark, TIERED.left, **options, **sources[kind])
    assert rows(read) == rows(frame(spark, TIERED.whole, **options))
    assert "secret" not in read._jdf.queryExecution().toString()
    options = {"subscribe": "orders", "startingTimestamp": FIRST_MS + 200_000, "endingTimestamp": FIRST_MS + 300_000}
    assert rows(frame(spark, TIERED.left, **options, **sources[kind])) == rows(frame(spark, TIERED.whole, **options))


def test_a_plan_tells_nothing_of_what_opens_the_tier(sources):
    options = batch_options({"path": str(TIERED.left), "subscribe": "orders", **sources["bucket"]})
    told = repr(options) + repr(BatchReader(options, None).partitions())  # type: ignore[arg-type]
    assert not any(secret in told for secret in ("secret", "k1.pem"))


def test_an_export_has_what_is_remote(command, tmp_path: Path, sources):
    said = [f"--tiered={sources['bucket']['tiered']}", f"--tiered-key={sources['bucket']['tiered_key']}"]
    topics = ("--topics", "orders")
    assert command("export", TIERED.left, "--to", tmp_path / "left", *topics, *said) == 0
    assert command("export", TIERED.whole, "--to", tmp_path / "whole", *topics) == 0
    columns = ["key", "value", "partition", "offset", "timestamp"]
    left, whole = (
        ds.dataset(tmp_path / name, partitioning="hive")
        .to_table(columns)
        .sort_by([("partition", "ascending"), ("offset", "ascending")])
        for name in ("left", "whole")
    )
    assert left == whole
    assert command("export", TIERED.left, "--to", tmp_path / "left", *topics, *said) == 0, "a second run goes on"


def test_an_audit_finds_in_the_tier_what_is_wrong_there(tmp_path: Path, sources):
    """Clean as the whole directory is; a batch that was altered is found, and where it is."""
    words = ("audit", "--engine", "local", "--topics", "orders,payments")

    def findings(*more: str) -> list[dict[str, object]]:
        done = subprocess.run([KAFKAFS, *words, TIERED.left, *more], capture_output=True, text=True, timeout=120)
        assert "Traceback" not in done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    bucket, local = sources["bucket"], findings()
    assert findings(f"--tiered={bucket['tiered']}", f"--tiered-key={bucket['tiered_key']}") == local
    shutil.copytree(TIERED.tier, tmp_path / "tier")
    log = sorted(next((tmp_path / "tier").glob("orders-0-*")).glob("*.log"))[2]
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    wrong = [each for each in findings(f"--tiered={tmp_path / 'tier'}") if each not in local]
    assert [(each["kind"], each["offset"]) for each in wrong] == [("crc", int(log.name[:20]))]


def test_keys_without_a_tier_are_refused():
    with pytest.raises(UsageError, match="tiered_key is of a tier: name it by tiered"):
        batch_options({"path": "/", "subscribe": "t", "tiered_key": "k1:/k"})
