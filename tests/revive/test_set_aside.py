"""Directories that a broker has set aside: named with their records, and revived where `--include` says so."""

from itertools import product

import pytest

from kafkafs.errors import UsageError
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.job import revive
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, metadata, transaction
from tests.revive.replicas import UUID, Made, disk
from tests.revive.test_topics import chosen, image, shape

ONE, TWO = made_up_id("one"), made_up_id("two")
WORDS = {"stray": "stray", "delete": "deleted"}


def aside(mark, topic="t", number=0):
    return f"{topic}-{number}.{UUID}-{mark}"


def replica(found, number=0):
    (topic,) = found.topics
    return topic.partitions[number].replica


@pytest.mark.parametrize("mark", WORDS)
def test_what_has_the_topics_own_id_is_named_and_can_be_included(mark, tmp_path):
    directory = disk(tmp_path / "a", 1, {aside(mark): Made([(0, 300)], ONE)})
    metadata = image(("t", ONE, 1))
    left = chosen([directory], metadata)
    assert shape(left) == {"t": [False]}
    (sentence,) = left.sentences
    for word in ("t-0:", aside(mark), "300 records", "offsets 0 to 299", f"--include {WORDS[mark]}"):
        assert word in sentence
    assert "no disk has a replica" not in sentence
    taken = chosen([directory], metadata, include=[WORDS[mark]])
    assert replica(taken).place == str(tmp_path / "a" / aside(mark))
    assert any("is revived from" in each and "300 records" in each for each in taken.sentences)


@pytest.mark.parametrize(("mark", "own"), [*product(WORDS, (True, False))])
def test_beside_a_directory_in_use_it_is_named_too(mark, own, tmp_path):
    """A broker made the partition anew, empty, in place of what it had set aside."""
    logs = {"t-0": Made([], ONE), aside(mark): Made([(0, 100)], ONE if own else TWO)}
    directory, metadata = disk(tmp_path / "a", 1, logs), image(("t", ONE, 1))
    left = chosen([directory], metadata)
    assert replica(left).place == str(tmp_path / "a/t-0")
    (sentence,) = left.sentences
    assert "100 records" in sentence
    assert (f"--include {WORDS[mark]}" in sentence) == own
    assert ("another topic of that name" in sentence) != own
    taken = chosen([directory], metadata, include=[WORDS[mark]])
    assert replica(taken).place == str(tmp_path / "a" / (aside(mark) if own else "t-0"))


def test_two_directories_in_use_of_one_broker_are_refused_with_what_they_hold(tmp_path):
    """It moved the partition while its disks were copied; the advice to read one of them at a time helps nobody."""
    directories = [disk(tmp_path / name, 1, {"t-0": Made([(0, count)], ONE)}) for name, count in (("a", 50), ("b", 30))]
    with pytest.raises(UsageError) as refused:
        chosen(directories, image(("t", ONE, 1)))
    for words in ("t-0 is both in", "a/t-0' (50 records", "b/t-0' (30 records", "another name in a copy of its disk"):
        assert words in str(refused.value)
    (tmp_path / "b/t-0").rename(tmp_path / "b" / aside("stray"))
    (sentence,) = chosen([open_data_directory(each.path) for each in directories], image(("t", ONE, 1))).sentences
    assert "30 records" in sentence


def test_what_was_written_since_counts_and_what_was_set_aside_is_reported(tmp_path):
    logs = {"t-0": Made([(4, 7)], ONE), aside("stray"): Made([(0, 100)], ONE)}
    taken = chosen([disk(tmp_path / "a", 1, logs)], image(("t", ONE, 1)), include=["stray"])
    assert replica(taken).place == str(tmp_path / "a/t-0")
    (sentence,) = taken.sentences
    assert aside("stray") in sentence
    assert "offsets 0 to 99 of leader epoch 0" in sentence


