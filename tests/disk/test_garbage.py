"""No search for cycles begins meanwhile; afterwards all is as before."""

import gc

import pytest

from kafkafs.disk.garbage import no_collection


@pytest.mark.parametrize("was_on", [True, False])
def test_the_search_is_off_and_then_as_before(was_on):
    (gc.enable if was_on else gc.disable)()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


def test_objects_that_stay_are_passed_over():
    gc.unfreeze()
    try:
        with no_collection(objects_stay=True):
            kept = [[number] for number in range(1000)]
        assert gc.get_freeze_count() >= len(kept)
    finally:
        gc.unfreeze()
