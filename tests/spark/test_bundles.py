"""Bundles of units: all of them, in order, and none too large for one task."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.spark.local import bundles


@dataclass(frozen=True)
class Unit:
    """A number and a weight."""

    number: int
    weight: int


@given(st.lists(st.integers(0, 100), max_size=300), st.integers(1, 200))
def test_every_unit_is_in_one_bundle_in_its_order(weights, enough):
    units = [Unit(number, weight) for number, weight in enumerate(weights)]
    found = bundles(units, enough)
    assert [unit for bundle in found for unit in bundle] == units
    for bundle in found:
        assert 0 < len(bundle) <= 64
        assert sum(unit.weight for unit in bundle[:-1]) < enough