def test_a_new_metadata_log_that_knows_no_topic_leaves_all_to_include(tmp_path):
    """A broker that began with empty metadata has set everything aside."""
    logs = {aside("stray"): Made([(0, 30)], ONE), aside("stray", number=2): Made([(0, 20)], ONE)}
    directory = disk(tmp_path / "a", 1, logs)
    for known in (image(), None):
        left = chosen([directory], known)
        assert left.topics == []
        assert len([each for each in left.sentences if "--include stray" in each]) == 2
        taken = chosen([directory], known, include=["stray"])
        assert shape(taken) == {"t": [True, False, True]}
        assert taken.topics[0].topic_id == ONE


def test_a_deleted_topic_stays_deleted_whatever_is_included(tmp_path):
    directory = disk(tmp_path / "a", 1, {aside("delete"): Made([(0, 30)], TWO), "u-0": Made([(0, 5)], ONE)})
    for include in ((), ("deleted", "stray")):
        found = chosen([directory], image(("u", ONE, 1), removed=[TWO]), include=include)
        assert shape(found) == {"u": [True]}
        (sentence,) = found.sentences
        assert "its topic was deleted" in sentence
        assert "30 records" in sentence
        assert "--until" in sentence


def test_a_copy_under_way_of_a_deleted_topic_is_named(tmp_path):
    """Regression: no option brings it back, and no word was said."""
    directory = disk(tmp_path / "a", 1, {aside("future"): Made([(0, 30)], TWO), "u-0": Made([(0, 5)], ONE)})
    (sentence,) = chosen([directory], image(("u", ONE, 1), removed=[TWO])).sentences
    assert aside("future") in sentence
    assert "30 records" in sentence


def test_a_copy_under_way_is_reported_only_where_it_has_something_alone(tmp_path):
    logs = {"t-0": Made([(0, 50)], ONE), aside("future"): Made([(0, 30)], ONE)}
    assert chosen([disk(tmp_path / "a", 1, logs)], image(("t", ONE, 1))).sentences == []
    alone = chosen([disk(tmp_path / "b", 1, {aside("future"): logs[aside("future")]})], image(("t", ONE, 1)))
    (sentence,) = alone.sentences
    assert "30 records" in sentence
    assert "named t-0 in a copy of that disk it counts" in sentence


def test_a_name_that_was_cut_off_is_found_by_its_id(tmp_path):
    topic = "x" * 249
    cut = f"{'x' * 210}-0.{UUID}-delete"
    cut = f"{'x' * (255 - len(cut) + 210)}-0.{UUID}-delete"
    directory = disk(tmp_path / "a", 1, {cut: Made([(0, 30)], ONE)})
    taken = chosen([directory], image((topic, ONE, 1)), include=["deleted"])
    assert shape(taken) == {topic: [True]}
    (sentence,) = chosen([directory], None, include=["deleted"]).sentences
    assert "cut off" in sentence
    assert "30 records" in sentence


def test_partitions_that_the_topic_does_not_have_are_named(tmp_path):
    logs = {"t-0": Made([(0, 5)], ONE), aside("stray", number=7): Made([(0, 30)], ONE)}
    (sentence,) = chosen([disk(tmp_path / "a", 1, logs)], image(("t", ONE, 1))).sentences
    assert "30 records" in sentence


def test_producer_ids_of_transactions_that_were_set_aside_are_not_given_out_again(tmp_path):
    """The metadata of a broker that began anew know none of them, and the first record of a new producer would be
    taken for one that is there."""
    path = tmp_path / "disk"
    data = Data(path)
    data.write("__transaction_state-0", [transaction("t", producerId=41_234, previousProducerId=-1)])
    (path / "__transaction_state-0").rename(path / aside("stray", "__transaction_state"))
    data.write(METADATA_LOG, [metadata("TopicRecord", name="new", topicId=TWO)])
    report = revive([path], Choices(to=tmp_path / "new", include=("stray",)))
    assert "__transaction_state" in {each["topic"] for each in report["revived"]}
    reported = read_metadata([open_data_directory(tmp_path / "new")], ReadOptions()).image
    assert reported is not None
    assert reported.next_producer_id == report["nextProducerId"] == 42_000
