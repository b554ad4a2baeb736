"""Records that are on the disks and in no topic are told of."""

from kafkafs.revive.job import revive
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from kafkafs.revive.unread import below_start, only_in_checkpoints, unread_files
from tests.revive.replicas import UUID, Made, disk

ONE = made_up_id("one")
SEGMENT = f"{0:020}.log"


def test_what_a_broker_had_deleted_is_reported_once_for_a_disk(tmp_path):
    directory = disk(tmp_path / "a", 1, {"t-0": Made([(0, 30)], ONE), "t-1": Made([], ONE)})
    for name in (f"t-0/{SEGMENT}.deleted", f"t-1/{SEGMENT}.cleaned"):
        (directory.path / name).write_bytes(b"x" * 500)
    (directory.path / f"t-1/{SEGMENT.replace('.log', '.index')}.deleted").write_bytes(b"x")
    (sentence,) = unread_files([directory])
    assert "2 files of 1,000 bytes" in sentence


def test_a_directory_with_segments_that_is_no_partitions_is_reported(tmp_path):
    directory = disk(tmp_path / "a", 1, {"t-0": Made([(0, 30)], ONE)})
    for name in ("t-0.bak", "empty", "remote-log-index-cache"):
        (directory.path / name).mkdir()
    for name in ("t-0.bak", "remote-log-index-cache"):
        (directory.path / name / SEGMENT).write_bytes(b"x" * 500)
    (sentence,) = unread_files([directory])
    assert f"{str(directory.path / 't-0.bak')!r} is left out, with 1 segment of 500 bytes" in sentence


def test_segments_below_the_log_start_are_reported(tmp_path):
    directory = disk(tmp_path / "a", 1, {"t-0": Made([(0, 30)], ONE), "t-1": Made([(0, 30)], ONE)})
    (directory.path / f"t-0/{30:020}.log").touch()
    (directory.path / "log-start-offset-checkpoint").write_text("0\n2\nt 0 30\nt 1 5\n")
    (sentence,) = below_start([directory.partition("t-0"), directory.partition("t-1")])
    assert "log start of t-0 are left out" in sentence


def test_a_partition_that_only_a_checkpoint_knows_is_reported(tmp_path):
    """Regression: without metadata, the last partitions of a topic were missing without a word."""
    one = disk(tmp_path / "a", 1, {"t-0": Made([(0, 30)]), f"t-2.{UUID}-stray": Made([(0, 5)])})
    two = disk(tmp_path / "b", 2, {"t-1": Made([(0, 30)])})
    for directory, numbers in ((one, (0, 1, 2, 3)), (two, (1, 3))):
        lines = "".join(f"t {number} 9\n" for number in numbers)
        (directory.path / "replication-offset-checkpoint").write_text(f"0\n{len(numbers)}\n{lines}")
    (sentence,) = only_in_checkpoints([one, two], None)
    assert sentence.startswith(f"t-3 is in a checkpoint of {str(one.path)!r}")
    assert [*only_in_checkpoints([one, two], ["u"])] == []
    assert revive([one.path], Choices(to=tmp_path / "new"))["leftOut"].count(sentence) == 1
