"""Exports by leader from several machines into one place: every record once, whoever leads, dies or meets whom."""

import json
import os
import random
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from kafkafs.cli.main import main
from kafkafs.errors import UsageError
from kafkafs.spark.export.claims import CLAIM, claimed
from kafkafs.spark.export.compacting import compact
from kafkafs.spark.export.output import output
from kafkafs.tables.offsets import Specific, Timestamps, TopicPartition
from tests.kafka import replicated
from tests.mounting import KAFKAFS
from tests.spark.led_model import METADATA, Cluster, beside, ended, export, exported

SEEDS = int(os.environ.get("KAFKAFS_LED_SEEDS", "1"))


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path)
    for number in made.partitions:
        made.append(number, 10)
    return made


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("has_metadata", [True, False])
def test_every_record_once(tmp_path, seed, has_metadata):
    """Records come, leaders move, runs start one by one or at once and are killed anywhere."""
    chance = random.Random(seed)
    cluster, out = Cluster(tmp_path, has_metadata=has_metadata), tmp_path / "out"
    for _ in range(3):
        for number in cluster.partitions:
            if chance.random() < 0.7:
                cluster.append(number, chance.randint(1, 12))
            if chance.random() < 0.4:
                reported = chance.sample(cluster.brokers, chance.randint(1, 3))  # the others hear of it later, or never
                cluster.elect(number, chance.choice(cluster.brokers), reported)
        running = [
            beside(partial(export, cluster, broker, out), chance.choice([None, chance.randint(1, 14)]))
            for broker in chance.sample(cluster.brokers, chance.randint(1, 3))
        ]
        assert set(ended(*running)) <= {0, 2, -9}
        assert exported(out) <= cluster.truth()  # nothing twice, nothing else
    for number, leader in cluster.leaders.items():
        cluster.elect(number, leader)
    for broker in chance.sample(cluster.brokers, 3):
        export(cluster, broker, out)
    assert exported(out) == cluster.truth()
    assert not list(out.glob(f"{CLAIM}*"))
    assert not list(out.rglob("*.parquet.*"))


def test_real_brokers_beside_each_other(tmp_path, capsys):
    """Three real brokers' disks at once. The metadata of two of them name different leaders of a partition that parted:
    one of the two exports it, and the other one is refused. What else a broker led before its death adds nothing."""
    out, paths = tmp_path / "out", [str(path) for path in replicated.directories()]
    words = [[KAFKAFS, "export", path, "--to", out, "--led-by", str(node)] for node, path in enumerate(paths, 1)]
    running = [subprocess.Popen(each, stderr=subprocess.PIPE, text=True) for each in words]
    reported = [each.communicate(timeout=300)[1] for each in running]
    assert running[0].returncode == 0, reported
    assert {each.returncode for each in running[1:]} in ({0, 2}, {2}), reported  # one met the other, or both
    codes = [main(["export", path, "--to", str(out), "--led-by", str(node)]) for node, path in enumerate(paths, 1)]
    assert (codes[0], sorted(codes[1:])) == (0, [0, 2])
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kafkafs: ")]
    assert re.match("kafkafs: parted-0 (has another batch at offset 60|was exported up to)", said[-1])
    alone = tmp_path / "alone"
    assert main(["export", paths[0], "--to", str(alone), "--topics", "plain,compacted"]) == 0
    for topic in ("topic=plain", "topic=compacted"):
        assert exported(alone / topic) == exported(out / topic)
    assert set(exported(out / "topic=parted").values()) == {1}


def test_a_new_leader_goes_on_with_a_plan_that_was_not_written(cluster, tmp_path):
    out = tmp_path / "out"
    assert ended(beside(lambda: export(cluster, 1, out), killed_at=".parquet")) == [2]
    assert len(list((out / "_kafkafs_export.led/topic=t").glob("partition=*.json"))) == 2
    assert exported(out).total() == 0
    for number in cluster.partitions:
        cluster.elect(number, 2)
        cluster.append(number, 3)
    assert export(cluster, 2, out).done.records == 52
    assert exported(out) == cluster.truth()


def test_what_another_run_has_is_left_and_named(cluster, tmp_path):
    out = tmp_path / "out"
    with claimed(output(str(out)), in_parts=True) as other:
        assert other.claim(["t-0"]) == {}
        with pytest.raises(UsageError, match=r"another export writes t-0 to .*: process .*the same command goes on"):
            export(cluster, 1, out)
        assert set(exported(out)) == {each for each in cluster.truth() if each[0][0] == 3}  # the rest is done
        export(cluster, 2, out)  # and other leaders' machines do not wait
    export(cluster, 1, out)
    export(cluster, 3, out)
    assert exported(out) == cluster.truth()


