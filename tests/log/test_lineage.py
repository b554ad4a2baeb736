"""Whether a log is told for the one that was read of on another day, after all that a broker may do to it meanwhile."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.lineage import Change, LogIdentity, Witness, place_behind, went_on
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.live.moves import Moves
from tests.live.test_lineage import (
    HARMLESS,
    compact,
    cut,
    cut_and_compact,
    cut_and_retain,
    recreate,
    retain_too_little,
    two_closed_segments,
)
from tests.log.making import Made, log_of, made, partition_of, write_partition, write_start


@pytest.fixture
def broker(tmp_path: Path) -> Moves:
    """Two closed segments, and a batch in a third."""
    broker = two_closed_segments(tmp_path / "data")
    broker.append([2])
    return broker


def known(broker: Moves) -> LogIdentity:
    """Of all that is there now, as a plan keeps it."""
    log = log_of(broker.data)
    return LogIdentity.of(log, log.start_offset, log.end_offset)


def retain_and_grow(broker: Moves) -> None:
    broker.retain(reported=True)
    broker.append([1, 1])


def elect(broker: Moves) -> None:
    broker.elect()
    broker.append([3])


@pytest.mark.parametrize("move", [*HARMLESS, retain_and_grow, elect])
def test_a_log_that_lives_on_is_the_same(broker, move: Callable[[Moves], None]):
    """A day later an export shall go on, whatever retention, compaction and elections have done."""
    before = known(broker)
    move(broker)
    assert before.difference(log_of(broker.data)) is None


@pytest.mark.parametrize("move", [cut, cut_and_compact, recreate])
def test_a_log_that_lost_its_past_is_another(broker, move: Callable[[Moves], None]):
    """Who goes on by offsets alone lacks its first records without a word."""
    before = known(broker)
    move(broker)
    broker.append([4, 4, 4, 4])
    assert before.difference(log_of(broker.data)) is not None


def batches(values: list[str], *, first_ms: int = 1_000) -> list[Made]:
    """A batch of two records for each value."""
    reported = [
        tuple(Record(2 * at + each, first_ms + 2 * at + each, 0, b"k", value.encode()) for each in (0, 1))
        for at, value in enumerate(values)
    ]
    return [Made(v2_batch(records), records) for records in reported]


def metadata(number: int) -> str:
    return f"version: 0\ntopic_id: {base64.urlsafe_b64encode(bytes([number] * 16)).decode().rstrip('=')}\n"


def test_a_topic_id_tells_even_of_the_same_records(tmp_path):
    """A tool that restores a topic writes it anew, from its first record on."""
    partition = write_partition(tmp_path, {0: batches(["a", "b"])})
    (partition / "partition.metadata").write_text(metadata(7))
    before = LogIdentity.of(log_of(tmp_path), 0, 4)
    assert before.difference(log_of(tmp_path)) is None
    (partition / "partition.metadata").write_text(metadata(8))
    reported = before.difference(log_of(tmp_path))
    assert reported is not None
    assert reported.startswith("was deleted and created again: its topic id was BwcHBwcHBwcHBwcHBwcHBw and is CAgI")
    (partition / "partition.metadata").unlink()
    assert before.difference(log_of(tmp_path)) is None
    write_partition(tmp_path, {0: batches(["a", "x"])})
    assert "another batch at offset 2" in (before.difference(log_of(tmp_path)) or "")


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=5), st.integers(0, 4), st.integers(-2, 2))
def test_without_an_id_each_end_of_what_was_read_is_a_witness(tmp_path_factory, values, at, shift_ms):
    """Records, and their times alone."""
    data = tmp_path_factory.mktemp("data")
    write_partition(data, {0: batches(values)})
    before = LogIdentity.of(log_of(data), 0, 2 * len(values))
    other = [*values[:at], "c", *values[at + 1 :]] if at in (0, len(values) - 1) else values
    write_partition(data, {0: batches([*other, "d"], first_ms=1_000 + shift_ms)})
    assert (before.difference(log_of(data)) is None) == (other == values and shift_ms == 0)


def test_what_compaction_left_of_a_batch_is_the_same_batch_and_nothing_else_is(tmp_path):
    whole = batches(["a", "b", "c"])
    write_partition(tmp_path, {0: whole})
    before = LogIdentity.of(log_of(tmp_path), 0, 6)

    def with_first(*records: Record, attributes: int = 0, epoch: int = 0) -> str | None:
        """The log with another first batch, whose last offset stays."""
        batch = v2_batch([*records, whole[0].records[1]], attributes=attributes, epoch=epoch)
        write_partition(tmp_path, {0: [Made(batch, ()), *whole[1:]]})
        return before.difference(log_of(tmp_path))

    assert with_first(whole[0].records[0]._replace(value=b"z")) is not None
    assert with_first(whole[0].records[0]) is None
    assert with_first(whole[0].records[0], attributes=0x40) is None, "a delete horizon"
    assert with_first(whole[0].records[0], attributes=0x40, epoch=1) is not None
    later = whole[0].records[0]._replace(timestamp=5_000)
    assert with_first(later, attributes=0x40) is not None
    write_partition(tmp_path, {0: whole[1:]})
    write_start(tmp_path, 0)
    assert before.difference(log_of(tmp_path)) is None, "the first batch is gone whole"


def test_of_what_is_deleted_nothing_is_asked(tmp_path):
    write_partition(tmp_path, {0: batches(["a", "b"])})
    before = LogIdentity.of(log_of(tmp_path), 0, 4)
    write_partition(tmp_path, {0: batches(["x", "y", "z"])})
    write_start(tmp_path, 4)
    assert before.difference(log_of(tmp_path)) is None


def test_an_extended_identity_keeps_its_first_batch_and_takes_the_newest_last(broker):
    first = known(broker)
    compact(broker)
    broker.append([1])
    second = known(broker)
    both = first.extended_by(second)
    assert (both.first, both.last) == (first.first, second.last)
    assert LogIdentity().extended_by(second) == second
    assert first.extended_by(LogIdentity()) == first


def grow(broker: Moves) -> None:
    broker.append([1, 2])


def roll(broker: Moves) -> None:
    broker.append([1])
    broker.roll()
    broker.append([2])


def roll_alone(broker: Moves) -> None:
    broker.roll()


def do_nothing(_: Moves) -> None:
    pass


def retain_one(broker: Moves) -> None:
    broker.retain(reported=True)


VERDICTS = [
    (do_nothing, Change.GROWN), (grow, Change.GROWN), (roll, Change.ROLLED), (roll_alone, Change.ROLLED),
    (compact, Change.COMPACTED), (retain_one, Change.COMPACTED), (retain_and_grow, Change.COMPACTED),
    (retain_too_little, Change.COMPACTED),
    *((move, Change.COMPACTED) for move in HARMLESS if move is not compact),
    *((move, Change.OTHER) for move in (cut, cut_and_compact, cut_and_retain, recreate)),
]  # fmt: skip


@pytest.mark.parametrize("is_one_partition", [True, False])
@pytest.mark.parametrize(("move", "expected"), VERDICTS)
def test_the_verdict_is_of_what_the_broker_did(broker, move: Callable[[Moves], None], expected, is_one_partition):
    """Whether one `Partition` made both looks or not: the first knows what its own look found."""
    first = partition_of(broker.data)
    before, second = first.log(), first if is_one_partition else partition_of(broker.data)
    witness = Witness(before)
    move(broker)
    now = _log_of_now(second)
    assert went_on(witness, now).change is expected
    alone = went_on(before, now).change
    assert alone is expected or (expected is Change.COMPACTED and alone is Change.OTHER)


@pytest.mark.parametrize(("move", "expected"), VERDICTS)
def test_what_stands_behind_same_from_is_as_it_was(broker, move: Callable[[Moves], None], expected):
    before = log_of(broker.data)
    witness, old = Witness(before), _batches(before)
    move(broker)
    now = log_of(broker.data)
    same_from = went_on(witness, now).same_from
    kept = [each for each in old if each[0] >= same_from]
    assert kept == [each for each in _batches(now) if same_from <= each[0] < before.end_offset]
    assert kept or expected in (Change.COMPACTED, Change.OTHER)


def test_what_is_read_behind_the_older_end_is_what_came(broker):
    before = log_of(broker.data)
    roll(broker)
    now = log_of(broker.data)
    place = place_behind(before, now)
    assert place is not None
    number, start = place
    found = [
        row
        for segment in now.segments[number:]
        for run in segment.walk(start if segment is now.segments[number] else Start(0, segment.base_offset),
                                now.walk_end(segment))
        if isinstance(run, BatchRun)
        for row in run.rows["base_offset"].tolist()
    ]  # fmt: skip
    assert found == [base for base, _ in _batches(now) if base >= before.end_offset]


def test_an_empty_log_that_got_its_first_batch_has_grown(tmp_path):
    write_partition(tmp_path, {0: []})
    before = log_of(tmp_path)
    witness = Witness(before)
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.write_bytes(made(0, [1, 2]).data)
    assert went_on(before, log_of(tmp_path)).change is Change.GROWN
    assert went_on(witness, log_of(tmp_path)).change is Change.GROWN


def _log_of_now(partition: Partition) -> Log:
    partition.look_again()
    return partition.log()


def _batches(log: Log) -> list[tuple[int, int]]:
    """First offset and sum of each batch."""
    runs = (run for _, run in log.walk(log.start_offset, log.end_offset) if isinstance(run, BatchRun))
    return [(int(row["base_offset"]), int(row["crc"])) for run in runs for row in run.rows]
