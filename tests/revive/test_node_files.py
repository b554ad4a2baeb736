"""The files of the new directory that are not logs."""

import json

import pytest

from kafkafs.format.names import CLEAN_SHUTDOWN, META_PROPERTIES
from kafkafs.revive.node_files import NodeFiles, cluster_of
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.plan import Choices, make_plan
from tests.revive.replicas import Made, disk


@pytest.mark.parametrize("retention", ["off", "as-is"])
def test_topics_without_a_retention_time_get_one_unless_it_is_to_stay(tmp_path, retention):
    """Any further broker may have another default, and delete what was just revived."""
    choices = Choices(to=tmp_path / "new", retention=retention)
    plan = make_plan([disk(tmp_path / "a", 1, {"t-0": Made([(0, 60)])}).path], choices)
    node = NodeFiles(plan, choices)
    assert node.without_retention == (["t"] if retention == "off" else [])


def test_no_broker_starts_before_the_last_files(tmp_path):
    """Without them Kafka refuses the directory. A command that begins again takes them away first."""
    choices = Choices(to=tmp_path / "new")
    plan = make_plan([disk(tmp_path / "a", 1, {"t-0": Made([(0, 60)])}).path], choices)
    place = NewDirectory(choices.to, {})
    node = NodeFiles(plan, choices)
    node.write_settings(place)
    assert not (place.path / META_PROPERTIES).exists()
    node.write_last_files(place)
    assert cluster_of(place).directories[0].meta_properties()["cluster.id"] == plan.cluster_id
    assert json.loads((place.path / CLEAN_SHUTDOWN).read_bytes())["version"] == 0
    node.remove_last_files(place)
    assert not (place.path / META_PROPERTIES).exists()
    assert not (place.path / CLEAN_SHUTDOWN).exists()
