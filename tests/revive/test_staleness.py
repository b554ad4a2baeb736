"""Metadata that are older than the logs: each sign of it is told, and nothing else is taken for a sign."""

import json
import struct
import time

import pytest

from kafkafs.format.names import CLEAN_SHUTDOWN, METADATA_LOG
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, metadata
from tests.revive.replicas import Made, disk

ONE, TWO = made_up_id("one"), made_up_id("two")
MISSING = ("rights", "users", "quotas", "settings")
LATE_MS = 2_000_000_000_000
"""The metadata end then: no record is later."""


def topic_records(name, topic_id):
    partition = {"topicId": topic_id, "partitionId": 0, "replicas": (1,), "isr": (1,), "leader": 1, "leaderEpoch": 3}
    return [metadata("TopicRecord", name=name, topicId=topic_id), metadata("PartitionRecord", **partition)]


def source(tmp_path, logs, metadata_ms=LATE_MS):
    """A disk with a topic `a`, and `__consumer_offsets`; its metadata end at that time, at offset 5, in epoch 0."""
    path = tmp_path / "disk"
    disk(path, 1, logs)
    next_id = metadata("ProducerIdsRecord", brokerId=1, brokerEpoch=1, nextProducerId=7000)
    Data(path).write(
        METADATA_LOG,
        [*topic_records("a", ONE), *topic_records("__consumer_offsets", TWO), next_id],
        timestamp=metadata_ms,
    )
    return path


def signs(path, tmp_path):
    """Of the plan, and of what was written: they say the same."""
    written = revive([path], Choices(to=tmp_path / "new"))["leftOut"]
    assert planned([path], Choices(to=tmp_path / "other"))["leftOut"] == written
    return [each for each in written if "metadata end at" in each or "older than" in each]


def test_records_behind_the_end_of_the_metadata_are_reported_with_both_times(tmp_path):
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)}, metadata_ms=1_600_000_000_123)
    (sentence,) = signs(path, tmp_path)
    assert "metadata end at 2020-09-13T12:26:40.123Z, records go on to 2023-11-14T22:13:20.010Z" in sentence
    assert all(word in sentence for word in MISSING)


@pytest.mark.parametrize("metadata_ms", [1_700_000_000_010, 1_700_000_000_010 - 1000, 1_800_000_000_000])
def test_metadata_that_go_as_far_as_the_records_need_no_word(metadata_ms, tmp_path):
    assert signs(source(tmp_path, {"a-0": Made([(0, 20)], ONE)}, metadata_ms), tmp_path) == []


def test_a_record_of_a_time_to_come_says_nothing_of_the_metadata(tmp_path):
    path = source(tmp_path, {}, metadata_ms=time.time_ns() // 1_000_000)
    Data(path).write("a-0", [(b"k", b"v")], timestamp=1 << 62)
    assert signs(path, tmp_path) == []


def test_a_leader_epoch_that_the_metadata_do_not_know_tells_that_they_are_older(tmp_path):
    (sentence,) = signs(source(tmp_path, {"a-0": Made([(7, 20)], ONE)}), tmp_path)
    assert "a-0 has leader epoch 7, and they know 3" in sentence
    assert all(word in sentence for word in MISSING)


@pytest.mark.parametrize(("producer_id", "words"), [(6999, []), (7000, ["a-0 has records of producer 7000"])])
def test_a_producer_id_that_the_metadata_have_not_given_out(producer_id, words, tmp_path):
    path = source(tmp_path, {})
    Data(path).write("a-0", [(b"k", b"v")], producer_id=producer_id)
    found = signs(path, tmp_path)
    assert len(found) == len(words)
    assert all(word in found[0] and each in found[0] for word in words for each in (*MISSING, "7000"))


NOTES = {
    CLEAN_SHUTDOWN: lambda number: json.dumps({"version": 0, "brokerEpoch": number}),
    f"{METADATA_LOG}/quorum-state": lambda number: json.dumps({"leaderId": 3, "leaderEpoch": number - 5}),
    f"{METADATA_LOG}/leader-epoch-checkpoint": lambda number: f"0\n2\n0 0\n4 {number}\n",
}  # fmt: skip
"""Each with a number up to 5 where the metadata are as old as the note, and more where they are older."""


@pytest.mark.parametrize("name", NOTES)
@pytest.mark.parametrize(("number", "is_older"), [(3, False), (5, False), (6, True), (900, True)])
def test_notes_of_a_node_that_has_seen_later_metadata(name, number, is_older, tmp_path):
    """Regression: with records of old times, rights and settings were gone without a word."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    (path / name).write_text(NOTES[name](number))
    found = signs(path, tmp_path)
    assert len(found) == is_older
    assert all(word in each and f"{str(path)!r}" in each for each in found for word in MISSING)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\0",
        b"[]",
        b"[" * 100_000,
        b'{"leaderEpoch":' + b"9" * 5000 + b"}",
        b'{"brokerEpoch": "x", "leaderId": null}',
    ],
)
def test_notes_that_cannot_be_read_are_no_sign(content, tmp_path):
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    for name in NOTES:
        (path / name).write_bytes(content)
    assert signs(path, tmp_path) == []


def test_a_candidate_that_nobody_elected_is_no_sign(tmp_path):
    """The nodes that stop last ask for votes in one epoch after the other."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    (path / METADATA_LOG / "quorum-state").write_text('{"leaderId": -1, "leaderEpoch": 50, "votedId": 1}')
    assert signs(path, tmp_path) == []


@pytest.mark.parametrize("tail", [bytes(700), b"\0" * 7 + b"\5half", b"half of a batch"])
def test_a_metadata_log_that_goes_on_in_no_whole_batch_is_told(tail, tmp_path):
    """Regression: a quota was gone after a loss of power, and nothing was said."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    with open(path / METADATA_LOG / f"{0:020}.log", "ab") as log:
        log.write(tail)
    (sentence,) = signs(path, tmp_path)
    assert "behind offset 4, its metadata log has bytes that are no whole batch: rights" in sentence


@pytest.mark.parametrize(("named", "is_told"), [(4, False), (5, True), (90, True)])
def test_an_index_that_goes_on_behind_the_metadata_is_told(named, is_told, tmp_path):
    """Regression: the same, for a log that ends at a border of batches."""
    path = source(tmp_path, {"a-0": Made([(0, 20)], ONE)})
    (path / METADATA_LOG / f"{0:020}.index").write_bytes(struct.pack(">ii", named, 4096).ljust(4096, b"\0"))
    wanted = f"the index of its metadata log goes on to offset {named}, and they end at offset 5"
    assert [wanted in each for each in signs(path, tmp_path)] == [True] * is_told