def test_a_replica_that_lost_exported_records_is_refused(cluster, tmp_path):
    """Broker 1 took two records that no other broker got; broker 2 leads now, and took others."""
    out = tmp_path / "out"
    cluster.append(0, 2, brokers=[1])
    export(cluster, 1, out)
    cluster.elect(0, 2)
    with pytest.raises(UsageError, match="t-0 was exported up to offset 12 and ends at 10 now"):
        export(cluster, 2, out)
    cluster.disks[2].write("t-0", [(None, b"other")] * 3, at=10)
    with pytest.raises(UsageError, match="t-0 has another batch at offset 10 than it had"):
        export(cluster, 2, out)
    assert exported(out)[(0, 11), b"0/11"] == 1


def test_a_broker_that_led_before_adds_nothing(tmp_path):
    """Regression: broker 1 died as the leader, and its metadata still say so. It was refused: "it was truncated"."""
    cluster, out = Cluster(tmp_path, brokers=2, partitions=1), tmp_path / "out"
    cluster.append(0, 5)
    assert export(cluster, 1, out).done.records == 5
    cluster.elect(0, 2, reported=[2])
    cluster.append(0, 4, brokers=[2], epoch=1)
    assert export(cluster, 2, out).done.records == 9
    said = ["t-0 was exported up to offset 9 from another replica; this one ends at 5"]
    assert export(cluster, 1, out).warnings == said
    assert exported(out) == cluster.truth()
    cluster.disks[1].write("t-0", [(None, b"lost")] * 5, at=5)
    with pytest.raises(UsageError, match="t-0 has another batch at offset 5 than it had"):
        export(cluster, 1, out)


def test_without_metadata_a_replica_that_is_behind_adds_nothing(tmp_path):
    cluster, out = Cluster(tmp_path, has_metadata=False), tmp_path / "out"
    cluster.append(0, 5)
    cluster.append(0, 4, brokers=[1])
    assert export(cluster, 1, out).done.records == 9
    assert export(cluster, 2, out).warnings == [
        "t-0 was exported up to offset 9 from another replica; this one ends at 5"
    ]
    assert exported(out) == cluster.truth()
    cluster.disks[3].write("t-0", [(None, b"other")] * 9, at=5)
    with pytest.raises(UsageError, match="t-0 has another batch at offset 5 than it had"):
        export(cluster, 3, out)


def test_other_exports_and_requests_are_refused(cluster, tmp_path, capsys):
    def run(*words: object) -> int:
        """The command."""
        return main(["export", str(cluster.disks[1].path), *map(str, words)])

    def refused(*words: object) -> str:
        """The sentence of an export that ends with 2."""
        assert run(*words) == 2
        reported: str = capsys.readouterr().err.splitlines()[-1]
        return reported

    led, plain = tmp_path / "led", tmp_path / "plain"
    assert run("--to", led, "--led-by", 1) == 0
    assert run("--to", plain) == 0
    assert "holds an export by --led-by" in refused("--to", led)
    assert "holds an export without --led-by" in refused("--to", plain, "--led-by", 1)
    assert "an export of something else" in refused("--to", led, "--led-by", 1, "--topics", "t")
    assert "another --by, or none" in refused("--to", led, "--led-by", 1, "--by", "day")
    assert "leave out --iceberg" in refused("--to", led, "--led-by", 1, "--iceberg", "a.b")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "holds other files" in refused("--to", tmp_path / "full", "--led-by", 1)
    with claimed(output(str(led))):
        assert "another export writes t-0, t-3 to" in refused("--to", led, "--led-by", 1)
    assert exported(plain) == cluster.truth()


def test_a_file_that_no_plan_names_is_refused(cluster, tmp_path):
    out = tmp_path / "out"
    export(cluster, 1, out)
    (file, *_) = (out / "topic=t/partition=0").iterdir()
    shutil.copy(file, file.with_name(file.name.replace("10.parquet", "09.parquet")))
    with pytest.raises(UsageError, match="a file that its plan does not name"):
        export(cluster, 1, out)
    export(cluster, 2, out)  # it is not of that machine's partitions


def test_a_topic_made_again_is_refused(cluster, tmp_path):
    """By a machine, too, that exports none of the partitions that were exported before."""
    out = tmp_path / "out"
    export(cluster, 1, out)
    for number in cluster.partitions:
        (cluster.disks[2].path / f"t-{number}" / "partition.metadata").unlink()
    shared = out / "_kafkafs_export.led/topic=t/topic.json"
    shared.write_text(json.dumps(json.loads(shared.read_text()) | {"topicId": "B" * 21 + "A"}))
    with pytest.raises(UsageError, match="t was deleted and created again: its topic id was B"):
        export(cluster, 3, out)


