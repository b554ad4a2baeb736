"""The newest answers of points, against a list of them."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.made import AnswerCache

SMALL = 10
"""The budget of the model's cache."""

puts = st.tuples(st.sampled_from("abcd"), st.integers(0, SMALL + 2))


@given(st.lists(puts, max_size=30))
def test_it_knows_what_a_list_of_the_newest_answers_knows(steps):
    """The model keeps node -> answer, oldest first, and drops from the front what is too much."""
    model: OrderedDict[str, tuple[int, int]] = OrderedDict()
    cache: AnswerCache[int] = AnswerCache(SMALL)
    for number, (node, size) in enumerate(steps):
        cache.put(node, number, size)
        if size <= SMALL:
            model.pop(node, None)
            model[node] = number, size
        while sum(size for _, size in model.values()) > SMALL:
            model.popitem(last=False)
        for asked in "abcd":
            assert cache.last(asked) == model.get(asked, (None,))[0]


def test_what_is_larger_than_all_of_it_is_not_kept():
    """And what is just as large is, alone."""
    cache: AnswerCache[str] = AnswerCache(SMALL)
    cache.put("small", "s", 1)
    cache.put("larger", "x", SMALL + 1)
    assert (cache.last("small"), cache.last("larger")) == ("s", None)
    cache.put("large", "x", SMALL)
    assert (cache.last("small"), cache.last("large")) == (None, "x")
