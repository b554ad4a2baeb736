"""A window of a partition, read while a broker works: each record once, and losses are told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.errors import NotFound, Vanished
from kafkafs.log import retries
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.reading import Window, records
from tests.live.moves import Moves
from tests.live.test_lineage import HARMLESS, compact, cut, cut_and_compact, recreate, two_closed_segments
from tests.log.making import made, partition_of, write_partition


@pytest.fixture
def broker(tmp_path: Path) -> Moves:
    """Two closed segments, and a batch in a third."""
    broker = two_closed_segments(tmp_path / "data")
    broker.append([2])
    return broker


def offsets_while(broker: Moves, move: Callable[[Moves], None], lost: list[str]) -> list[int]:
    """The offsets that are read, if the broker moves when the first ones are handed out."""
    partition = partition_of(broker.data)
    end, found = partition.log().end_offset, list[int]()
    for piece in records(partition, Window(0, end, end), lost.append):
        if not found:
            move(broker)
            partition.look_again()
        found += piece.rows["offset"].tolist()
    return found


def test_a_log_that_grows_is_read_up_to_the_windows_end(broker):
    whole = [row for piece in records(partition_of(broker.data), Window(0, 14, 14), pytest.fail) for row in piece.rows]
    assert offsets_while(broker, lambda each: each.append([5]), []) == [int(row["offset"]) for row in whole]


@pytest.mark.parametrize("move", HARMLESS)
def test_what_is_left_of_a_log_that_lives_on_is_read_once(broker, move):
    lost: list[str] = []
    found = offsets_while(broker, move, lost)
    assert found == sorted(set(found))
    assert found[:1] == [0]
    assert found[-1] == 13 or lost or move is not compact


@pytest.mark.parametrize("move", [cut, cut_and_compact, recreate])
def test_records_of_another_log_are_never_handed_out(broker, move):
    """The reading ends with an error, or it reads all of the old files, if it has them open."""
    log = partition_of(broker.data).log()
    old = [row for _, run in log.walk(0, log.end_offset) if isinstance(run, BatchRun) for row in run.rows]
    try:
        found = offsets_while(broker, move, [])
    except Vanished:
        return
    assert found == [at for row in old for at in range(int(row["base_offset"]), int(row["last_offset"]) + 1)]


def test_a_loss_may_be_an_error(tmp_path):
    write_partition(tmp_path, {10: [made(10, [1, 2])]})

    def refuse(sentence: str) -> None:
        raise NotFound(sentence)

    with pytest.raises(NotFound, match="offsets 3 to 9 of t-0 are gone"):
        list(records(partition_of(tmp_path), Window(3, 12), refuse))


def test_a_log_that_never_rests_ends_with_an_error(tmp_path, monkeypatch):
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    partition = partition_of(tmp_path)
    looks: list[None] = []

    def vanish() -> None:
        looks.append(None)
        raise Vanished("gone")

    monkeypatch.setattr(partition, "log", vanish)
    with pytest.raises(Vanished):
        list(records(partition, Window(0, 2), pytest.fail))
    assert len(looks) == retries.ATTEMPTS
