"""Producers followed through whole logs, against the snapshots that brokers wrote of the same offsets."""

import numpy as np
import pytest

from kafkafs.format.batch import BATCH, Batches
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.producers import ProducerStates
from tests.kafka.clusters import Cluster
from tests.kafka.dataset import Dataset
from tests.kafka.jars import RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_followed_from_the_first_batch_on_is_the_brokers_snapshot(release):
    """That of the log end, which a clean stop writes: transactions that committed, aborted and are open, sequences."""
    compared = 0
    for path in (Dataset(release, "stopped").path, Cluster(release, "stopped").path):
        directory = open_data_directory(path)
        for name in directory.names():
            partition = directory.partition(name)
            log = partition.log()
            file = path / name / f"{log.end_offset:020}.snapshot"
            if log.start_offset or not file.exists() or name.startswith(("restarted", "compact", "__")):
                continue
            states = ProducerStates()
            for _, item in log.walk(0, log.end_offset):
                assert isinstance(item, BatchRun)
                states.follow(item)
            reported = {each.producer_id: each for each in parse_producer_snapshot(file.read_bytes())}
            assert states.states == reported, (release, name)
            compared += len(reported)
    assert compared > 10


def batch(offset: int, count: int, sequence: int, *, epoch: int = 0, attributes: int = 0) -> Batches:
    row = np.zeros(1, BATCH)
    row["magic"], row["base_offset"], row["last_offset"] = 2, offset, offset + count - 1
    row["producer_id"], row["producer_epoch"], row["base_sequence"] = 7, epoch, sequence
    row["attributes"], row["max_timestamp"] = attributes, 1000 + offset
    return row


def followed(*rows: Batches, known: tuple[ProducerState, ...] = ()) -> ProducerState:
    states = ProducerStates(known)
    states.follow(BatchRun(b"", 0, np.concatenate(rows)))
    return states.states[7]


def test_sequences_go_round():
    assert followed(batch(0, 5, 2**31 - 2)).last_sequence == 2


def test_a_new_epoch_forgets_the_batches_of_the_one_before():
    assert followed(batch(0, 5, 0), batch(5, 2, 0, epoch=1)) == ProducerState(7, 1, 1, 6, 1, 1005, -1, -1)


def test_a_transaction_that_is_open_already_began_where_it_began():
    known = ProducerState(7, 0, 3, 9, 0, 1, 4, 8)
    assert followed(batch(10, 2, 4, attributes=16), known=(known,)) == ProducerState(7, 0, 5, 11, 1, 1010, 4, 8)
