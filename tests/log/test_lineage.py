"""Whether a log is told for the one that was read of on another day, after all that a broker may do to it meanwhile."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.log.lineage import LogIdentity, difference, identity
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.live.moves import Moves
from tests.live.test_lineage import HARMLESS, compact, create_anew, cut, cut_and_compact, two_closed_segments
from tests.log.making import Made, log_of, write_partition, write_start


@pytest.fixture
def broker(tmp_path: Path) -> Moves:
    """Two closed segments, and a batch in a third."""
    broker = two_closed_segments(tmp_path / "data")
    broker.append([2])
    return broker


def known(broker: Moves) -> LogIdentity:
    """Of all that is there now, as a plan keeps it."""
    log = log_of(broker.data)
    return identity(log, log.start_offset, log.end_offset)


def retain_and_grow(broker: Moves) -> None:
    broker.retain(told=True)
    broker.append([1, 1])


def elect(broker: Moves) -> None:
    broker.elect()
    broker.append([3])


@pytest.mark.parametrize("move", [*HARMLESS, retain_and_grow, elect])
def test_a_log_that_lives_on_is_the_same(broker, move: Callable[[Moves], None]):
    """A day later an export shall go on, whatever retention, compaction and elections have done."""
    before = known(broker)
    move(broker)
    assert difference(before, log_of(broker.data)) is None


@pytest.mark.parametrize("move", [cut, cut_and_compact, create_anew])
def test_a_log_that_lost_its_past_is_another(broker, move: Callable[[Moves], None]):
    """Who goes on by offsets alone lacks its first records without a word."""
    before = known(broker)
    move(broker)
    broker.append([4, 4, 4, 4])
    assert difference(before, log_of(broker.data)) is not None


def batches(values: list[str], *, first_ms: int = 1_000) -> list[Made]:
    """A batch of two records for each value."""
    told = [
        tuple(Record(2 * at + each, first_ms + 2 * at + each, 0, b"k", value.encode()) for each in (0, 1))
        for at, value in enumerate(values)
    ]
    return [Made(v2_batch(records), records) for records in told]


def metadata(number: int) -> str:
    return f"version: 0\ntopic_id: {base64.urlsafe_b64encode(bytes([number] * 16)).decode().rstrip('=')}\n"


def test_a_topic_id_tells_even_of_the_same_records(tmp_path):
    """A tool that restores a topic writes it anew, from its first record on."""
    partition = write_partition(tmp_path, {0: batches(["a", "b"])})
    (partition / "partition.metadata").write_text(metadata(7))
    before = identity(log_of(tmp_path), 0, 4)
    assert difference(before, log_of(tmp_path)) is None
    (partition / "partition.metadata").write_text(metadata(8))
    told = difference(before, log_of(tmp_path))
    assert told is not None
    assert told.startswith("was deleted and made anew: its topic id was BwcHBwcHBwcHBwcHBwcHBw and is CAgI")
    (partition / "partition.metadata").unlink()
    assert difference(before, log_of(tmp_path)) is None
    write_partition(tmp_path, {0: batches(["a", "x"])})
    assert "another batch at offset 2" in (difference(before, log_of(tmp_path)) or "")


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=5), st.integers(0, 4), st.integers(-2, 2))
def test_without_an_id_each_end_of_what_was_read_is_a_witness(tmp_path_factory, values, at, shift_ms):
    """Records, and their times alone."""
    data = tmp_path_factory.mktemp("data")
    write_partition(data, {0: batches(values)})
    before = identity(log_of(data), 0, 2 * len(values))
    other = [*values[:at], "c", *values[at + 1 :]] if at in (0, len(values) - 1) else values
    write_partition(data, {0: batches([*other, "d"], first_ms=1_000 + shift_ms)})
    assert (difference(before, log_of(data)) is None) == (other == values and shift_ms == 0)


def test_what_compaction_left_of_a_batch_is_the_same_batch_and_nothing_else_is(tmp_path):
    whole = batches(["a", "b", "c"])
    write_partition(tmp_path, {0: whole})
    before = identity(log_of(tmp_path), 0, 6)

    def with_first(*records: Record, attributes: int = 0, epoch: int = 0) -> str | None:
        """The log with another first batch, whose last offset stays."""
        batch = v2_batch([*records, whole[0].records[1]], attributes=attributes, epoch=epoch)
        write_partition(tmp_path, {0: [Made(batch, ()), *whole[1:]]})
        return difference(before, log_of(tmp_path))

    assert with_first(whole[0].records[0]._replace(value=b"z")) is not None
    assert with_first(whole[0].records[0]) is None
    assert with_first(whole[0].records[0], attributes=0x40) is None, "a delete horizon"
    assert with_first(whole[0].records[0], attributes=0x40, epoch=1) is not None
    later = whole[0].records[0]._replace(timestamp=5_000)
    assert with_first(later, attributes=0x40) is not None
    write_partition(tmp_path, {0: whole[1:]})
    write_start(tmp_path, 0)
    assert difference(before, log_of(tmp_path)) is None, "the first batch is gone whole"


def test_of_what_is_deleted_nothing_is_asked(tmp_path):
    write_partition(tmp_path, {0: batches(["a", "b"])})
    before = identity(log_of(tmp_path), 0, 4)
    write_partition(tmp_path, {0: batches(["x", "y", "z"])})
    write_start(tmp_path, 4)
    assert difference(before, log_of(tmp_path)) is None


def test_what_went_on_keeps_its_first_batch_and_takes_the_newest_last(broker):
    first = known(broker)
    compact(broker)
    broker.append([1])
    second = known(broker)
    both = first.went_on(second)
    assert (both.first, both.last) == (first.first, second.last)
    assert LogIdentity().went_on(second) == second
    assert first.went_on(LogIdentity()) == first
