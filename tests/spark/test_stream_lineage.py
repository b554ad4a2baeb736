"""Streams that are started again over what a broker did to the log meanwhile: every record once, or a refusal.

`Followed` is Spark's half: a checkpoint, and a reader that is made anew for each micro-batch.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.errors import NotFound, UsageError
from kafkafs.spark.tasks import Task
from kafkafs.tables import locations
from kafkafs.tables.ranges import data_loss, records_of
from tests.live.moves import Moves
from tests.live.test_lineage import HARMLESS, cut, cut_and_compact, recreate, two_closed_segments
from tests.log.making import made, write_partition
from tests.log.reading import rows
from tests.spark.test_limited_stream import reader

Place = tuple[int, bytes | None]


class Followed:
    """A stream of `t`, whose checkpoint is the JSON that Spark would keep."""

    def __init__(self, data: Path, most: int | None = None, **options: object) -> None:
        self._data, self._most = data, most
        chosen = {} if {"subscribePattern", "assign"} & {*options} else {"subscribe": "t"}
        self._options = {"startingOffsets": "earliest", **chosen, **options}
        self.checkpoint = ""
        self.read: list[Place] = []

    def reader(self) -> Any:
        """Of a process of its own, which remembers nothing."""
        locations.open_directories.close()
        limit = {} if self._most is None else {"maxOffsetsPerTrigger": self._most}
        return reader(self._data, **self._options, **limit)

    def plan(self) -> tuple[str, str]:
        """The micro-batch that Spark writes down next: its start and its end."""
        stream = self.reader()
        start = json.loads(self.checkpoint) if self.checkpoint else stream.initialOffset()
        return json.dumps(start), json.dumps(stream.latestOffset(start, stream.getDefaultReadLimit()))

    def run(self, start: str, end: str) -> None:
        """A micro-batch, to its end."""
        found: list[Place] = []
        for task in self.reader().partitions(json.loads(start), json.loads(end)) if start != end else ():
            assert isinstance(task, Task)
            for each in task.ranges:
                read = partial(records_of, each, "read_uncommitted", data_loss(task.fail_on_data_loss))
                found += [(row.offset, row.value) for row in rows(read())]
        self.read += sorted(found)
        self.checkpoint = end

    def follow(self) -> None:
        """Micro-batches, until there is nothing new."""
        while True:
            start, end = self.plan()
            self.run(start, end)
            if start == end:
                return


def there(broker: Moves) -> list[Place]:
    """The records of the log, by offset."""
    batches = [batch for _, all_of in sorted(broker.segments.items()) for batch in all_of]
    return [(record.offset, record.value) for batch in batches for record in batch.records]


@pytest.fixture
def broker(tmp_path: Path) -> Moves:
    """Two closed segments, and a batch in a third."""
    broker = two_closed_segments(tmp_path / "data")
    broker.append([2])
    return broker


@pytest.mark.parametrize("most", [None, 4], ids=["all", "limited"])
@pytest.mark.parametrize("move", HARMLESS)
def test_a_stream_goes_on_in_a_log_that_lives_on(broker, move: Callable[[Moves], None], most):
    stream = Followed(broker.data, most)
    stream.follow()
    before = list(stream.read)
    move(broker)
    stream.follow()
    broker.append([2, 3])
    stream.follow()
    assert [place for place, _ in stream.read] == sorted({place for place, _ in stream.read})
    assert stream.read[: len(before)] == before
    assert set(there(broker)) <= set(stream.read)


@pytest.mark.parametrize("most", [None, 4], ids=["all", "limited"])
@pytest.mark.parametrize("grown", [False, True], ids=["shorter", "longer"])
@pytest.mark.parametrize("move", [cut, cut_and_compact, recreate])
def test_a_stream_does_not_go_on_in_another_log(broker, move: Callable[[Moves], None], grown, most):
    """Regression: it read on by offset, and what the new log has before that was missing without a word."""
    stream = Followed(broker.data, most)
    stream.follow()
    move(broker)
    if grown:
        broker.append([4, 4, 4, 4])
    with pytest.raises(NotFound, match=r"t-0 .*; set failOnDataLoss to false"):
        stream.follow()


@pytest.mark.parametrize("with_id", [True, False], ids=["with-id", "without"])
def test_a_topic_made_again_at_the_same_length_is_reported_at_once(broker, with_id):
    stream = Followed(broker.data)
    stream.follow()
    length = broker.next_offset
    broker.recreate(at_once=True)
    if not with_id:
        (broker.directory / "partition.metadata").unlink()
    broker.append([length])
    with pytest.raises(NotFound, match="deleted and created again" if with_id else "cut or replaced"):
        stream.follow()


def test_a_micro_batch_that_was_planned_for_another_log_is_refused(broker):
    """Spark has written its end down, and was killed before the records were."""
    stream = Followed(broker.data)
    start, end = stream.plan()
    broker.recreate(at_once=True)
    broker.append([9] * 9)
    with pytest.raises(NotFound, match="deleted and created again"):
        stream.run(start, end)


@pytest.mark.parametrize("most", [None, 4], ids=["all", "limited"])
@pytest.mark.parametrize("count", [3, 40], ids=["shorter", "longer"])
def test_under_fail_on_data_loss_false_a_new_topic_is_read_whole(broker, caplog, count, most):
    stream = Followed(broker.data, most, failOnDataLoss=False)
    stream.follow()
    before = list(stream.read)
    broker.recreate(at_once=True)
    broker.append([1] * count)
    with caplog.at_level(logging.WARNING):
        stream.follow()
    assert stream.read == before + there(broker)
    assert "t-0 was deleted and created again" in caplog.text


def test_under_fail_on_data_loss_false_a_planned_micro_batch_doubles_nothing(broker):
    stream = Followed(broker.data, failOnDataLoss=False)
    start, end = stream.plan()
    broker.recreate(at_once=True)
    broker.append([1] * 40)
    stream.run(start, end)
    stream.follow()
    assert stream.read == there(broker)


CHOICES = [{}, {"subscribe": "t,u"}, {"subscribePattern": "^[tu]$"}, {"assign": '{"t":[0],"u":[0]}'}]


@pytest.mark.parametrize("most", [None, 4], ids=["all", "limited"])
@pytest.mark.parametrize("options", CHOICES, ids=lambda options: next(iter(options), "alone"))
def test_a_partition_that_is_gone_is_noticed_by_a_stream_that_has_nothing_to_read(broker, options, most, tmp_path):
    """Regression: if no other partition had grown, Spark did not ask for a plan, and the stream ended well."""
    write_partition(broker.data, {0: [made(0, [1])]}, "u-0")
    stream = Followed(broker.data, most, **options)
    stream.follow()
    broker.directory.rename(tmp_path / "unplugged")
    with pytest.raises((NotFound, UsageError), match=r"t-0|'t'"):
        stream.follow()


@pytest.mark.parametrize("most", [None, 4], ids=["all", "limited"])
def test_a_disk_that_comes_back_is_read_on_from_its_offset(broker, most, tmp_path, caplog):
    """Regression: under `failOnDataLoss` false the partition was new, and was read a second time."""
    write_partition(broker.data, {0: [made(0, [1])]}, "u-0")
    stream = Followed(broker.data, most, failOnDataLoss=False, subscribePattern="^[tu]$")
    stream.follow()
    before = list(stream.read)
    broker.directory.rename(tmp_path / "unplugged")
    with caplog.at_level(logging.WARNING):
        stream.follow()
    assert "the partitions t-0 are gone" in caplog.text
    write_partition(broker.data, {0: [made(0, [1]), made(1, [2])]}, "u-0")
    stream.follow()
    (tmp_path / "unplugged").rename(broker.directory)
    broker.append([5])
    stream.follow()
    assert stream.read[: len(before)] == before
    assert [place for place, _ in stream.read[len(before) :]] == [1, *range(len(before) - 1, len(before) + 4)]


def test_a_checkpoint_of_others_carries_over(broker):
    """Those of Spark's Kafka source and of earlier releases name offsets alone."""
    stream = Followed(broker.data)
    stream.checkpoint = '{"t":{"0":6}}'
    stream.follow()
    assert stream.read == [place for place in there(broker) if place[0] >= 6]
    broker.recreate(at_once=True)
    broker.append([9] * 9)
    with pytest.raises(NotFound, match="deleted and created again"):
        stream.follow()


