"""The partitions that a broker led, by the metadata on some disks."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.tables.choice import Choice, ReadRequest
from kafkafs.tables.led import LedPartitions, led_by
from tests.cluster.test_topic_partitions import FEATURE, FORMER, ORDERS, OTHER, belongs, topic
from tests.cluster.writing import Data, metadata
from tests.tables.test_missing import stop

METADATA = "__cluster_metadata-0"


@pytest.fixture
def data(tmp_path) -> Data:
    """Broker 1 leads orders-0 and orders-1, and whole-0. Broker 2 leads orders-2."""
    made = Data(tmp_path)
    led_by_two = metadata("PartitionChangeRecord", partitionId=2, topicId=ORDERS, leader=2)
    made.write(METADATA, [FEATURE, *topic("orders", ORDERS, 3), *topic("whole", OTHER, 1), led_by_two])
    made.write(METADATA, [metadata("RegisterBrokerRecord", brokerId=2), metadata("RegisterBrokerRecord", brokerId=3)])
    for name in ("orders-0", "orders-1"):
        made.write(name, [(None, b"x")])
        belongs(made, name, ORDERS)
    made.write("whole-0", [(None, b"x")])
    return made


def found(data: Data, broker: int, choice: Choice | None = None, fail_on_data_loss: bool = True) -> LedPartitions:
    choice = choice or Choice(topics=("orders",))
    stop(data)  # else a directory could still be made, and would be waited for
    return led_by(broker, ReadRequest((data.path,), choice, fail_on_data_loss=fail_on_data_loss))


def test_other_leaders_partitions_need_not_be_here(data):
    """Regression: `export` refused any broker's disk, because of the partitions that only others have."""
    assert [str(name) for name in found(data, 1).locations] == ["orders-0", "orders-1"]
    assert [str(name) for name in found(data, 1, Choice(pattern=".*")).locations] == ["orders-0", "orders-1", "whole-0"]
    assert found(data, 3).locations == {}


def test_what_it_led_and_is_not_here_is_data_loss(data):
    with pytest.raises(UsageError, match="of orders partition 2 of 3 is not on these disks, and broker 2 led that"):
        found(data, 2)
    led = found(data, 2, fail_on_data_loss=False)
    assert led.locations == {}
    (said,) = led.warnings
    assert said.endswith("going on without it")


def test_directories_of_a_former_topic_of_the_name_are_not_taken(data):
    belongs(data, "orders-1", FORMER)
    with pytest.raises(UsageError, match="belong to a deleted topic of this name"):
        found(data, 1)
    assert [str(name) for name in found(data, 1, fail_on_data_loss=False).locations] == ["orders-0"]


@pytest.mark.parametrize(
    ("broker", "topic", "said"),
    [
        (9, "orders", "--led-by 9: the metadata know no such broker; they know 1, 2, 3"),
        (1, "order", "the metadata know no topic 'order'; did you mean orders"),
    ],
)
def test_a_name_that_the_metadata_do_not_know_is_refused(data, broker, topic, said):
    with pytest.raises(UsageError, match=said):
        found(data, broker, Choice(topics=(topic,)))


def test_damaged_metadata_are_refused_or_named(data):
    (log,) = (data.path / METADATA).glob("*.log")
    log.write_bytes(log.read_bytes()[:-3] + b"???")
    (log.parent / f"{900:020}.log").touch()
    with pytest.raises(UsageError, match=r"the leaders are not certain: .*--fail-on-data-loss false"):
        found(data, 1)
    assert found(data, 1, fail_on_data_loss=False).warnings[0].startswith("the leaders are not certain: ")


def test_without_metadata_all_that_is_here_counts(data, tmp_path):
    other = Data(tmp_path / "other")
    other.write("orders-0", [(None, b"x")])
    led = found(other, 5)
    assert [str(name) for name in led.locations] == ["orders-0"]
    assert led.named is None
