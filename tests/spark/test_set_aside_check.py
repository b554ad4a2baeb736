"""`audit` names directories that a broker has set aside by mistake."""

from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark.audit.set_aside_check import check_set_aside
from tests.cluster.writing import Data, metadata
from tests.revive.replicas import UUID, Made, disk
from tests.revive.test_topics import ONE, TWO


def test_a_stray_directory_of_its_own_topic_is_named(tmp_path):
    stray, other = f"t-0.{UUID}-stray", f"gone-0.{UUID}-stray"
    logs = {stray: Made([(0, 30)], ONE), other: Made([(0, 5)], TWO), f"t-1.{UUID}-delete": Made([(0, 5)], ONE)}
    directory = disk(tmp_path / "a", 1, logs)
    assert check_set_aside([directory]) == []  # nothing tells whose they are
    Data(directory.path).write(METADATA_LOG, [metadata("TopicRecord", name="t", topicId=ONE)])
    directory = open_data_directory(directory.path)
    (found,) = check_set_aside([disk(tmp_path / "b", 2, {}), directory])
    assert (found.kind, found.topic, found.partition, found.severity) == ("stray-own-id", "t", 0, "note")
    assert found.file.startswith(f"{stray}/")
    assert "offsets 0 to 29" in found.message
    assert "no directory here has that partition" in found.message
    assert "--include stray" in found.message
    (found,) = check_set_aside([directory, disk(tmp_path / "c", 3, {"t-0": Made([], ONE)})])
    assert "no directory" not in found.message
