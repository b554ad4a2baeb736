"""A question that is asked again, and a reading that goes on, if files vanish under them: against every pattern."""

from itertools import product

import pytest

from kafkafs.errors import NotFound, Vanished
from kafkafs.log.retries import ATTEMPTS, ask_again, resume


@pytest.mark.parametrize("failures", range(ATTEMPTS + 1))
def test_a_question_is_asked_a_few_times(failures):
    calls: list[str] = []

    def question() -> int:
        calls.append("ask")
        if calls.count("ask") <= failures:
            raise Vanished("gone")
        return 7

    def look_again() -> None:
        calls.append("look")

    if failures < ATTEMPTS:
        assert ask_again(question, look_again) == 7
    else:
        with pytest.raises(Vanished):
            ask_again(question, look_again)
    asked = min(failures + 1, ATTEMPTS)
    assert calls == ["ask", *["look", "ask"] * (asked - 1)]


def test_a_look_that_fails_is_an_attempt():
    looks = iter([Vanished("gone"), Vanished("gone"), None])
    asked: list[int] = []

    def question() -> int:
        asked.append(len(asked))
        if asked == [0]:
            raise Vanished("gone")
        return 7

    def look_again() -> None:
        if (error := next(looks)) is not None:
            raise error

    assert ask_again(question, look_again) == 7
    assert asked == [0, 1]


def test_other_errors_are_answers():
    with pytest.raises(NotFound):
        ask_again(lambda: (_ for _ in ()).throw(NotFound("none")), pytest.fail)


@pytest.mark.parametrize("widths", [(1, 1, 1), (2, 1, 2)])
@pytest.mark.parametrize("failing", [*product((0, 1, ATTEMPTS - 1, ATTEMPTS), repeat=3)])
def test_a_reading_hands_out_each_item_once(widths, failing):
    """`failing`: how often in a row the place in front of each item fails."""
    starts, failures = [sum(widths[:number]) for number in range(4)], list(failing)

    def read_from(position: int):
        for number in range(starts.index(position), 3):
            if failures[number]:
                failures[number] -= 1
                raise Vanished("gone")
            yield starts[number + 1], number if number != 1 else None

    looks: list[None] = []
    read = resume(read_from, 0, lambda: looks.append(None))
    expected = [0, 2]
    if ATTEMPTS in failing:
        at = failing.index(ATTEMPTS)
        with pytest.raises(Vanished):
            assert list(read) == []
        assert len(looks) == sum(failing[:at]) + ATTEMPTS - 1
    else:
        assert list(read) == expected
        assert len(looks) == sum(failing)
