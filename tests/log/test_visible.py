"""Which batches an isolation level shows, against what a consumer got."""

import pytest

from kafkafs.format.batch import Batch
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ISOLATIONS, ReadOptions
from kafkafs.log.visible import Visible
from tests.kafka.dataset import Dataset


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("topic", ["transactions", "segments"])
def test_a_batch_is_shown_where_a_consumer_got_its_records(topic, isolation):
    """An aborted record that got through would be one that never was."""
    data = Dataset("4.3.1", "stopped")
    log = open_data_directory(data.path).partition(f"{topic}-0").log()
    visible = Visible(log, ReadOptions(isolation=isolation), OpenTransactions())
    shown = {record.offset for record in data.records(topic, 0, isolation)}
    runs = [run for _, run in visible.batches(log.start_offset, log.end_offset) if isinstance(run, BatchRun)]
    whole = {base for run in runs for base in run.rows["base_offset"].tolist()}
    verdicts = set()
    for _, batch in (log.locate(at) for at in range(log.start_offset, log.end_offset)):
        assert isinstance(batch, Batch)
        inside = {*range(max(batch.base_offset, log.start_offset), batch.last_offset + 1)}
        assert (batch.base_offset in whole) == (inside <= shown), batch
        verdicts.add(inside <= shown)
    assert verdicts == ({True, False} if topic == "transactions" else {True})
