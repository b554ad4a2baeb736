"""The words of an option, and what a reader may do where nothing is said."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.read_options import ISOLATIONS, ReadOptions, isolation


@pytest.mark.parametrize("level", ISOLATIONS)
def test_each_level_is_known_by_its_name(level):
    assert isolation("isolation", level) == level


@pytest.mark.parametrize("word", ["", "READ_COMMITTED", "read_committed ", "serializable"])
def test_another_word_is_refused_with_the_option_that_had_it(word):
    with pytest.raises(UsageError, match=rf"kafka\.isolation\.level={word!r} is neither read_uncommitted nor"):
        isolation("kafka.isolation.level", word)


def test_options_are_alike_where_they_let_read_alike():
    """A clock and a share of the memory are no part of what is shown."""
    assert ReadOptions(clock=lambda: 0.0) == ReadOptions()
    assert ReadOptions(corrupt_skip=True) != ReadOptions()
