"""Which topics are chosen: whole names, as Kafka's own tools have it."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice

THERE = ("orders", "orders-eu", "my.orders", "__consumer_offsets", "a|b")


@pytest.mark.parametrize(
    ("lists", "pattern", "wanted"),
    [
        ([], None, THERE),
        (["orders, my.orders", "a|b,"], None, ("orders", "my.orders", "a|b")),
        ([], "orders", ("orders",)),
        ([], "orders.*", ("orders", "orders-eu")),
        ([], "my|orders", ("orders",)),
        ([], ".*orders", ("orders", "my.orders")),
        ([], "", ()),
        (["orders,my.orders"], "o.*", ("orders",)),
    ],
)
def test_a_pattern_matches_whole_names(lists, pattern, wanted):
    """`--topic-pattern orders` took orders-eu for orders in one command, and not in another."""
    choice = TopicChoice.parse(lists, pattern)
    assert tuple(filter(choice.takes, THERE)) == wanted
    assert choice.is_all == (choice == ALL_TOPICS) == (not lists and pattern is None)


@pytest.mark.parametrize(
    ("lists", "pattern", "sentence"),
    [
        ([" ,"], None, "--topics names no topic"),
        ([], "(", r"--topic-pattern '\(' is malformed"),
        ([], "[a&&b]", "is malformed"),
        (["orders", "nix"], None, "there is no topic 'nix' in /data"),
        (
            [],
            "order",
            r"no topic in /data has a whole name that .* matches; .* write '\.\*order\.\*'",
        ),
    ],
)
def test_what_chooses_nothing_is_a_sentence(lists, pattern, sentence):
    with pytest.raises(UsageError, match=sentence):
        TopicChoice.parse(lists, pattern).check(THERE, "/data")
