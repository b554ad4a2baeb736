"""The newest answers of points, against a list of them."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.made import AnswerCache

STATES = 3
SMALL = 10
"""The budget of the model's cache."""


class State:
    """A state of the log, which may be forgotten."""


puts = st.tuples(st.sampled_from("abcd"), st.integers(0, STATES - 1), st.integers(0, SMALL + 2))


@given(st.lists(puts, max_size=30))
def test_it_knows_what_a_list_of_the_newest_answers_knows(steps):
    """The model keeps (node, state) -> answer, oldest first, and drops from the front what is too much."""
    states = [State() for _ in range(STATES)]
    model: OrderedDict[str, tuple[int, int, int]] = OrderedDict()
    cache: AnswerCache[int] = AnswerCache(SMALL)
    for number, (node, state, size) in enumerate(steps):
        cache.put(node, states[state], number, size)
        if size <= SMALL:
            model.pop(node, None)
            model[node] = state, number, size
        while sum(size for _, _, size in model.values()) > SMALL:
            model.popitem(last=False)
        for asked in "abcd":
            known = model.get(asked)
            for index, each in enumerate(states):
                wanted = known[1] if known is not None and known[0] == index else None
                assert cache.get(asked, each) == wanted


def test_an_answer_keeps_no_state_of_the_log():
    """It would keep the log's files open, deleted ones too; and what is gone must not answer by a reused address."""
    cache: AnswerCache[str] = AnswerCache(SMALL)
    state = State()
    cache.put("node", state, "old", 1)
    known = cache._answers["node"][0]
    assert known() is state
    del state
    assert known() is None
    assert cache.get("node", State()) is None


def test_what_is_larger_than_all_of_it_is_not_kept():
    """And what is just as large is, alone."""
    cache: AnswerCache[str] = AnswerCache(SMALL)
    state = State()
    cache.put("small", state, "s", 1)
    cache.put("larger", state, "x", SMALL + 1)
    assert (cache.get("small", state), cache.get("larger", state)) == ("s", None)
    cache.put("large", state, "x", SMALL)
    assert (cache.get("small", state), cache.get("large", state)) == (None, "x")
