"""Whether an open transaction hangs, where its coordinator is on these disks, on others, or damaged."""

import os
import time

import pytest

from kafkafs.cluster import transactions
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.transactions import ProducerScans
from kafkafs.format.producer_snapshot import ProducerState, producer_snapshot_bytes
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines
from tests.cluster.writing import Data, batch, marker, metadata, transaction

METADATA = "__cluster_metadata-0"
TOPIC_ID = "A" * 21 + "Q"
PRODUCER = 7


@pytest.fixture
def data(tmp_path):
    """A topic `t` with an open transaction, in a cluster that has two partitions of coordinators."""
    data = Data(tmp_path / "data")
    data.write("t-0", [(None, b"within")], producer_id=PRODUCER)
    data.write(
        METADATA,
        [
            metadata("TopicRecord", name="__transaction_state", topicId=TOPIC_ID),
            *(metadata("PartitionRecord", 1, topicId=TOPIC_ID, partitionId=number) for number in range(2)),
        ],
    )
    return data


def owned(name="id", partition=0, **value):
    fields = {"transactionStatus": 1, "transactionPartitions": [{"topic": "t", "partitionIds": [partition]}]}
    return transaction(name, **fields | {"producerId": PRODUCER} | value)


def reported(*directories):
    rows = lines(Root([each.path for each in directories], ReadOptions()), "open-transactions.jsonl")
    return [(row["topic"], row["transactionalId"], row["hanging"]) for row in rows]


def test_one_whose_id_has_the_partition_does_not_hang(data):
    data.write("__transaction_state-1", [owned()])
    assert reported(data) == [("t", "id", False)]


def test_one_whose_id_knows_nothing_of_the_partition_hangs(data):
    data.write("__transaction_state-1", [owned(partition=1)])
    assert reported(data) == [("t", "id", True)]


@pytest.mark.parametrize("field", ["previousProducerId", "nextProducerId"])
def test_former_and_next_producer_ids_are_the_ids_as_well(data, field):
    data.write("__transaction_state-1", [owned(producerId=99, **{field: PRODUCER})])
    assert reported(data) == [("t", "id", False)]


def test_one_that_no_id_has_hangs_only_if_all_coordinators_are_here(data):
    data.write("__transaction_state-0", [owned(producerId=99)])
    assert reported(data) == [("t", None, None)]
    data.write("__transaction_state-1", [owned("other", producerId=98)])
    assert reported(data) == [("t", None, True)]


