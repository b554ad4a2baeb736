"""Which of several brokers' directories a partition is read from, and when that is refused."""

from pathlib import Path

import pytest

from kafkafs.errors import Exhausted, UsageError
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.partition import progress
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, of_one_broker, read_from, replicas
from tests.disk.descriptors import no_descriptors
from tests.log.making import NAME, Made, made, write_partition

OLD = [made(number, [1000], epoch=1) for number in range(4)]
NEW = [made(number, [1000], epoch=2) for number in range(2)]


def broker(place: Path, batches: list[Made], number: int) -> DataDirectory:
    """A broker's data directory with one partition of these batches."""
    write_partition(place, {0: batches})
    (place / "meta.properties").write_text(f"# a line\nversion=1\nbroker.id={number}\ncluster.id=c\n")
    return open_data_directory(place)


@pytest.mark.parametrize(
    ("logs", "chosen"),
    [
        ([OLD, NEW], 1),  # a newer leader's log counts, though it is shorter
        ([OLD[:2], OLD, OLD[:3]], 1),
        ([OLD, OLD], 0),
        ([[], OLD[:1]], 1),
        ([NEW], 0),
    ],
)
def test_the_furthest_replica_counts(tmp_path, logs, chosen):
    directories = [broker(tmp_path / str(number), log, number) for number, log in enumerate(logs)]
    assert read_from(directories, NAME) is directories[chosen]
    found = replicas(directories, NAME)
    assert furthest(found) is found[chosen]


def test_no_replica_counts_where_there_is_none(tmp_path):
    directory = broker(tmp_path, OLD, 1)
    assert replicas([directory], "other-0") == []
    assert furthest([]) is None


def test_one_that_cannot_be_read_counts_least(tmp_path):
    """Also behind one without a record."""
    gone, empty = broker(tmp_path / "gone", NEW, 1), broker(tmp_path / "empty", [], 2)
    partition = gone.partition(NAME)
    (tmp_path / "gone" / NAME).rename(tmp_path / "away")
    assert progress(partition) < progress(empty.partition(NAME)) == (-1, 0)
    assert furthest([partition, empty.partition(NAME)]) is empty.partition(NAME)


def test_two_directories_of_one_broker_are_no_replicas(tmp_path):
    one, other, same = (broker(tmp_path / name, OLD, number) for name, number in (("a", 1), ("b", 2), ("c", 1)))
    assert of_one_broker([one, other]) is None
    assert of_one_broker([one, other, same]) == (one, same)
    with pytest.raises(UsageError, match=r"t-0 is both in '.*/a' and in '.*/c'"):
        read_from([one, other, same], NAME)


def test_replicas_can_be_refused(tmp_path):
    one, other = broker(tmp_path / "a", OLD, 1), broker(tmp_path / "b", OLD, 2)
    with pytest.raises(UsageError, match="read one of them at a time"):
        read_from([one, other], NAME, refuse=True)
    assert read_from([one], NAME, refuse=True) is one


def test_nobody_knows_the_broker_of_a_directory_that_does_not_tell(tmp_path):
    """Such directories count as those of several brokers."""
    directories = [broker(tmp_path / name, OLD, 1) for name in "ab"]
    (tmp_path / "a/meta.properties").write_bytes(b"\xff\xfe")
    assert of_one_broker(directories) is None
    (tmp_path / "a/meta.properties").unlink()
    assert of_one_broker(directories) is None


QUESTIONS = {
    "how far it got": lambda directory: progress(directory.partition(NAME)),
    "topic id": lambda directory: directory.topic_id(NAME),
    "cleaner": lambda directory: directory.checkpoints.cleaner_offsets(),
    "cluster": DataDirectory.cluster_id,
    "node": DataDirectory.node_id,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_there_is_no_descriptor_for_is_not_taken_for_what_is_not_there(tmp_path, question):
    """Regression: another replica was read than the furthest one, and `revive` gave a topic another id."""
    broker(tmp_path, OLD, 1)
    directory = open_data_directory(tmp_path, ReadOptions())  # of a budget of its own: no cache has one to give
    assert directory.names()
    with no_descriptors(), pytest.raises(Exhausted):
        QUESTIONS[question](directory)
