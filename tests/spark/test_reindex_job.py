"""Rebuilt indexes against those that the broker makes anew, and topics' own intervals, as the metadata tells them."""

import os
import shutil
from pathlib import Path

import pytest

from kafkafs.errors import DiskError
from kafkafs.format.names import METADATA_LOG, segment_file
from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark import reindex_job
from kafkafs.spark.reindex_job import make, topic_intervals, write_index
from kafkafs.spark.segment_units import segments_of
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.locations import data_directory
from tests.cluster.writing import Data, Pair, metadata, snapshot
from tests.kafka import broker
from tests.kafka.dataset import Dataset
from tests.kafka.jars import KRAFT_RELEASES
from tests.kafka.writer import START_MS, Record, Topic, Writer, create, transactional
from tests.log.making import made, write_partition
from tests.mounting import KAFKAFS, mounting, run

KINDS = ("index", "timeindex", "txnindex")


def reindex(data: Path, target: Path) -> None:
    """All indexes of `data`, made without Spark around."""
    own = {data: topic_intervals(data_directory(data))}
    for unit in segments_of([data]):
        make(unit, target, own)


def write(node: broker.Broker) -> None:
    """Several segments, times in disorder, two codecs, and transactions that interleave, abort and stay open."""
    create(node, {name: Topic(settings={"segment.bytes": 1 << 20}) for name in ("plain", "packed", "transacted")})
    for topic, codec in (("plain", "none"), ("packed", "lz4")):
        writer = Writer(node, codec)
        for batch in range(120):
            times = (START_MS + batch * 1000 - (batch % 7) * 5000 + each for each in range(10))
            writer.batch(topic, [Record(bytes([batch]) * 1500, b"k", time) for time in times])
    one, two, three = (transactional(node, name) for name in ("one", "two", "three"))
    for turn in range(12):
        for writer in (one, two):
            writer.begin()
            writer.batch("transacted", [Record(b"x" * 20_000, b"k")] * 3)
        if turn == 5:
            three.begin()
            three.batch("transacted", [Record(b"open")])
        (one.abort if turn % 3 else one.commit)()
        (two.abort if turn % 2 else two.commit)()


@pytest.mark.parametrize("release", [pytest.param("2.8.0", marks=pytest.mark.slow), "4.3.1"])
def test_rebuilt_indexes_are_those_that_the_broker_rebuilds(release, tmp_path):
    home, target = tmp_path / "home", tmp_path / "indexes"
    home.mkdir()
    with broker.running(release, home) as node:
        write(node)
    data = home / "data"
    reindex(data, target)
    ours = {file.relative_to(target): file.read_bytes() for file in target.rglob("*") if _is_wanted(file)}
    for kind in KINDS:
        for file in data.rglob(f"*.{kind}"):
            file.unlink()
    with broker.running(release, home):
        pass
    theirs = {file.relative_to(data): file.read_bytes() for file in data.rglob("*") if _is_wanted(file)}
    assert ours == theirs
    assert any(file.suffix == ".txnindex" for file in ours)
    assert len([file for file in ours if file.suffix == ".index"]) >= 5


@pytest.mark.parametrize("release", KRAFT_RELEASES)
def test_what_one_log_dir_tells_counts_in_the_others(release, tmp_path):
    """Regression: the metadata log is in one of `log.dirs`, and partitions in another were indexed by the default."""
    data, one, two = Dataset(release, "stopped").path, tmp_path / "one", tmp_path / "two"
    names = [f"{topic}-0" for topic in topic_intervals(open_data_directory(data))]
    shutil.copytree(data / METADATA_LOG, one / METADATA_LOG)
    for name in names:
        shutil.copytree(data / name, two / name)
    reindex_job.reindex(LocalEngine(1), [one, two], tmp_path / "parted")
    reindex(data, tmp_path / "whole")
    made = [file.relative_to(tmp_path / "whole") for name in names for file in (tmp_path / "whole" / name).iterdir()]
    whole, parted = ([(tmp_path / each / file).read_bytes() for file in made] for each in ("whole", "parted"))
    assert parted == whole
    assert made


