"""Retention times that revive gives to topics, and what a further broker starts with."""

from pathlib import Path

import pytest

from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.job import planned, revive
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.plan import Choices
from kafkafs.revive.settings import OFF
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, metadata

OWN = {"with": "86400000", "without": None, "kept": "-1", "compacted": None}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Topics with a `retention.ms` of their own and without one."""
    data, reported = Data(tmp_path / "data"), []
    for name, retention in OWN.items():
        topic = made_up_id(name)
        reported += [
            metadata("TopicRecord", name=name, topicId=topic),
            metadata("PartitionRecord", topicId=topic, partitionId=0, replicas=(1,), isr=(1,), leader=1, leaderEpoch=1),
        ]
        if retention is not None:
            reported.append(
                metadata("ConfigRecord", resourceType=2, resourceName=name, name="retention.ms", value=retention)
            )
    reported.append(
        metadata("ConfigRecord", resourceType=2, resourceName="compacted", name="cleanup.policy", value="compact")
    )
    data.write(METADATA_LOG, reported)
    return data.path


def retention_of(place: Path) -> dict[str, str | None]:
    """Of each topic, as the metadata of the new cluster have it."""
    image = read_metadata([open_data_directory(place)], ReadOptions()).image
    assert image is not None
    return {name: image.configs.get((TOPIC_RESOURCE, name), {}).get("retention.ms") for name in image.ids}


def test_topics_without_a_retention_time_of_their_own_keep_everything(source, tmp_path):
    """Regression: a further broker with default settings deleted what had been revived."""
    report = revive([source], Choices(to=tmp_path / "new"))
    assert report["retentionAdded"] == ["compacted", "without"]
    assert retention_of(tmp_path / "new") == {name: own or "-1" for name, own in OWN.items()}
    assert planned([source], Choices(to=tmp_path / "other"))["retentionAdded"] == report["retentionAdded"]


def test_as_is_leaves_them_as_they_are(source, tmp_path):
    report = revive([source], Choices(to=tmp_path / "new", retention="as-is"))
    assert report["retentionAdded"] == []
    assert retention_of(tmp_path / "new") == OWN


def properties(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_a_further_broker_has_all_that_it_needs(source, tmp_path):
    """It is a broker alone, deletes nothing either, and shares neither name, port nor directory with the node."""
    to = tmp_path / "new"
    revive([source], Choices(to=to, node_id=7, host="10.0.0.1", port=19092))
    first, second = properties(to / "server.properties"), properties(to / "second.properties")
    assert {name: second[name] for name in OFF} == {name: value for name, (value, _) in OFF.items()}
    own = {name for name in second if first[name] != second[name]}
    assert own == {"process.roles", "node.id", "listeners", "advertised.listeners", "log.dirs"}
    assert first.keys() == second.keys()
    assert {name: second[name] for name in own} == {
        "process.roles": "broker", "node.id": "8", "listeners": "PLAINTEXT://10.0.0.1:19094",
        "advertised.listeners": "PLAINTEXT://10.0.0.1:19094", "log.dirs": f"{to}-second",
    }  # fmt: skip
    assert "10.0.0.1:19093" in second["controller.quorum.voters"]
    assert "--cluster-id" in (to / "second.properties").read_text()
