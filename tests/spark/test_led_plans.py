"""The plans of an export by leader as they are written down; whole exports are in `test_led_job`."""

import json
import threading

import pytest

from kafkafs.errors import UsageError
from kafkafs.spark.export.claims import CLAIM, Timing, claimed
from kafkafs.spark.export.led_plans import partition_of, plan_name
from kafkafs.spark.export.output import output
from kafkafs.tables.offsets import TopicPartition
from tests.spark.led_model import Cluster, export, exported

LED = "_kafkafs_export.led/topic=t"
RANGE = "00000000000000000000-00000000000000000009"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (f"topic=a-1/partition=2/{RANGE}.parquet", "a-1-2"),
        (f"topic=t/date=2026-11-24/hour=07/partition=2/{RANGE}.parquet", "t-2"),
        (f"topic=t/partition=2/.{RANGE}.parquet.host.7.tmp", "t-2"),
        (f"_kafkafs_export.done/a-1-2-{RANGE}.json", "a-1-2"),
        (f"_kafkafs_export.done/a-1-2/{RANGE}.json", "a-1-2"),
        (plan_name(TopicPartition("a-1", 2)), "a-1-2"),
        ("_kafkafs_export.led/topic=t/.partition=2.json.host.7.tmp", "t-2"),
        (f"{LED}/topic.json", "None"),
        ("_kafkafs_export.led/request.json", "None"),
        (f"{CLAIM}host-7", "None"),
    ],
)
def test_a_file_belongs_to_a_partition_or_to_all(file, name):
    assert str(partition_of(file)) == name


@pytest.fixture
def cluster(tmp_path) -> Cluster:
    made = Cluster(tmp_path, brokers=2, partitions=2)
    for number in made.partitions:
        made.append(number, 3)
    return made


@pytest.mark.parametrize("file", ["partition=0.json", "topic.json", "../request.json"])
@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 9_999])
def test_what_no_export_wrote_is_refused(cluster, tmp_path, file, text):
    out = tmp_path / "out"
    export(cluster, 1, out)
    cluster.append(0, 1)
    (out / LED / file).write_text(text)
    with pytest.raises(
        UsageError, match=r"is not what an export wrote|is not the plan of an export|an export of something else"
    ):
        export(cluster, 1, out)


def test_a_plan_names_no_file_of_another_partition_or_of_the_machine(cluster, tmp_path):
    """It comes from a place that others may write."""
    out = tmp_path / "out"
    export(cluster, 1, out)
    plan = out / LED / "partition=0.json"
    reported = json.loads(plan.read_text())
    for files in ([["/", "t", 1, 0, 3, 9]], [["/etc", "t", 0, 0, 3, 9]], [["/", "../t", 0, 0, 3, 9]]):
        plan.write_text(json.dumps(reported | {"files": files}))
        with pytest.raises(UsageError, match="is not the plan of"):
            export(cluster, 1, out)


def test_a_run_leaves_half_written_files_of_others(cluster, tmp_path):
    out = tmp_path / "out"
    export(cluster, 1, out)
    ours, theirs = (out / f"topic=t/partition={number}/.{RANGE}.parquet.host.7.tmp" for number in (0, 1))
    theirs.parent.mkdir()
    for file in (ours, theirs):
        file.write_bytes(b"half")
    cluster.append(0, 1)
    export(cluster, 1, out)
    assert (ours.exists(), theirs.exists()) == (False, True)


def test_the_type_of_a_topic_is_waited_for(cluster, tmp_path):
    """The machine that settles it is killed: another one takes over."""
    out = tmp_path / "out"
    timing = Timing(renewed_s=0.1, expired_s=0.5, pause_s=0.11)
    with claimed(output(str(out)), timing, in_parts=True) as other:
        other.claim(["topic/t"])
        other._ended.set()
        for renewing in [each for each in threading.enumerate() if each.name == "kafkafs-claim"]:
            renewing.join()  # else it may write the claim of this living process once more
        reported = json.loads((out / other.name).read_text()) | {"machine": "another"}
        (out / other.name).write_text(json.dumps(reported))
        export(cluster, 1, out, timing, value="json")
    assert sum(exported(out).values()) == 3