_moves = st.lists(
    st.sampled_from(["append", "roll", "retain", "elect", "compact", "cut", "recreate", "read", "read"]),
    max_size=14,
)


@given(_moves, st.integers(1, 9))
@example(["compact", "read", "cut", "append"], 1)  # the last batch that was read is compacted away
def test_whatever_a_broker_does_no_record_is_missed_without_a_word(tmp_path_factory, moves, size):
    """The naive model: of each log the stream has every record that was there at its last read, or it was refused."""
    broker = two_closed_segments(tmp_path_factory.mktemp("moves") / "data")
    stream = Followed(broker.data)
    position, is_lost = None, False
    for move in [*moves, "append", "read"]:
        match move:
            case "append":
                broker.append([size, 1])
            case "roll":
                broker.roll()
            case "retain":
                broker.retain(reported=True)
                is_lost |= position is not None and broker.start > position
            case "elect":
                broker.elect()
            case "compact":
                for _ in broker.compaction(9, lambda base: base % 3 != 1):
                    pass
            case "cut":
                broker.truncate(1)
                is_lost |= position is not None and broker.next_offset < position
                broker.append([size])
            case "recreate":
                broker.recreate(at_once=True)
                is_lost |= position is not None
                broker.append([size, 2])
            case _:
                start, end = stream.plan()
                if is_lost:
                    with pytest.raises(NotFound):
                        stream.run(start, end)
                    return
                stream.run(start, end)
                position = broker.next_offset
                assert set(there(broker)) <= set(stream.read)
                assert len(stream.read) == len(dict(stream.read))
