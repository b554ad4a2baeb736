"""Transactions followed through a real log, against Kafka's own transaction index of it."""

import numpy as np

from kafkafs.format.index import ABORTED
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.outcomes import Event, Tracker, events
from kafkafs.spark.segment_units import SegmentLook, segments_of
from tests.kafka.dataset import Dataset


def test_what_is_aborted_is_what_the_broker_noted(stopped: Dataset):
    tracker = Tracker()

    def follow(look: SegmentLook) -> list[tuple[int, int | None, int, int]]:
        told = (tracker.follow(event) for run in look.runs() if isinstance(run, BatchRun) for event in events(run))
        return [(each.producer, each.first, each.last, each.stable) for each in told if each is not None]

    units = [unit for unit in segments_of([stopped.path]) if unit.partition_directory == "transactions-0"]
    found = [aborted for unit in units for aborted in unit.ask(follow) or ()]
    files = sorted(stopped.directory("transactions").glob("*.txnindex"))
    rows = np.frombuffer(b"".join(file.read_bytes() for file in files), ABORTED)
    wanted = [tuple(int(row[name]) for name in ("producer_id", "first", "last", "last_stable")) for row in rows]
    assert found == wanted
    assert wanted


def test_a_transaction_goes_on_until_its_marker():
    tracker = Tracker({7: 3})
    assert tracker.follow(Event(10, 7, "begin")) is None
    assert tracker.follow(Event(11, 8, "begin")) is None
    aborted = tracker.follow(Event(12, 7, "abort"))
    assert aborted == (7, 3, 12, 11)
    assert tracker.follow(Event(13, 8, "emptied")) is None
    assert tracker.open == {}
    assert tracker.follow(Event(14, 9, "abort")) == (9, None, 14, 15)
