"""Groups that have read further than a partition goes."""

import pytest

from kafkafs.format.names import METADATA_LOG
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, commit, coordinator_record
from tests.revive.replicas import UUID, Made, disk
from tests.revive.test_fingerprint import topic_records

ONE, TWO = made_up_id("one"), made_up_id("two")


def source(tmp_path, logs, metadata_ms=2_000_000_000_000):
    """A disk with a topic `a`, and `__consumer_offsets`; its metadata end at that time."""
    path = tmp_path / "disk"
    disk(path, 1, logs)
    Data(path).write(
        METADATA_LOG, [*topic_records("a", ONE), *topic_records("__consumer_offsets", TWO)], timestamp=metadata_ms
    )
    return path


def left_out(path, tmp_path, **more):
    """Of the plan, and of what was written: they say the same."""
    written = revive([path], Choices(to=tmp_path / "new", **more))["leftOut"]
    assert planned([path], Choices(to=tmp_path / "other", **more))["leftOut"] == written
    return written


def test_offsets_that_groups_have_committed_behind_an_end_are_reported(tmp_path):
    """A line for each group and partition; the end itself is where a group goes on."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    commits = [
        commit("at", "a", 0, 20),
        commit("behind", "a", 0, 21),
        commit("far", "a", 0, 500),
        commit("x", "b", 0, 9),
    ]
    Data(path).write("__consumer_offsets-0", commits)
    sentences = [each for each in left_out(path, tmp_path) if "has committed" in each]
    assert [each[: each.index(",")] for each in sentences] == [
        "the group 'behind' has committed offset 21 of a-0", "the group 'far' has committed offset 500 of a-0",
        "the group 'x' has committed offset 9 of b-0",
    ]  # fmt: skip
    assert ["ends at 20" in each for each in sentences] == [True, True, False]


def test_a_partition_that_only_a_group_knows_is_reported(tmp_path):
    """Regression: without metadata, the last partitions of a topic were missing without a word."""
    path = tmp_path / "disk"
    disk(path, 1, {"a-0": Made([(0, 20)]), "a-1": Made([(0, 20)])})
    commits = [commit("g", "a", 1, 20), commit("g", "a", 2, 7), commit("g", "gone", 0, 8), commit("g", "a", 3, 0)]
    Data(path).write("__consumer_offsets-0", commits)
    sentences = [each for each in left_out(path, tmp_path) if "has committed" in each]
    assert [each[: each.index(",")] for each in sentences] == [
        "the group 'g' has committed offset 7 of a-2", "the group 'g' has committed offset 8 of gone-0",
    ]  # fmt: skip
    assert all("is not revived" in each for each in sentences)
    wanted = planned([path], Choices(to=tmp_path / "third", topics=("a",)))["leftOut"]
    assert [each for each in wanted if "has committed" in each] == sentences[:1]


def test_a_group_of_a_partition_that_begins_again_is_reported(tmp_path):
    stray = f"a-0.{UUID}-stray"
    path = source(tmp_path, {stray: Made([(0, 20)], ONE)})
    Data(path).write("__consumer_offsets-0", [commit("g", "a", 0, 20)])
    assert any("'g' has committed offset 20 of a-0, which ends at 0" in each for each in left_out(path, tmp_path))
    taken = revive([path], Choices(to=tmp_path / "whole", include=("stray",)))["leftOut"]
    assert not any("has committed" in each for each in taken)


def state(kind, group, start, partition=0):
    """The place of a share group; None ends it."""
    key = {"groupId": group, "topicId": ONE, "partition": partition}
    value = None if start is None else {"startOffset": start}
    return coordinator_record("share-coordinator", kind, key, value, 0)


@pytest.mark.parametrize("is_stray", [True, False])
def test_a_share_group_of_a_partition_that_begins_again_is_reported(is_stray, tmp_path):
    logs = {f"a-0.{UUID}-stray": Made([(0, 20)], ONE)} if is_stray else {"b-0": Made([(0, 20)])}
    path = source(tmp_path, logs)
    Data(path).write("__share_group_state-0", [state("ShareSnapshot", "g", 20), state("ShareSnapshot", "new", 0)])
    sentences = [each for each in left_out(path, tmp_path) if "share group" in each]
    assert sentences == ["the share group 'g' is at offset 20 of a-0, which ends at 0"]
    if is_stray:
        taken = revive([path], Choices(to=tmp_path / "whole", include=("stray",)))["leftOut"]
        assert not any("share group" in each for each in taken)


def test_a_partition_that_only_a_share_group_knows_is_reported(tmp_path):
    """Regression: without metadata, the last partitions of a topic were missing without a word."""
    path = tmp_path / "disk"
    disk(path, 1, {"a-0": Made([(0, 20)], ONE)})
    records = [state("ShareSnapshot", "g", 7, 2), state("ShareSnapshot", "g", 0, 3), state("ShareSnapshot", "g", 5)]
    Data(path).write("__share_group_state-0", records)
    sentences = [each for each in left_out(path, tmp_path) if "share group" in each]
    assert sentences == [
        "the share group 'g' is at offset 7 of a-2, which is not revived: no disk has it, or another line says why"
    ]


def test_share_groups_that_are_behind_an_end_are_reported(tmp_path):
    """As far as their last record tells; a group that was deleted is at none."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    records = [
        state("ShareSnapshot", "at", 20), state("ShareSnapshot", "far", 5), state("ShareUpdate", "far", 21),
        state("ShareSnapshot", "gone", 99), state("ShareSnapshot", "gone", None),
    ]  # fmt: skip
    Data(path).write("__share_group_state-0", records)
    sentences = [each for each in left_out(path, tmp_path) if "share group" in each]
    assert sentences == ["the share group 'far' is at offset 21 of a-0, which ends at 20"]
