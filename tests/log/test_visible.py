"""Which batches an isolation level shows, by their headers alone, against what a consumer got."""

import pytest

from kafkafs.format.batch import Batch
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.lookup import locate
from kafkafs.log.options import ISOLATIONS, ReadOptions
from kafkafs.log.transactions import OpenTransactions
from kafkafs.log.visible import Visible
from tests.kafka.dataset import Dataset


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", ["transactions", "segments"])
def test_a_batch_that_is_plain_shows_all_its_records(topic, isolation):
    """An aborted record that got through would be one that never was."""
    data = Dataset("4.3.1", "stopped")
    log = open_data_directory(data.path).partition(f"{topic}-0").log()
    visible = Visible(log, ReadOptions(isolation=isolation), OpenTransactions())
    shown = {record.offset for record in data.records(topic, 0, isolation)}
    batches = {
        batch.base_offset: batch for _, batch in (locate(log, at) for at in range(log.start_offset, log.end_offset))
    }
    plain = [batch for batch in batches.values() if isinstance(batch, Batch) and visible.is_plain(batch)]
    assert plain
    for batch in plain:
        assert {*range(max(batch.base_offset, log.start_offset), batch.last_offset + 1)} <= shown
    assert len(plain) < len(batches) or topic != "transactions"
