"""Directories of two different clusters: partitions of one name are no replicas of each other there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafkafs.cli.main import main
from kafkafs.errors import UsageError
from kafkafs.log.read_options import ReadOptions
from kafkafs.spark.frame import Frame
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options, stream_options
from kafkafs.spark.stream import StreamReader
from kafkafs.tables.registries import registry_of
from kafkafs.view import tree
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

CLUSTERS = [Dataset(release, "stopped") for release in ("3.9.1", "4.3.1")]
REFUSED = {
    "grep": ("-c", "."),
    "audit": (),
    "export": ("--to", "out"),
    "profile": ("--html", "out"),
    "reindex": ("--index-dir", "out"),
    "groups": (),
}


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    """A topic of one name in two clusters, with its own groups and metadata in each."""
    names = ("segments-0", "__cluster_metadata-0", "__consumer_offsets-0")
    return [each.copy_to(tmp_path / each.release, *names) for each in CLUSTERS]


def ids(both: list[Path]) -> list[str]:
    reported = [(path / "meta.properties").read_text() for path in both]
    return [text.split("cluster.id=")[1].split("\n")[0] for text in reported]


@pytest.mark.parametrize("command", REFUSED)
def test_what_reads_a_partition_once_refuses_them(both, tmp_path, monkeypatch, capsys, command):
    """Regression: `grep` found 72 of 144 records, and exit code 0 said that these were all."""
    monkeypatch.chdir(tmp_path)
    words = [*REFUSED[command], *map(str, both)]
    assert main([command, *words]) == 2
    one, other = ids(both)
    assert capsys.readouterr().err == (
        f"kafkafs: '{both[0]}' is of the cluster {one} and '{both[1]}' of {other};"
        " name the directories of one cluster\n"
    )
    assert not (tmp_path / "out").exists()


def test_the_data_source_refuses_them(both):
    options = {"path": ",".join(map(str, both)), "subscribe": "segments"}
    with pytest.raises(UsageError, match="name the directories of one cluster"):
        BatchReader(batch_options(options), Frame()).partitions()
    with pytest.raises(UsageError, match="name the directories of one cluster"):
        StreamReader(stream_options(options), Frame()).latestOffset()
    with pytest.raises(UsageError, match="name the directories of one cluster"):
        registry_of(both)


def test_a_directory_that_tells_no_cluster_is_of_any(both, tmp_path, capsys):
    """As copies of single partitions are, and brokers of ZooKeeper's early days."""
    (both[1] / "meta.properties").unlink()
    assert main(["grep", "-c", ".", "--topics", "segments", *map(str, both)]) == 0
    assert capsys.readouterr().out == "segments-0:250\n"


def test_a_mount_shows_both_and_tells_of_neither(both):
    """Rather than a mixture of their groups and topics."""
    root: Any = tree.Root(both, ReadOptions())
    assert "segments-0" in {each.name for each in root.entries()}
    cluster = root.child(".cluster")
    assert [each.name for each in cluster.entries()] == ["state.json"]
    state = json.loads(bytes(cluster.child("state.json").open().read(0, 1 << 16)))
    assert [state[name] for name in ("clusterId", "nodeId", "metadata", "groups", "transactions")] == [None] * 5
    assert state["problems"] == [
        f"these directories are of 2 clusters ({', '.join(ids(both))}): name the directories of one cluster"
    ]
    for number, path in enumerate(both, 1):
        own = root.child(".replicas").child(str(number)).child("segments-0")
        about = json.loads(bytes(own.child("info.json").open().read(0, 1 << 20)))
        assert [(each["name"], each["chosen"], each["dataDirectory"]) for each in about["replicas"]] == [
            (f".replicas/{number}/segments-0", True, str(path))
        ]
    first = root.child("segments-0").child("info.json").open()
    assert bytes(first.read(0, 1 << 20)).count(str(both[0]).encode()) == 1


def test_without_a_mount_the_same_is_reported(both):
    words: list[str | Path] = [KAFKAFS, "ls", ",".join(map(str, both)), ".cluster"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "state.json\n"
