"""Known until, as of this validator: against a clock that the test moves."""

from kafkafs.disk.cached_value import CachedValue, ValidatedValue, same_objects


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def cached(good_for_s: float = 1.0) -> tuple[CachedValue[str], Clock]:
    clock = Clock()
    return CachedValue(good_for_s, clock), clock


def test_a_value_is_fresh_until_its_time_is_over():
    value, clock = cached()
    assert value.fresh() is value.latest is None
    assert value.store("a") == "a"
    clock.now += 0.999
    assert value.fresh() == "a"
    clock.now += 0.001
    assert value.fresh() is None
    assert value.latest == "a"


def test_the_same_validator_makes_it_fresh_again():
    value, clock = cached()
    value.store("a", (1, 2))
    clock.now += 5
    assert value.revalidated((1, 3)) is None
    assert value.fresh() is None
    assert value.revalidated((1, 2)) == value.fresh() == "a"


def test_without_a_validator_nothing_proves_it():
    """A file that changed a moment ago may change again within the same tick: its time is no validator then."""
    value, _ = cached()
    value.store("a")
    assert value.revalidated(None) is None


def test_it_can_be_as_good_as_something_else_and_no_longer():
    value, clock = cached(60.0)
    value.store("a", fresh_until=clock.now + 1)
    clock.now += 1
    assert value.fresh() is None


def test_what_is_good_for_no_time_is_never_fresh():
    value, _ = cached(0.0)
    value.store("a", 1)
    assert value.fresh() is None
    assert value.revalidated(1) == "a"


def test_what_is_good_as_long_as_its_validator_is_needs_no_clock():
    """Regression: it had one, and was stored as fresh for no time at all."""
    value = ValidatedValue[str]()
    assert value.revalidated(None) is None
    assert value.store("a", 1) == "a"
    assert value.revalidated(1) == value.latest == "a"
    assert [value.revalidated(other) for other in (2, None)] == [None, None]


def test_it_expires_when_told_to():
    value, _ = cached()
    value.store("a", 1)
    value.expire()
    assert value.fresh() is None
    assert value.revalidated(1) == "a"


def test_the_same_objects_are_the_same_in_the_same_order():
    """What is made of values that are cached elsewhere is good as long as they are those; equal ones may be later."""
    first, equal, other = [1], [1], [2]
    assert same_objects([], ())
    assert same_objects([first, other], (first, other))
    assert not same_objects([first], [equal])
    assert not same_objects([first, other], [other, first])
    assert not same_objects([first], [first, other])
    assert not same_objects([first], [])