def _is_wanted(file: Path) -> bool:
    return file.suffix[1:] in KINDS and file.parent.name in ("plain-0", "packed-0", "transacted-0")


@pytest.mark.parametrize("release", KRAFT_RELEASES)
def test_each_topic_has_its_own_interval(release, tmp_path):
    """As KRaft's metadata log tells. What an uninterrupted broker wrote is then what it would rebuild."""
    data = Dataset(release, "stopped")
    reindex(data.path, tmp_path / "indexes")
    ours = [file for kind in KINDS for file in (tmp_path / "indexes").rglob(f"*.{kind}")]
    names = [file.relative_to(tmp_path / "indexes") for file in ours]
    interrupted = ("restarted-0", "__cluster_metadata-0", "doomed-0")
    differing = {
        name for name, file in zip(names, ours, strict=True)
        if not name.parts[0].startswith(interrupted) and (data.path / name).read_bytes() != file.read_bytes()
    }  # fmt: skip
    assert differing == set()
    assert len(ours) > 180


def test_transaction_indexes_are_the_brokers_own(stopped: Dataset, tmp_path):
    """Nothing in them depends on when the broker wrote them."""
    reindex(stopped.path, tmp_path / "indexes")
    ours = {file.relative_to(tmp_path / "indexes"): file for file in (tmp_path / "indexes").rglob("*.txnindex")}
    theirs = {file.relative_to(stopped.path): file for file in stopped.path.rglob("*.txnindex") if file.stat().st_size}
    assert {name: file.read_bytes() for name, file in ours.items()} == {
        name: file.read_bytes() for name, file in theirs.items()
    }


def test_a_mount_prefers_the_rebuilt_indexes(tmp_path):
    """The broker's own are gone or garbage; the mount says of its lookups what it says of the sound original."""
    original = Dataset("4.3.1", "stopped")
    data = original.copy_to(tmp_path / "data", "long-index-0", "segments-0", "__cluster_metadata-0")
    for file in [*data.rglob("long-index-0/*.index"), *data.rglob("segments-0/*.timeindex")]:
        file.unlink()
    for file in [*data.rglob("long-index-0/*.timeindex"), *data.rglob("segments-0/*.index")]:
        file.write_bytes(os.urandom(2400))
    before = _state(data)
    reindex(data, tmp_path / "indexes")
    long, many = original.records("long-index"), original.records("segments")
    questions = [
        "long-index-0/by-offset/1500.explain", f"long-index-0/by-time/{long[700].timestamp_ms}.explain",
        f"segments-0/by-offset/{many[55].offset}.explain", f"segments-0/by-time/{many[90].timestamp_ms}.explain",
    ]  # fmt: skip
    sound = _answers(original.path, questions, tmp_path)
    damaged = _answers(data, questions, tmp_path)
    rebuilt = _answers(data, questions, tmp_path, "-o", f"index_dir={tmp_path / 'indexes'}")
    assert rebuilt == sound
    assert b"offset index 00000000000000000000.index: slot 1499 of 2499" in rebuilt[0]
    assert all(one != two for one, two in zip(damaged, rebuilt, strict=True))
    assert [_answer(each) for each in damaged] == [_answer(each) for each in sound]  # slower, and as right
    assert _state(data) == before


def _answers(data: Path, questions: list[str], tmp_path: Path, *options: str) -> list[bytes]:
    place = tmp_path / "mount"
    place.mkdir(exist_ok=True)
    with mounting([KAFKAFS, "mount", *options, data, place], place, tmp_path / "log") as mounted:
        return [run("cat", mounted / name).stdout for name in questions]


def _answer(explained: bytes) -> list[bytes]:
    return [line for line in explained.splitlines() if line.startswith((b"answer:", b"record:"))]


def _state(data: Path) -> dict[Path, tuple[int, bytes]]:
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in data.rglob("*") if file.is_file()}


def test_an_index_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    """Regression: on a full disk half of each index stayed there, under names that no later run took away."""
    place = tmp_path / "t-0" / "00000000000000000000.index"
    place.mkdir(parents=True)
    with pytest.raises(DiskError, match="cannot be written"):
        write_index(place, b"12345678")
    assert list(place.parent.iterdir()) == [place]