def test_a_coordinator_on_another_brokers_disks_counts(data, tmp_path):
    """A dead cluster's disks are looked at together."""
    data.write("__transaction_state-0", [owned("other", producerId=98)])
    other = Data(tmp_path / "other")
    (other.path / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    other.write("__transaction_state-1", [owned()])
    assert reported(data, other) == [("t", "id", False)]


@pytest.mark.parametrize("value", [b"\0\x09", b"\0\1"], ids=["unknown version", "cut"])
def test_what_cannot_be_read_may_be_the_one_that_has_it(data, value):
    key, _ = owned()
    data.write("__transaction_state-0", [owned("other", producerId=98)])
    data.write("__transaction_state-1", [(key, value)])
    assert reported(data) == [("t", None, None)]


@pytest.mark.parametrize("has_snapshot", [True, False])
@pytest.mark.parametrize("has_ended", [True, False])
def test_what_stands_below_the_log_start_counts_while_it_is_there(data, has_snapshot, has_ended):
    """Kafka Streams deletes records of its repartition topics all the time. A broker still knows where the transaction
    began, and `kafka-transactions.sh describe-producers` tells it after a restart, too."""
    if has_snapshot:
        known = ProducerState(PRODUCER, 0, 0, 0, 0, 1000, -1, 0)
        (data.path / "t-0" / f"{1:020}.snapshot").write_bytes(producer_snapshot_bytes([known]))
    if has_ended:
        data.write("t-0", [marker()], producer_id=PRODUCER, is_control=True)
    else:
        data.write("t-0", [(None, b"outside")])
    (data.path / "t-0" / f"{2:020}.log").write_bytes(batch([(None, b"outside")] * 4, 2))
    (data.path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    rows = lines(Root([data.path], ReadOptions()), "open-transactions.jsonl")
    assert [row["firstOffset"] for row in rows] == ([] if has_ended else [0])


def test_a_snapshot_of_what_is_gone_tells_nothing(data):
    """The end of that transaction may have stood in a segment that was deleted."""
    (data.path / "t-0" / f"{0:020}.log").rename(data.path / f"{0:020}.log")
    known = ProducerState(PRODUCER, 0, 0, 0, 0, 1000, -1, 0)
    (data.path / "t-0" / f"{1:020}.snapshot").write_bytes(producer_snapshot_bytes([known]))
    data.write("t-0", [(None, b"outside")] * 4, at=5)
    assert reported(data) == []


def test_a_partition_is_scanned_again_only_where_it_has_changed(data, calls):
    """A broker has thousands of partitions, and `.cluster/` is asked every second."""

    def found():
        partition.look_again()
        return [each.producer_id for each in known.open_in(partition)]

    scans = calls(transactions, "producers_at_end")
    partition, known = open_data_directory(data.path).partition("t-0"), ProducerScans()
    log = data.path / "t-0" / f"{0:020}.log"
    for path in (log, log.parent):
        os.utime(path, (time.time() - 60,) * 2)
    assert [found(), found()] == [[PRODUCER]] * 2
    assert [scanned.name.directory for scanned, _ in scans] == ["t-0"]
    data.write("t-0", [marker()], producer_id=PRODUCER, is_control=True)
    assert [found(), found()] == [[]] * 2
    assert len(scans) == 3  # what has changed a moment ago may change again within the same tick of the clock
    known.keep_only([])
    found()
    assert len(scans) == 4


def hangs_then(data, until_ms, ended_ms=0):
    cluster = Cluster([open_data_directory(data.path)], ReadOptions(), until_ms)
    cluster.look()
    return cluster.transactions.owners().hangs("t", 0, PRODUCER, ended_ms)


def test_as_of_a_moment_its_coordinator_knows_what_it_knew_then(data):
    """Up to the first later record, whatever stands behind that."""
    data.write("__transaction_state-0", [owned("other", producerId=98)], timestamp=1000)
    data.write("__transaction_state-1", [owned(transactionStatus=0, transactionPartitions=None)], timestamp=1000)
    data.write("__transaction_state-1", [owned(partition=1)], timestamp=3000)
    data.write("__transaction_state-1", [owned()], timestamp=1500)
    assert [hangs_then(data, moment) for moment in (1000, 2999, 3000, None)] == [True, True, False, False]


def test_before_there_were_coordinators_none_knew_of_it(data):
    early = Data(data.path.with_name("early"))
    early.write("t-0", [(None, b"within")], producer_id=PRODUCER)
    early.write(METADATA, [metadata("TopicRecord", name="t", topicId="B" * 21 + "Q")], timestamp=1000)
    made = metadata("TopicRecord", name="__transaction_state", topicId=TOPIC_ID)
    early.write(METADATA, [made, metadata("PartitionRecord", 1, topicId=TOPIC_ID)], timestamp=2000)
    assert (hangs_then(early, 1500), hangs_then(early, 2000)) == (True, None)


@pytest.mark.parametrize(("status", "hangs"), [(1, False), (2, True), (3, True), (4, False)])
def test_behind_a_marker_that_was_decided_before_it_is_another_one(data, status, hangs):
    """One that is going on has no marker yet; of one that was decided, the marker came after that."""
    state = owned(transactionStatus=status, transactionLastUpdateTimestampMs=1200)
    data.write("__transaction_state-1", [state])
    assert [hangs_then(data, None, ended_ms) for ended_ms in (0, 1199, 1200)] == [False, False, hangs]
