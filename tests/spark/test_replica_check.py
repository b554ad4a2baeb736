"""`audit --compare-replicas`: what three real brokers left that were killed at different times, and hand-made logs."""

import json
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.audit.replica_check import compare, diverging, pairs_of
from kafkafs.spark.reindex_job import segments_to_index
from kafkafs.spark.segment_units import live_segments
from tests.kafka import replicated
from tests.spark.test_replicas import broker


def compared(paths: tuple[Path, ...]) -> list[Finding]:
    """The findings, without Spark around."""
    pairs = pairs_of(paths)
    return diverging(pairs, [compare(pair) for pair in pairs])


def test_only_what_really_parted_is_named():
    """Other ends, starts, segments, and what each broker's cleaner did by itself are no findings."""
    (found,) = compared(replicated.directories())
    assert (found.kind, found.severity) == ("replica-divergence", "data loss")
    assert (found.topic, found.partition, found.offset) == ("parted", 0, replicated.COMMON)
    newer, older = found.epochs or (None, None)
    assert newer is not None
    assert older is not None
    assert newer > older >= 0
    assert found.data_directory == str(replicated.directories()[1])  # broker 3 was elected, 2 had gone on
    assert json.loads(found.to_json())["epochs"] == [newer, older]


def test_the_data_are_what_they_are_meant_to_be():
    one, two, three = (path / "compacted-0" for path in replicated.directories())
    assert (
        len(
            {
                tuple((path.name, path.stat().st_size) for path in sorted(each.glob("*.log")))
                for each in (one, two, three)
            }
        )
        == 3
    )
    assert (
        len({tuple(sorted(path.name for path in each.parent.glob("plain-0/*.log"))) for each in (one, two, three)}) == 3
    )


def test_an_audit_compares_where_it_is_asked_to(spark: SparkSession, tmp_path):
    paths = [broker(tmp_path / "one", 1, 0, 0, 1), broker(tmp_path / "two", 2, 0, 0, 0, 0)]
    assert "replica-divergence" not in {each.kind for each in audit(spark, paths).findings}
    report = audit(spark, paths, compare_replicas=True)
    (parted,) = [json.loads(each.to_json()) for each in report.findings if each.kind == "replica-divergence"]
    assert (parted["topic"], parted["partition"], parted["offset"], parted["epochs"]) == ("t", 0, 2, [1, 0])


def test_those_that_do_not_count_are_held_against_each_other_where_the_first_begins_later(tmp_path):
    paths = [broker(tmp_path / name, node, *epochs) for node, (name, epochs) in enumerate(
        {"one": (5, 5, 5, 5), "two": (0, 0, 5, 5), "three": (1, 0, 5, 5)}.items()
    )]  # fmt: skip
    (paths[0] / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    (found,) = compared(tuple(paths))
    assert (found.offset, found.epochs) == (0, (0, 1))


def test_indexes_are_made_of_the_replica_that_got_furthest(tmp_path):
    paths = [broker(tmp_path / "one", 1, 0, 0), broker(tmp_path / "two", 2, 0, 1)]
    mark = "0123456789abcdef0123456789abcdef"
    shutil.copytree(paths[0] / "t-0", paths[0] / f"t-0.{mark}-delete")
    found = {(unit.data_directory.name, unit.partition_directory) for unit in segments_to_index(paths)}
    assert found == {("two", "t-0"), ("one", f"t-0.{mark}-delete")}
    assert {unit.data_directory for unit in live_segments(paths, "furthest")} == {paths[1]}
