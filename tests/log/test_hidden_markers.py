"""Readers of committed records beside damage, compared with a naive model: an answer is whole, or ends in an error."""

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kafkafs.errors import CorruptData
from tests.log.making import Made, log_of, write_partition
from tests.log.reading import reader, rows_of
from tests.log.transactional import data, marker

MOVES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("dddca")), min_size=4, max_size=24)
"""Of each producer: data, a commit or an abort, each at its own offset."""

DAMAGES = {
    "contents": lambda batch: batch[:-1] + bytes([batch[-1] ^ 0x20]),
    "frame": lambda batch: batch[:8] + bytes([batch[8] ^ 0x40]) + batch[9:],
    "zeros": lambda batch: bytes(len(batch)),
}


def model(moves: list[tuple[int, str]], damaged: int, kind: str) -> Iterator[int | None]:
    """The committed offsets by the simplest means; None in place of an error, behind which nothing comes."""
    hidden = [damaged] if kind != "contents" or moves[damaged][1] != "d" else []
    is_open: dict[int, int] = {}
    for at, (producer, move) in enumerate(moves):
        if at in hidden:
            is_open = {each: first for each, first in is_open.items() if kind == "contents" and each != producer}
        elif at != damaged and move == "d":
            is_open.setdefault(producer, at)
        elif at != damaged:
            is_open.pop(producer, None)
    for at, (producer, move) in enumerate(moves[: min([len(moves), *is_open.values()])]):
        if at == damaged:
            yield None
            return
        if move != "d":
            continue
        ends = [place for place, (of, end) in enumerate(moves) if place > at and of == producer and end != "d"]
        end = min((each for each in ends if each != damaged), default=len(moves))
        if any(at < place < end and (kind != "contents" or moves[place][0] == producer) for place in hidden):
            yield None
            return
        if end < len(moves) and moves[end][1] == "c":
            yield at


@settings(max_examples=150, deadline=None)
@given(MOVES, st.integers(0, 23), st.sampled_from([*DAMAGES]), st.sets(st.integers(1, 23), max_size=4))
def test_a_committed_answer_beside_damage_is_whole_or_an_error(tmp_path_factory, moves, damaged, kind, rolls):
    """From the log's start, and at each offset."""
    damaged %= len(moves) - 1  # what is damaged at the end of the log is its end
    made = [data(at, of) if move == "d" else marker(at, of, move == "c") for at, (of, move) in enumerate(moves)]
    made[damaged] = Made(DAMAGES[kind](made[damaged].data), ())
    place = tmp_path_factory.mktemp("log")
    bases = [0, *sorted(roll for roll in rolls if roll < len(moves))]
    write_partition(
        place, {base: made[base:end] for base, end in zip(bases, [*bases[1:], None], strict=True)}, indexed=False
    )
    log = log_of(place)
    found = reader(log, isolation="read_committed")
    wanted = list(model(moves, damaged, kind))
    got: list[int | None] = []
    try:
        for piece in found.records(0):
            got += [row.offset for row in rows_of(piece)]
    except CorruptData:
        got.append(None)
    assert got == wanted


@pytest.mark.parametrize("kind", [*DAMAGES])
def test_a_point_whose_transaction_may_have_ended_in_damage_is_an_error(tmp_path, kind):
    """Neither is it passed over, nor shown as committed. With `corrupt=skip` the producer's next marker tells."""
    made = [data(0, 1), data(1, 2), marker(2, 2, True), marker(3, 1, True), data(4, 1), marker(5, 1, True)]
    made[3] = Made(DAMAGES[kind](made[3].data), ())
    write_partition(tmp_path, {0: made}, indexed=False)
    log = log_of(tmp_path)
    found = reader(log, isolation="read_committed")
    with pytest.raises(CorruptData, match="may hide whether the transaction of the batch at offset 0 was committed"):
        found.lookup.first(0)
    with pytest.raises(CorruptData):
        found.lookup.first_at(0)
    assert rows_of(found.lookup.first(1).record)[0].offset == 1
    for options in {"isolation": "read_committed", "corrupt_skip": True}, {}:
        assert rows_of(reader(log, **options).lookup.first(0).record)[0].offset == 0
