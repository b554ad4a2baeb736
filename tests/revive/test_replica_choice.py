"""Which of several replicas is taken, and what is told of the others."""

import pytest

from kafkafs.revive.topics import made_up_id
from tests.revive.replicas import Made, disk
from tests.revive.test_topics import chosen, image

ONE = made_up_id("one")


def reported(tmp_path, logs, *, isr=None, leader_epoch=5):
    """The number of the disk that is taken, and the sentences: disks of brokers 1, 2, … with these logs."""
    disks = [
        disk(tmp_path / str(node), node, {"t-0": each._replace(topic_id=ONE)}) for node, each in enumerate(logs, 1)
    ]
    metadata = None
    if isr is not None:
        metadata = image(("t", ONE, 1), isr=isr)
        partitions = metadata.topics[ONE].partitions
        partitions[0] = partitions[0]._replace(leader_epoch=leader_epoch)
    found = chosen(disks, metadata)
    replica = found.topics[0].partitions[0].replica
    assert replica is not None
    assert len(replica.others) == len(logs) - 1
    sentences = [each for each in found.sentences if "so its id is that of its directories" not in each]
    return int(replica.directory.path.name), sentences


LONG = Made([(0, 100)])
UNCLEAN = Made([(0, 60)], recorded=[(0, 0), (5, 60)])
SEVEN = Made([(0, 60), (5, 7)])


def test_replicas_that_are_alike_or_behind_need_no_word(tmp_path):
    logs = [Made([(0, 40)]), Made([(0, 50), (2, 10)]), Made([(0, 50), (2, 8)])]
    assert reported(tmp_path, logs, isr=(2, 3)) == (2, [])


def test_a_leader_that_wrote_nothing_loses_nothing_to_the_longer_log(tmp_path):
    """It has all that the last leader had, and what that one's election had lost."""
    taken, (sentence,) = reported(tmp_path, [LONG, UNCLEAN], isr=(2,))
    assert taken == 1
    for word in (
        f"'{tmp_path}/1/t-0' (offsets 0 to 99, last leader epoch 0)", "was not in sync", "lacks nothing",
        f"'{tmp_path}/2/t-0' (offsets 0 to 59, last leader epoch 0, leader of epoch 5 without a record)",
    ):  # fmt: skip
        assert word in sentence


def test_a_leader_that_wrote_seven_counts_and_what_is_lost_is_reported(tmp_path):
    taken, (sentence,) = reported(tmp_path, [LONG, SEVEN], isr=(2,))
    assert taken == 2
    assert f"'{tmp_path}/1/t-0' also has offsets 60 to 99 of leader epoch 0" in sentence
    assert f"'{tmp_path}/2/t-0' (offsets 0 to 66, last leader epoch 5)" in sentence


@pytest.mark.parametrize("isr", [(1,), None])
def test_the_last_leader_counts_where_the_furthest_has_other_records(isr, tmp_path):
    """Elected uncleanly twice: 2 wrote seven and died, 1 led again and wrote nothing. The metadata know it, and so
    does the checkpoint of epochs."""
    again = LONG._replace(recorded=[(0, 0), (7, 100)])
    taken, sentences = reported(tmp_path, [again, SEVEN], isr=isr, leader_epoch=7)
    assert taken == 1
    assert len(sentences) == 2
    assert (
        "because it was in sync when the metadata ended" in sentences[0]
        or "recorded the newest leader epoch" in sentences[0]
    )
    assert f"'{tmp_path}/2/t-0' also has offsets 60 to 66 of leader epoch 5" in sentences[1]


def test_metadata_that_are_older_than_an_epoch_prove_nothing(tmp_path):
    taken, sentences = reported(tmp_path, [LONG, SEVEN], isr=(1,), leader_epoch=2)
    assert taken == 2
    assert any("60 to 99" in each for each in sentences)
    assert not any("lacks nothing" in each for each in sentences)


@pytest.mark.parametrize("has_notes", [True, False])
def test_without_notes_batches_tell_the_epochs(has_notes, tmp_path):
    logs = [each._replace(recorded=None if has_notes else ()) for each in (Made([(0, 60), (3, 30)]), SEVEN)]
    taken, (sentence,) = reported(tmp_path, logs)
    assert taken == 2
    assert "offsets 60 to 89 of leader epoch 3" in sentence


def test_records_before_the_log_start_of_the_chosen_one_are_reported(tmp_path):
    logs = [Made([(0, 50)], start=50), Made([(0, 80)])]
    taken, (sentence,) = reported(tmp_path, logs)
    assert taken == 1
    assert "offsets 0 to 49 of leader epoch 0" in sentence


def test_logs_without_an_epoch_in_common_part_at_once(tmp_path):
    taken, (sentence,) = reported(tmp_path, [Made([(1, 50)]), Made([(2, 20)])])
    assert taken == 2
    assert "offsets 0 to 49 of leader epoch 1" in sentence


def test_a_disk_of_a_node_that_is_not_known_may_have_been_in_sync(tmp_path):
    disks = [disk(tmp_path / str(node), node, {"t-0": LONG._replace(topic_id=ONE)}) for node in (1, 2)]
    (tmp_path / "2/meta.properties").write_text("version=1\n")
    assert chosen(disks, image(("t", ONE, 1), isr=(3,))).sentences == []


def test_one_epoch_of_two_leaders_hides_no_record(tmp_path):
    """Regression: the metadata had been lost once, and epochs began anew. The newest common epoch then told nothing."""
    logs = [Made([(0, 20), (4, 60)]), Made([(0, 10), (2, 20), (4, 30)])]
    taken, (sentence,) = reported(tmp_path, logs)
    assert taken == 1
    assert (
        f"'{tmp_path}/2/t-0' also has offsets 10 to 29 of leader epoch 2; offsets 30 to 59 of leader epoch" in sentence
    )


def test_epochs_that_a_log_start_cut_off_are_the_same(tmp_path):
    (tmp_path / "2").mkdir()
    logs = [Made([(0, 20), (4, 60)]), Made([(4, 30)], start=40)]
    assert reported(tmp_path / "2", logs) == (1, [])
