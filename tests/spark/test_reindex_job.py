"""Rebuilt indexes against the broker's own: its indexes are deleted while it is stopped, and it makes them anew."""

import os
from pathlib import Path

import pytest

from kafkafs.errors import DiskError
from kafkafs.spark.locations import data_directory
from kafkafs.spark.reindex_job import make, topic_intervals, write_index
from kafkafs.spark.segment_units import segments_of
from tests.kafka import broker
from tests.kafka.dataset import Dataset
from tests.kafka.jars import KRAFT_RELEASES
from tests.kafka.writer import START_MS, Record, Topic, Writer, create, transactional
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


@pytest.mark.timeout(180)
@pytest.mark.parametrize("release", ["2.8.0", "4.3.1"])
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
