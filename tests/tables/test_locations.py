"""Which partitions are chosen, and where they lie."""

import gc
import shutil
from pathlib import Path
from weakref import ref

import pytest

from kafkafs.errors import NotFound, UsageError
from kafkafs.tables.choice import Choice, ReadRequest
from kafkafs.tables.locations import Location, chosen, data_directory, every_location, partition
from kafkafs.tables.offsets import TopicPartition
from tests.log.making import made, write_partition


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("a-0", "a-1", "b-0", "__consumer_offsets-0", "gone-0.0123456789abcdef0123456789abcdef-delete"):
        write_partition(tmp_path, {0: [made(0, [1])]}, name)
    return tmp_path


def reported(found: dict[TopicPartition, Location]) -> set[str]:
    return {str(each) for each in found}


def test_names_partitions_and_patterns_choose_what_they_say(data):
    assert reported(every_location((data,))) == {"a-0", "a-1", "b-0", "__consumer_offsets-0"}
    assert reported(chosen(ReadRequest((data,), Choice(pattern=".")))) == {"a-0", "a-1", "b-0"}
    assert reported(chosen(ReadRequest((data,), Choice(topics=("__consumer_offsets",))))) == {"__consumer_offsets-0"}
    assert reported(chosen(ReadRequest((data,), Choice(assign=(TopicPartition("a", 1),))))) == {"a-1"}


@pytest.mark.parametrize("choice", [Choice(topics=("nope",)), Choice(assign=(TopicPartition("a", 7),))])
def test_what_is_not_there_is_reported(data, choice):
    with pytest.raises(UsageError, match="there is no"):
        chosen(ReadRequest((data,), choice))


def test_a_directory_is_held_open_once(data):
    assert data_directory(data) is data_directory(data)
    with pytest.raises(NotFound):
        partition(Location(data, TopicPartition("nope", 0)))


def test_a_directory_that_is_gone_is_not_held_open(data, tmp_path_factory):
    """A driver lives for long, and reads many directories."""
    gone = ref(data_directory(data))
    data_directory(Path(shutil.move(data, tmp_path_factory.mktemp("elsewhere") / "moved")))
    gc.collect()
    assert gone() is None
