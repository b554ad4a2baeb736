"""The leaders by metadata that were made, and by those of real brokers."""

import pytest

from kafkafs.cluster.image import PartitionState
from kafkafs.cluster.leaders import leader, leaders
from kafkafs.errors import UsageError
from kafkafs.log.data_directory import open_data_directory
from tests.cluster.test_topic_partitions import FEATURE, ORDERS, topic
from tests.cluster.writing import Data, metadata, snapshot
from tests.kafka import replicated

METADATA = "__cluster_metadata-0"
STATE = PartitionState(-1, 5, 5, (4, 5, 6), (), (), (), (), (), None)


def reported(*data: Data):
    return leaders([open_data_directory(each.path) for each in data])


def test_the_newest_leader_counts(tmp_path):
    data = Data(tmp_path)
    data.write(METADATA, [FEATURE, *topic("orders", ORDERS, 2)])
    data.write(METADATA, [metadata("PartitionChangeRecord", partitionId=1, topicId=ORDERS, leader=3)])
    data.write(METADATA, [metadata("PartitionChangeRecord", partitionId=1, topicId=ORDERS, isr=[3])])  # none elected
    data.write(METADATA, [metadata("RegisterBrokerRecord", brokerId=7)])
    assert reported(data) == ({"orders": {0: 1, 1: 3}}, {1, 7}, [], {"orders": {0: -1, 1: 0}})


def test_of_a_partition_without_a_leader_the_last_one_counts(tmp_path):
    """Regression of no release: a cluster that was stopped in order has no leaders at all."""
    data = Data(tmp_path)
    data.write(METADATA, [FEATURE, *topic("orders", ORDERS, 1)])
    data.write(METADATA, [metadata("PartitionChangeRecord", partitionId=0, topicId=ORDERS, leader=-1, isr=[4])])
    assert reported(data).by_topic == {"orders": {0: 4}}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"leader": 6, "isr": (4,)}, 6),
        ({"isr": (5,)}, 5),
        ({"last_known": (6,), "eligible": (5,)}, 6),
        ({"eligible": (5, 6)}, 5),
        ({}, 4),
        ({"replicas": ()}, -1),
    ],
)
def test_the_state_alone_decides(changes, found):
    assert leader(STATE._replace(**changes)) == found


def test_a_snapshot_tells_them(tmp_path):
    data = Data(tmp_path)
    data.write_snapshot(9, snapshot(FEATURE, *topic("orders", ORDERS, 1)))
    assert reported(data).by_topic == {"orders": {0: 1}}


def test_without_metadata_nobody_knows(tmp_path):
    data = Data(tmp_path)
    data.write("orders-0", [(None, b"x")])
    assert reported(data) is None


def test_metadata_that_tell_nothing_are_an_error(tmp_path):
    data = Data(tmp_path)
    data.write(METADATA, topic("orders", ORDERS, 1), at=100)  # it began before, and there is no snapshot
    with pytest.raises(UsageError, match=r"the leaders cannot be read from __cluster_metadata-0: .*leave out --led-by"):
        reported(data)


def test_the_furthest_metadata_of_real_brokers_count():
    found = leaders(map(open_data_directory, replicated.directories()))
    assert found is not None
    assert found.brokers == {1, 2, 3}
    assert set(found.by_topic) == {"plain", "compacted", "parted"}
    assert found.by_topic["parted"] == {0: 3}  # elected uncleanly, and broker 2 was gone by then
