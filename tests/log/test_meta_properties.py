"""`meta.properties`, which names cluster and node: as KRaft and ZooKeeper brokers write it, and as nobody does."""

from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.meta_properties import cluster_ids, node_ids
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition


@pytest.mark.parametrize("release", ["2.8.0", "4.3.1"])
def test_a_real_broker_is_known_by_its_file(release):
    directory = open_data_directory(Dataset(release, "stopped").path)
    reported = directory.meta_properties()
    assert directory.node_id() == int(reported.get("node.id", reported.get("broker.id", "")))
    assert cluster_ids([directory, directory]) == ([reported["cluster.id"]], [])
    assert node_ids([directory, directory]) == [directory.node_id()]


@pytest.mark.parametrize(
    "text",
    [
        "", "node.id=\n", "node.id=-1\n", "node.id=x\n", "#node.id=1\n", "node.id\n1\n", "\xff=\xff",
        "node.id=2147483648\n", f"node.id={10**20}\n", "node.id=" + "9" * 5000,
    ],
)  # fmt: skip
def test_what_names_no_node_is_none(tmp_path: Path, text):
    write_partition(tmp_path, {0: [made(0, [1])]})
    (tmp_path / "meta.properties").write_text(text)
    assert open_data_directory(tmp_path).node_id() is None


def test_directories_of_two_clusters_are_reported(tmp_path: Path):
    """What is shown of groups and topics would mix them."""
    for name in ("a", "b"):
        write_partition(tmp_path / name, {0: [made(0, [1])]})
        (tmp_path / name / "meta.properties").write_text(f"cluster.id={name}\n")
    ids, problems = cluster_ids([open_data_directory(tmp_path / name) for name in ("a", "b")])
    assert ids == ["a", "b"]
    assert len(problems) == 1