def test_small_files_are_put_together_and_the_export_goes_on(tmp_path, monkeypatch):
    cluster, out = Cluster(tmp_path / "two", brokers=2, partitions=2), tmp_path / "out"
    for _ in range(2):
        for number in cluster.partitions:
            cluster.append(number, 2)
        for broker in cluster.brokers:
            export(cluster, broker, out, file_bytes=1 << 20)
    for number in cluster.partitions:
        cluster.append(number, 2)
    from kafkafs.spark.export import compacting

    with monkeypatch.context() as patch:
        patch.setattr(compacting, "finish", lambda *_: None)  # it is ended when it has decided
        compact(output(str(out)))
    assert len(list(out.rglob("*.compacting"))) == 2
    for broker in cluster.brokers:
        export(cluster, broker, out, file_bytes=1 << 20)
    assert compact(output(str(out))).before == 4
    assert len(list(out.rglob("*.parquet"))) == 2
    assert exported(out) == cluster.truth()


def test_values_have_one_type_on_all_machines(tmp_path):
    """The first machine settles it, and what is of another type stays bytes."""
    cluster, out = Cluster(tmp_path, brokers=2, partitions=2), tmp_path / "out"
    cluster.disks[1].write("t-0", [(None, b'{"a": 1}')])
    cluster.disks[2].write("t-1", [(None, b'{"a": "x"}'), (None, b'{"a": 2}')])
    running = [beside(partial(export, cluster, broker, out, value="json")) for broker in (1, 2)]
    assert ended(*running) == [0, 0]
    import pyarrow.parquet as pq

    kinds = {str(pq.read_schema(file).field("value").type) for file in out.rglob("*.parquet")}
    assert len(kinds) == 1


def test_an_export_with_an_end_is_settled_at_its_first_run(cluster, tmp_path):
    out = tmp_path / "out"
    end = Specific({TopicPartition("t", number): 5 for number in cluster.partitions})
    assert export(cluster, 1, out, ending=end).done.records == 10
    cluster.append(0, 5)
    assert export(cluster, 1, out, ending=end).done.records == 10
    with pytest.raises(UsageError, match="names t-9"):
        export(cluster, 2, tmp_path / "other", ending=Specific({TopicPartition("t", 9): 1}))
    none = Timestamps(1, "latest")  # all records are later
    assert export(cluster, 2, tmp_path / "none", ending=none).done.records == 0
    assert (tmp_path / "none/_kafkafs_export.led/topic=t/partition=1.json").exists()


FAR = Timestamps(10**15, "latest")


@pytest.mark.parametrize("has_metadata", [True, False])
@pytest.mark.parametrize(
    "window",
    [
        {"ending": FAR},
        {"ending": Specific({TopicPartition("t", 0): 9})},
        {"starting": Timestamps(1, "latest"), "ending": FAR},
    ],
)
def test_a_replica_that_is_behind_does_not_settle_the_end(tmp_path, has_metadata, window):
    """Regression: the machine of a broker that led before ran first. Its last record was the end for all machines."""
    cluster, out = Cluster(tmp_path, brokers=2, partitions=1, has_metadata=has_metadata), tmp_path / "out"
    cluster.append(0, 5)
    cluster.elect(0, 2, reported=[2])
    cluster.append(0, 4, brokers=[2], epoch=1)
    assert export(cluster, 1, out, **window).done.records == 5
    assert export(cluster, 2, out, **window).done.records == 9
    assert export(cluster, 1, out, **window).warnings
    assert exported(out) == cluster.truth()


def test_a_start_that_a_replica_has_not_reached_is_not_settled(tmp_path):
    cluster, out = Cluster(tmp_path, brokers=2, partitions=1), tmp_path / "out"
    cluster.append(0, 5)
    cluster.elect(0, 2, reported=[2])
    cluster.disks[2].write("t-0", [(None, b"late")] * 4, at=5, epoch=1, timestamp=2000)
    start, end = Timestamps(2000, "latest"), Timestamps(2001, "latest")
    assert [export(cluster, broker, out, starting=start, ending=end).done.records for broker in (1, 2, 2)] == [0, 4, 4]


def test_a_machine_with_fewer_disks_is_refused(cluster, tmp_path):
    """The metadata name what its broker led."""
    out = tmp_path / "out"
    export(cluster, 1, out)
    shutil.rmtree(cluster.disks[1].path / "t-3")
    with pytest.raises(UsageError, match="of t partition 3 of 4 is not on these disks, and broker 1 led that"):
        export(cluster, 1, out)
    assert export(cluster, 1, out, fail_on_data_loss=False).done.records == 10
    shutil.rmtree(cluster.disks[2].path / METADATA)
    assert export(cluster, 2, out).done.records == 40  # nothing tells: all that is here
