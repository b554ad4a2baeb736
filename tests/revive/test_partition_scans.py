"""The scans of all partitions, and what is refused after them."""

import pytest

from kafkafs.errors import CorruptData
from kafkafs.revive.job import no_progress
from kafkafs.revive.partition_scans import PartitionScans
from kafkafs.revive.plan import Choices, make_plan
from tests.revive.replicas import Made, disk


def scans(tmp_path):
    choices, source = Choices(to=tmp_path / "new"), tmp_path / "a"
    if not source.exists():
        disk(source, 1, {"t-0": Made([(0, 60)]), "u-0": Made([(0, 30)])})
    return PartitionScans(make_plan([source], choices), choices, no_progress)


def test_a_partition_that_is_done_is_not_scanned_again(tmp_path):
    found = scans(tmp_path)
    assert found.unchanged_partitions({}) == {}
    for each in found.scans({}):
        found.only_scan(each)
    assert found.ends() == {("t", 0): 60, ("u", 0): 30}
    again = scans(tmp_path)
    done = {"t-0": found.reports["t-0"]}
    assert again.unchanged_partitions(done) == done
    assert [each.name for each in again.scans(done)] == ["u-0"]
    assert "madeOf" not in str(again.revived())


@pytest.mark.parametrize(("start", "lost"), [(30, []), (60, []), (61, [(60, 60)]), (2**63 - 1, [(60, 2**63 - 2)])])
def test_a_log_start_behind_the_end_is_reported(tmp_path, start, lost):
    """Regression: the log had lost its end, or the checkpoint is damaged. All records were gone without a word."""
    scans(tmp_path)
    (tmp_path / "a/log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {start}\n")
    found = scans(tmp_path)
    for each in found.scans({}):
        found.only_scan(each)
    losses = found.reports["t-0"]["losses"]
    assert [(each["first"], each["last"]) for each in losses] == lost
    assert all(f"recorded its start at {start}" in each["reason"] for each in losses)
    assert found.damage == []


@pytest.mark.parametrize(
    ("count", "wanted"), [(1, "damage in 1 place: a; "), (7, "damage in 7 places: a; a; a; a; a and 2 more; ")]
)
def test_the_first_damaged_places_are_named(tmp_path, count, wanted):
    found = scans(tmp_path)
    found.damage += ["a"] * count
    with pytest.raises(CorruptData, match=wanted):
        found.refuse_damage()
