"""The partitions of two clusters, paired: what only one has, what neither has, and which topics are compacted."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.spark.diff.sides import paired
from tests.log.making import made, write_partition
from tests.spark.test_replicas import broker


def test_partitions_are_paired_by_topic_and_number(tmp_path):
    write_partition(tmp_path / "old", {0: [made(0, [1])]}, "b-10")
    write_partition(tmp_path / "old", {0: [made(0, [1])]}, "b-9")
    write_partition(tmp_path / "new", {0: [made(0, [1])]}, "a-0")
    write_partition(tmp_path / "new", {0: [made(0, [1])]}, "b-9")
    write_partition(tmp_path / "new", {0: [made(0, [1])]}, "b-9.0123456789abcdef0123456789abcdef-delete")
    sides = paired((tmp_path / "old",), (tmp_path / "new",), ALL_TOPICS)
    found = [(str(each.name), each.old is not None, each.new is not None) for each in sides.pairs]
    assert found == [("a-0", False, True), ("b-9", True, True), ("b-10", True, False)]
    assert (sides.missing, sides.troubles) == ([], [])


def test_a_topic_that_neither_side_has_is_an_error(tmp_path):
    for name, topic in (("old", "a-0"), ("new", "b-0")):
        write_partition(tmp_path / name, {0: [made(0, [1])]}, topic)
    assert len(paired((tmp_path / "old",), (tmp_path / "new",), TopicChoice(frozenset("ab"))).pairs) == 2
    with pytest.raises(UsageError, match="no topic 'c'"):
        paired((tmp_path / "old",), (tmp_path / "new",), TopicChoice(frozenset("ac")))


def test_of_a_wrong_topic_the_nearest_one_is_named(tmp_path):
    """Regression: only the topics that were chosen were asked."""
    write_partition(tmp_path / "old", {0: [made(0, [1])]}, "orders-0")
    with pytest.raises(UsageError, match=r"no topic 'order' in '.*old'; did you mean orders\?"):
        paired((tmp_path / "old",), (tmp_path / "old",), TopicChoice(frozenset(["order"])))


def test_two_copies_of_one_broker_on_one_side_are_an_error(tmp_path):
    """Nothing tells which of them is right. On opposite sides they are what is compared."""
    copies = [broker(tmp_path / name, 1, 0, 0) for name in ("one", "two")]
    with pytest.raises(UsageError, match="is both in"):
        paired(tuple(copies), (copies[0],), ALL_TOPICS)
    assert len(paired((copies[0],), (copies[1],), ALL_TOPICS).pairs) == 1


def test_a_cleaner_on_either_side_makes_a_topic_compacted(tmp_path):
    for name in ("old", "new"):
        write_partition(tmp_path / name, {0: [made(0, [1])]})
    assert [each.is_compacted for each in paired((tmp_path / "old",), (tmp_path / "new",), ALL_TOPICS).pairs] == [False]
    (tmp_path / "new/cleaner-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    assert [each.is_compacted for each in paired((tmp_path / "old",), (tmp_path / "new",), ALL_TOPICS).pairs] == [True]
