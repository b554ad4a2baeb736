"""Whether a segment is as it was: what may be handed on after a look at it."""

import os

import pytest

from kafkafs.errors import Vanished
from tests.log.making import log_of, made, write_partition

BATCHES = [made(number * 3, [1000 + number] * 3) for number in range(4)]


@pytest.fixture
def growing(tmp_path):
    """The only segment of a log, and its file's path."""
    path = write_partition(tmp_path, {0: BATCHES}) / f"{0:020}.log"
    return log_of(tmp_path).segments[0], path


def test_a_log_that_grows_is_the_same(growing):
    """Beside a live broker each read would fail otherwise."""
    segment, path = growing
    file = segment.hold()
    with path.open("ab") as log:
        log.write(made(12, [2000]).data)
    assert not segment.is_as_seen(file)
    segment.check(file)


def test_a_log_that_was_cut_and_grew_again_is_another(growing):
    """Readers would get the batches of two generations, mixed."""
    segment, path = growing
    file = segment.hold()
    os.truncate(path, path.stat().st_size - len(BATCHES[-1].data))
    with path.open("ab") as log:
        log.write(made(9, [9, 9, 9], size=50).data)
    with pytest.raises(Vanished):
        segment.check(file)
    with pytest.raises(Vanished):
        segment.read(0, 10)


def test_a_state_that_was_sealed_again_is_a_generation_of_its_own(growing):
    """What is known of batches by their positions must not outlive the log that they stood in."""
    segment, _ = growing
    before, (size, changed_ns) = segment.generation, segment.seen
    segment.remember_end(None, size, changed_ns)
    assert segment.generation == before
    segment.remember_end(None, size + 1, changed_ns)
    assert segment.generation != before
    assert segment.reopened().generation != segment.generation
