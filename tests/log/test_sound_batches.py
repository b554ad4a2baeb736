"""What is remembered of large batches belongs to one state of one log, and stays within its bounds."""

from kafkafs.log import batch_runs
from kafkafs.log.batch_runs import SoundBatches


def test_a_batch_is_known_of_the_generation_that_it_was_found_sound_in(monkeypatch):
    """Another state of the log has other bytes at the same place."""
    monkeypatch.setattr(batch_runs, "_sound", set())
    SoundBatches(1).add(2**31 - 1)
    assert SoundBatches(1).has(2**31 - 1)
    assert not SoundBatches(2).has(2**31 - 1)
    assert not SoundBatches(1).has(0)


def test_however_many_are_passed_no_more_than_a_megabyte_is_remembered(monkeypatch):
    """A mount stays as large as it is, however many terabytes are asked for."""
    known: set[int] = set()
    monkeypatch.setattr(batch_runs, "_sound", known)
    for position in range(40_000):
        SoundBatches(7).add(position)
        assert SoundBatches(7).has(position)
        assert len(known) <= 1 << 14