NAME = "__cluster_metadata-0"
TOPIC_ID = "A" * 21 + "w"
TOPIC, BROKER = 2, 4


def setting(topic: str, value: str | None, key: str = "index.interval.bytes", kind: int = TOPIC) -> Pair:
    """A setting of a topic; None takes it away."""
    return metadata("ConfigRecord", resourceType=kind, resourceName=topic, name=key, value=value)


def topic(name: str) -> Pair:
    """A topic comes."""
    return metadata("TopicRecord", name=name, topicId=TOPIC_ID)


GONE = metadata("RemoveTopicRecord", topicId=TOPIC_ID)
BEGIN, END, ABORT = (metadata(f"{word}TransactionRecord") for word in ("Begin", "End", "Abort"))


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path / "data")


def reported(data: Data) -> dict[str, int]:
    """The intervals, by topic."""
    return topic_intervals(open_data_directory(data.path))


@pytest.mark.parametrize(
    ("records", "intervals"),
    [
        ([setting("t", "100"), setting("u", "7")], {"t": 100, "u": 7}),
        ([setting("t", "100"), setting("t", "200")], {"t": 200}),
        ([setting("t", "100"), setting("t", None)], {}),
        ([setting("t", None)], {}),
        ([setting("t", "100", "segment.bytes"), setting("1", "100", kind=BROKER)], {}),
        ([setting("t", "many"), setting("u", "-1"), setting("v", "\u0663")], {}),
        ([topic("t"), setting("t", "100"), GONE], {}),
        ([topic("t"), setting("t", "100"), GONE, topic("t")], {}),
        ([BEGIN, setting("t", "100"), END, BEGIN, setting("t", "200"), ABORT], {"t": 100}),
        ([setting("t", "100"), BEGIN, setting("t", None)], {"t": 100}),
    ],
)
def test_a_setting_counts_as_long_as_it_holds(data: Data, records: list[Pair], intervals: dict[str, int]) -> None:
    """Regression: a topic that was deleted and made anew got the interval of its namesake, and an aborted transaction
    of metadata counted; the index rebuilt by it is none that a broker would make."""
    data.write(NAME, records)
    assert reported(data) == intervals


def test_what_a_snapshot_tells_goes_on_in_the_log(data: Data) -> None:
    data.write_snapshot(5, snapshot(setting("t", "100"), setting("u", "7")))
    data.write(NAME, [setting("u", None)], at=5)
    assert reported(data) == {"t": 100}


def test_a_snapshot_that_is_not_whole_gives_way_to_the_one_before(data: Data) -> None:
    """Regression: what the broker was writing when it was killed was taken for all there is."""
    data.write_snapshot(5, snapshot(setting("t", "100")))
    data.write_snapshot(9, snapshot(setting("t", "200"))[:-1])
    data.write(NAME, [setting("u", "7")], at=5)
    assert reported(data) == {"t": 100, "u": 7}


def test_damage_leaves_what_can_be_read(data: Data) -> None:
    data.write(NAME, [setting("t", "100")])
    data.write(NAME, [setting("u", "7")])
    log = data.path / NAME / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"!")
    assert reported(data) == {"t": 100}


def test_a_data_directory_without_metadata_tells_none(data: Data) -> None:
    """One of ZooKeeper's times, or another disk of the same broker."""
    assert reported(data) == {}


def test_what_a_swap_file_has_of_the_next_segment_is_valid(tmp_path):
    """Regression: "958 bytes that are not valid: see kafkafs audit", which found none, where a broker had died while it
    swapped files."""
    one, two = ([made(at, [1]) for at in (first, first + 1)] for first in (0, 2))
    directory = write_partition(tmp_path / "data", {0: one, 2: two})
    merged = (directory / segment_file(0, "log")).read_bytes() + (directory / segment_file(2, "log")).read_bytes()
    (directory / segment_file(0, "log")).unlink()
    (directory / f"{segment_file(0, 'log')}.swap").write_bytes(merged)
    units = segments_of([tmp_path / "data"])
    assert [make(unit, tmp_path / "indexes", {}).invalid for unit in units] == [0, 0]
