"""The data source and the export over a log that goes on in a tier: as if all of it were local."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from kafkafs.errors import UsageError
from kafkafs.log.read_options import TierSource
from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.profile import profile_job
from kafkafs.spark.profile.figures import Figures
from kafkafs.spark.segment_units import live_segments
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.offsets import TopicPartition
from tests.cli.asking import text_of
from tests.kafka import aiven, tiers
from tests.kafka.buckets import in_buckets
from tests.kafka.tiered import FIRST_MS, Tiered
from tests.mounting import KAFKAFS, run
from tests.spark.reading import frame, rows

TIERED = Tiered()
TOPICS = "orders,payments,plain"


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Iterator[dict[str, dict[str, str]]]:
    """Options by the kind of the tier."""
    place, key = tmp_path_factory.mktemp("tier"), aiven.key_pair("k1")
    (place / "k1.pem").write_bytes(key.pem)
    encrypted = aiven.write(TIERED.tier, place / "encrypted", compress=True, key=key)
    with in_buckets() as address_of:
        yield {
            "directory": {"tiered": str(TIERED.tier)},
            "bucket": {"tiered": address_of(encrypted), "tiered_key": f"k1:{place}/k1.pem"},
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
    reported = repr(options) + repr(BatchReader(options, None).partitions())  # type: ignore[arg-type]
    assert not any(secret in reported for secret in ("secret", "k1.pem"))


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
        done = subprocess.run([KAFKAFS, *words, TIERED.left, *more], capture_output=True, text=True, timeout=300)
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


def without_an_object(tmp_path: Path) -> tuple[Path, Path]:
    """The tier without the files of one segment of `orders-0`, and where they lie now."""
    tier, away = tmp_path / "tier", tmp_path / "away"
    shutil.copytree(TIERED.tier, tier)
    away.mkdir()
    log = sorted(next(tier.glob("orders-0-*")).glob("*.log"))[2]
    for each in log.parent.glob(f"{log.stem}*"):
        each.rename(away / each.name)
    return tier, away / log.name


def test_an_audit_names_an_object_that_is_gone_and_goes_on(tmp_path):
    tier, log = without_an_object(tmp_path)
    found: list[Finding] = []
    report = audit(LocalEngine(1), [TIERED.left], found=found.append, source=TierSource(str(tier)))
    sound = audit(LocalEngine(1), [TIERED.left], source=TierSource(str(TIERED.tier)))
    (wrong,) = [each for each in found if each not in sound.findings]
    assert (wrong.kind, wrong.severity, wrong.file) == ("unreadable", "data loss", f"orders-0/{log.name[:20]}.log")
    assert "is not in the tier, and the metadata topic calls it finished" in wrong.message
    assert (report.segments, report.batches) == (sound.segments, sound.batches - 18)


def test_an_audit_of_an_upload_that_reaches_into_the_disk_is_clean(tmp_path):
    """Regression: its transaction index tells of aborts there too, and each was an entry without a marker."""
    data, tier = tiers.rolled_elsewhere(tmp_path, "payments-0")
    words = ("audit", data, "--engine", "local", "--topics", "payments")
    for deep in ((), ("--deep",)):
        done = run(KAFKAFS, *words, "--tiered", tier, *deep, check=False)
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("layout", ["local", "aiven"])
def test_an_audit_of_a_tier_by_itself_is_clean(tmp_path, layout):
    """Regression: each of its directories was foreign to a broker, and the exit code 1."""
    top = TIERED.tier if layout == "local" else aiven.write(TIERED.tier, tmp_path / "tier", compress=True)
    done = run(KAFKAFS, "audit", top, "--engine", "local")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"clean: 4 partitions" in done.stderr


@pytest.mark.usefixtures("hasty")
def test_an_audit_of_a_store_that_is_away_finds_no_damage():
    """It could not run: what is there may be sound."""
    uri = "s3://u:secret@b?endpoint_override=127.0.0.1:9&scheme=http&region=r"
    done = text_of("audit", "--engine", "local", TIERED.left, "--tiered", uri)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the tier s3://b cannot be read" in done.stderr
    assert "secret" not in done.stderr


def test_a_profile_counts_what_is_remote(command, tmp_path, sources, capfd):
    bucket = sources["bucket"]
    words = ("--topics", TOPICS, "--html")
    assert command("profile", TIERED.whole, *words, tmp_path / "whole.html") == 0
    whole = capfd.readouterr().err.splitlines()[-1]
    said = (f"--tiered={bucket['tiered']}", f"--tiered-key={bucket['tiered_key']}")
    assert command("profile", TIERED.left, *words, tmp_path / "left.html", *said) == 0
    left = capfd.readouterr().err.splitlines()[-1]
    assert left.replace("left.html", "whole.html") == whole
    assert re.match(r"6,[0-9]+ records of 4 partitions", whole)


def test_a_profile_passes_over_an_object_that_is_gone(tmp_path):
    def numbers(tier: Path) -> Figures:
        units = live_segments([TIERED.left], "furthest", source=TierSource(str(tier)))
        measured = [profile_job.measure_segment(unit) for unit in units]
        return profile_job.added_up(units, measured)[TopicPartition("orders", 0)]

    sound, left = numbers(TIERED.tier), numbers(without_an_object(tmp_path)[0])
    assert (sound.damaged, left.damaged) == (0, 1)
    assert (left.segments, left.records) == (sound.segments, sound.records - 360)


def test_an_export_goes_on_when_an_object_is_there_again(command, tmp_path, capsys):
    """Until then it names it, in one sentence; what was written stays, and nothing is there twice."""
    tier, log = without_an_object(tmp_path)
    words = ("export", TIERED.left, "--to", tmp_path / "out", "--topics", "orders", "--tiered")
    assert command(*words, tier) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kafkafs: ")]
    assert said == [f"kafkafs: {log.name!r} is not in the tier, and the metadata topic calls it finished"]
    folder = next(tier.glob("orders-0-*"))
    for each in log.parent.iterdir():
        each.rename(folder / each.name)
    again = tier.rename(tmp_path / "again")  # under a name of which nobody in this process remembers anything
    assert command(*words, again) == 0
    table = ds.dataset(tmp_path / "out", partitioning="hive").to_table(["partition", "offset"])
    assert table.num_rows == 4500
    assert len({*zip(*(table[name].to_pylist() for name in ("partition", "offset")), strict=True)}) == 4500


def test_keys_without_a_tier_are_refused():
    with pytest.raises(UsageError, match="tiered_key needs a tier: name it by tiered"):
        batch_options({"path": "/", "subscribe": "t", "tiered_key": "k1:/k"})
