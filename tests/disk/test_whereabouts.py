"""Whoever names a directory near the data is told the one to name; and what lies in which directory."""

import json
from pathlib import Path

import pytest

from kafkafs.disk.data_paths import data_path
from kafkafs.disk.whereabouts import each_once, is_within, partitions_of
from kafkafs.errors import UsageError
from kafkafs.log.data_directory import open_data_directory
from tests.kafka.buckets import bucket_of
from tests.log.making import made, write_partition


def said(path) -> str:
    with pytest.raises(UsageError) as refused:
        open_data_directory(path)
    return str(refused.value)


@pytest.fixture
def volume(tmp_path):
    """As Strimzi has it: `data-0` is the volume, the broker's directory is in it."""
    for number in (0, 1, 5):
        write_partition(tmp_path / "data-0/kafka-log0", {0: [made(0, [1])]}, f"orders-{number}")
    (tmp_path / "data-0/lost+found").mkdir()
    return tmp_path / "data-0"


def test_a_volume_with_the_directory_in_it(volume):
    assert f"name what is in it: '{volume}/kafka-log0'" in said(volume)


def test_of_many_directories_some_are_named(tmp_path):
    for name in "abcd":
        write_partition(tmp_path / name, {0: [made(0, [1])]})
    assert said(tmp_path).endswith(f"name what is in it: '{tmp_path}/a', '{tmp_path}/b', '{tmp_path}/c', …")


def test_a_partition_and_a_file_in_it(volume):
    above = volume / "kafka-log0"
    assert said(above / "orders-0").endswith(f"name the directory above it, '{above}'")
    segment = next((above / "orders-0").glob("*.log"))
    assert "is not a directory" in said(segment)
    assert said(segment).endswith(f"name the directory above it, '{above}'")


def test_a_topic_is_no_directory(volume):
    above = volume / "kafka-log0"
    assert said(above / "orders") == (
        f"'{above}/orders' does not exist; did you mean orders-0 to orders-5, which are in '{above}':"
        " name that directory"
    )
    assert f"partitions are in '{above}': name that directory" in said(above / "payments")
    write_partition(above, {0: [made(0, [1])]}, "solo-3")
    assert said(above / "solo").endswith(f"did you mean solo-3, which is in '{above}': name that directory")


def test_a_path_of_a_mount_below_a_data_directory(volume):
    """`cat DATA_DIR/orders-0/by-offset/0.jsonl`: two words were made one."""
    above = volume / "kafka-log0"
    reported = f"'{above}/orders-0' looks like one partition: name the directory above it, '{above}'"
    assert said(above / "orders-0/by-offset/0.jsonl").endswith(reported)


def test_a_file_of_a_data_directory(volume):
    above = volume / "kafka-log0"
    assert said(above / "meta.properties").endswith(f"it is a file of a data directory: name that, '{above}'")


def test_a_mount_and_a_partition_in_it(tmp_path):
    (tmp_path / ".kafkafs").mkdir()
    (tmp_path / ".kafkafs/status.json").write_text(json.dumps({"dataDirectories": ["/disk1", "/disk2"]}))
    (tmp_path / "orders-0/by-offset").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "orders-0", tmp_path / "orders-0/by-offset", tmp_path / "orders"):
        assert said(place).endswith(f"'{tmp_path}' is a mount by kafkafs: name what it shows, '/disk1' and '/disk2'")


def test_what_is_near_nothing_is_answered_with_what_to_look_for(tmp_path):
    assert said(tmp_path / "missing").endswith("name a Kafka data directory, one of the broker's log.dirs")
    assert said(tmp_path).endswith("with segments in them")


def test_commas_between_directories_are_blanks(volume):
    """As `kafkafs cat` takes them; other commands take several words."""
    assert said(Path(f"{volume}/kafka-log0,{volume}/kafka-log1")).endswith(
        f"write blanks between data directories, as in {volume}/kafka-log0 {volume}/kafka-log1"
    )


def test_what_is_near_is_looked_at_in_silence(tmp_path, caplog):
    """Regression: `kafkafs ls /` said 90 times that a link in `/bin` (`gcc-12`) is not served, before its sentence."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gcc-12").symlink_to("gcc")
    assert said(tmp_path).endswith("with segments in them")
    assert said(tmp_path / "bin")
    assert caplog.messages == []


def test_partitions_are_named_by_their_ends():
    names = ["orders-10", "orders-9", "orders-eu-3", "orders-0", f"orders-7.{'0' * 32}-delete", "x"]
    assert partitions_of("orders", names) == "orders-0 to orders-10"
    assert partitions_of("orders-eu", names) == "orders-eu-3"
    assert partitions_of("payments", names) == ""


def test_within_is_known_by_identity_and_not_by_names(tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "outer/inner"
    inner.mkdir(parents=True)
    (tmp_path / "link").symlink_to(inner)
    assert is_within(inner, outer)
    assert is_within(outer, outer)
    assert is_within(tmp_path / "link", outer)
    assert not is_within(outer, inner)
    assert not is_within(tmp_path / "outer-too", outer)
    assert not is_within(inner, Path("/nowhere"))
    assert not is_within(Path("/nowhere"), outer)


def test_a_directory_that_is_named_twice_is_one(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    words = [f"{tmp_path}/a", f"{tmp_path}/b", f"{tmp_path}/./a", f"{tmp_path}/c"]
    assert each_once(words) == [words[0], words[3]]
    assert each_once(map(Path, words)) == [Path(words[0]), Path(words[3])]


@pytest.mark.usefixtures("bucket_keys")
def test_in_a_bucket_the_copy_near_it_is_named(volume):
    with bucket_of(volume) as store:
        top, _, query = store.address().partition("?")

        def said_of(folder: str) -> str:
            return said(data_path(f"{top}{folder}?{query}"))

        copy = f"{top}/kafka-log0"
        assert said_of("").endswith(f"is no copy of a data directory; name what is in it: '{copy}'")
        reported = f"'orders-0' looks like one partition: name the folder above it, '{copy}'"
        assert said_of("/kafka-log0/orders-0").endswith(reported)
