"""Replicas that are damaged at different places: together they are whole, and what no one has is told."""

import shutil

import pytest

from kafkafs.errors import CorruptData, Exhausted
from kafkafs.format.checkpoints import LeaderEpoch
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.job import planned, revive
from kafkafs.revive.other_replicas import Missing, Replica, batches_of_other_replicas
from kafkafs.revive.plan import Choices
from tests.disk.descriptors import no_descriptors
from tests.kafka import replicated
from tests.kafka.dataset import Dataset
from tests.revive.replicas import Made, disk

TOPIC, PARTITION = "plain", "plain-0"
PLACES = ("1", "2", "3")


@pytest.fixture
def disks(tmp_path):
    """Three brokers' disks with the same replica on each."""
    source, made = replicated.directories()[0], []
    for number in PLACES:
        place = tmp_path / number
        shutil.copytree(source / PARTITION, place / PARTITION)
        (place / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id=c\n")
        made.append(place)
    return made


def damage(disk, share, at=70, by=1):
    """A byte of the batch at that share of the first segment is another now: that batch's first and last offset."""
    log = open_data_directory(replicated.directories()[0]).partition(PARTITION).log()
    rows = [
        row for segment, item in log.walk(0, log.end_offset)
        if segment is log.segments[0] and isinstance(item, BatchRun) for row in item.rows
    ]  # fmt: skip
    row, file = rows[int(len(rows) * share)], disk / PARTITION / log.segments[0].log_name
    content = bytearray(file.read_bytes())
    content[int(row["position"]) + at] ^= by
    file.write_bytes(content)
    return int(row["base_offset"]), int(row["last_offset"])


def reported(report):
    (found,) = (each for each in report["revived"] if each["topic"] == TOPIC)
    return found


@pytest.mark.parametrize("method", ["copy", None])
def test_what_one_has_lost_another_has(tmp_path, disks, method):
    """Without a word of --corrupt: nothing is lost."""
    whole = revive(disks[:1], Choices(to=tmp_path / "whole", method=method))
    first, last = damage(disks[0], 0.3)
    damage(disks[1], 0.3)
    damage(disks[1], 0.6)
    report = revive(disks, Choices(to=tmp_path / "new", method=method))
    for file in (tmp_path / "whole" / PARTITION).iterdir():
        if file.suffix in (".log", ".index", ".timeindex"):
            assert (tmp_path / "new" / PARTITION / file.name).read_bytes() == file.read_bytes()
    assert reported(report)["fromOthers"] == [{"first": first, "last": last, "replica": str(disks[2] / PARTITION)}]
    same = {"records", "endOffset", "losses", "lost", "bytes"}
    assert {name: reported(report)[name] for name in same} == {name: reported(whole)[name] for name in same}


def test_what_none_has_is_reported(tmp_path, disks):
    lost, *_ = [damage(each, 0.3) for each in disks]
    damage(disks[0], 0.5)
    found = reported(planned(disks, Choices(to=tmp_path / "new", corrupt="skip")))
    assert [(each["first"], each["last"]) for each in found["losses"]] == [lost]
    with pytest.raises(CorruptData, match=f"damage in 1 place: {PARTITION} at offset {lost[0]}:"):
        revive(disks, Choices(to=tmp_path / "new"))


def test_a_batch_of_another_epoch_is_another_batch(tmp_path, disks):
    """What a leader that was no more had appended there, and nobody was promised."""
    lost = damage(disks[0], 0.3)
    damage(disks[1], 0.3, at=15)  # the epoch's last byte
    damage(disks[2], 0.3, at=15)
    found = reported(planned(disks, Choices(to=tmp_path / "new", corrupt="skip")))
    assert [(each["first"], each["last"]) for each in found["losses"]] == [lost]
    assert found["fromOthers"] == []


@pytest.mark.parametrize("method", ["copy", None, "link"])
@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_segment_that_one_has_not_another_has(tmp_path, disks, method, is_emptied):
    """In segments of their own, so that none becomes longer than a broker may read."""
    whole = revive(disks[:1], Choices(to=tmp_path / "whole", method="copy"))
    log = open_data_directory(disks[0]).partition(PARTITION).log()
    gone, behind = log.segments[1:3]
    file = disks[0] / PARTITION / gone.log_name
    file.write_bytes(b"") if is_emptied else file.unlink()
    damage(disks[1], 0.3)
    (disks[1] / PARTITION / open_data_directory(disks[1]).partition(PARTITION).log().segments[1].log_name).unlink()
    report = revive(disks, Choices(to=tmp_path / "new", method=method))
    same = {"records", "endOffset", "losses", "lost", "bytes"}
    assert {name: reported(report)[name] for name in same} == {name: reported(whole)[name] for name in same}
    borrowed = reported(report)["fromOthers"]
    assert (borrowed[0]["first"], borrowed[-1]["last"]) == (gone.base_offset, behind.base_offset - 1)
    assert {each["replica"] for each in borrowed} <= {str(disk / PARTITION) for disk in disks[1:]}
    again = open_data_directory(tmp_path / "new").partition(PARTITION).log()
    assert gone.base_offset in [each.base_offset for each in again.segments]
    logs = [b"".join(path.read_bytes() for path in sorted((tmp_path / place / PARTITION).glob("*.log")))
            for place in ("whole", "new")]  # fmt: skip
    assert logs[0] == logs[1]


@pytest.mark.parametrize("is_anywhere", [True, False])
def test_a_segment_that_compaction_has_not_reached_is_missed(tmp_path, disks, is_anywhere):
    """Regression: a compacted topic lost a segment without a word, though the broker had recorded that compaction was
    not that far, and although another replica had it. Below that offset, a gap may be compaction's."""
    whole = revive(disks[:1], Choices(to=tmp_path / "whole", method="copy"))
    log = open_data_directory(disks[0]).partition(PARTITION).log()
    gone, behind = log.segments[1:3]
    for each in disks if not is_anywhere else disks[:1]:
        for file in (each / PARTITION).glob(f"{gone.base_offset:020}.*"):
            file.unlink()
    for reached in (gone.base_offset, gone.base_offset + 1, behind.base_offset):
        for each in disks:
            (each / "cleaner-offset-checkpoint").write_text(f"0\n1\n{TOPIC} 0 {reached}\n")
        found = reported(planned(disks, Choices(to=tmp_path / "new")))
        if reached == behind.base_offset:
            assert (found["losses"], found["fromOthers"]) == ([], [])
        elif not is_anywhere:
            assert [(each["first"], each["last"]) for each in found["losses"]] == [(reached, behind.base_offset - 1)]
        elif reached == gone.base_offset:
            assert (found["losses"], found["records"]) == ([], reported(whole)["records"])


@pytest.mark.parametrize("is_anywhere", [True, False])
def test_the_first_segment_that_one_has_not_another_has(tmp_path, disks, is_anywhere):
    """Nothing was deleted: epochs still begin before the log does."""
    for each in disks:
        epochs = each / PARTITION / "leader-epoch-checkpoint"
        epochs.write_text(epochs.read_text().replace("0 100\n", "0 0\n"))
    whole = revive(disks[:1], Choices(to=tmp_path / "whole", method="copy"))
    gone, behind = open_data_directory(disks[0]).partition(PARTITION).log().segments[:2]
    for each in disks if not is_anywhere else disks[:1]:
        (each / PARTITION / gone.log_name).unlink()
    found, wanted = reported(revive(disks, Choices(to=tmp_path / "new"))), reported(whole)
    again = open_data_directory(tmp_path / "new").partition(PARTITION).log()
    if is_anywhere:
        same = {"records", "startOffset", "endOffset", "losses", "lost", "bytes"}
        assert {name: found[name] for name in same} == {name: wanted[name] for name in same}
        assert (found["fromOthers"][0]["first"], again.start_offset) == (0, 0)
    else:
        (loss,) = found["losses"]
        assert (loss["first"], loss["last"]) == (0, behind.base_offset - 1)
        assert found["startOffset"] == again.start_offset == behind.base_offset


def test_what_one_replica_has_of_a_gap_and_another_of_its_rest(tmp_path, disks):
    """And what is damaged in one and left out by another is still asked of the third."""
    first, last = damage(disks[0], 0.3)
    gone = open_data_directory(disks[1]).partition(PARTITION).log().segments[0]
    (disks[1] / PARTITION / gone.log_name).write_bytes(b"")
    report = revive(disks, Choices(to=tmp_path / "new"))
    assert reported(report)["fromOthers"] == [{"first": first, "last": last, "replica": str(disks[2] / PARTITION)}]


def test_where_the_log_starts_inside_a_batch_another_has_its_rest(tmp_path):
    """The broker notes the first epoch from the log start on: what another has of that batch is of that epoch."""
    source, name = Dataset("4.3.1", "live").path, "deleted-late-0"
    made = [tmp_path / number for number in PLACES[:2]]
    for place in made:
        shutil.copytree(source / name, place / name)
        (place / "meta.properties").write_text(f"version=1\nnode.id={place.name}\ncluster.id=c\n")
        (place / "log-start-offset-checkpoint").write_text("0\n1\ndeleted-late 0 61\n")
    log = made[0] / name / f"{60:020}.log"
    content = bytearray(log.read_bytes())
    content[70] ^= 1
    log.write_bytes(content)
    (found,) = planned(made, Choices(to=tmp_path / "new"))["revived"]
    assert (found["startOffset"], found["records"], found["losses"]) == (61, 39, [])
    assert [(each["first"], each["last"]) for each in found["fromOthers"]] == [(60, 64)]


def test_of_batches_that_are_read_together_each_counts_by_its_own_epoch(tmp_path, disks):
    """One that nobody was promised does not take those beside it along."""
    for each in disks:
        epochs = each / PARTITION / "leader-epoch-checkpoint"
        epochs.write_text(epochs.read_text().replace("0 100\n", "0 0\n"))
    gone = open_data_directory(disks[0]).partition(PARTITION).log().segments[0]
    for each in (disks[0], disks[2]):
        (each / PARTITION / gone.log_name).write_bytes(b"")
    lost = damage(disks[1], 0.3, at=15)  # the epoch's last byte
    found = reported(planned(disks, Choices(to=tmp_path / "new", corrupt="skip")))
    assert [(each["first"], each["last"]) for each in found["losses"]] == [lost]


def test_what_there_is_no_descriptor_for_is_not_taken_for_what_no_replica_has(disks):
    """Regression: records that another disk has would have been told of as lost."""
    directory = open_data_directory(disks[0], ReadOptions())  # of a budget of its own: no cache has one to give
    other = Replica(directory, directory.partition(PARTITION))
    with no_descriptors(), pytest.raises(Exhausted):
        list(batches_of_other_replicas(0, 9, [other], [LeaderEpoch(0, 0)]))


@pytest.mark.parametrize(("first", "last"), [(4, 20), (10, 24), (4, 24), (2, 4), (12, 17)])
def test_a_batch_over_the_border_of_what_is_missing_is_missing(tmp_path, first, last):
    """Regression: its offsets were neither taken nor told of. Logs of other leaders have batches of other sizes."""
    other = disk(tmp_path / "other", 2, {"t-0": Made([(0, 30)])})
    found = batches_of_other_replicas(
        first, last, [Replica(other, other.partition("t-0"))], [LeaderEpoch(0, 0)], is_dense=True
    )
    offsets = list[int]()
    for each in found:
        if isinstance(each, Missing):
            some = range(each.first, each.last + 1)
            assert not (first <= 10 and last >= 19 and 10 in some)
        else:
            some = range(int(each.run.rows["base_offset"][0]), each.run.last_offset + 1)
            assert some == range(10, 20)
        offsets += some
    assert offsets == [*range(first, last + 1)]
