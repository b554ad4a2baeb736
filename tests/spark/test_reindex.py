"""Rebuilt indexes against the broker's own: its indexes are deleted while it is stopped, and it makes them anew."""

from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark.reindex.job import SegmentUnit, make
from kafkafs.spark.reindex.rebuild import DEFAULT_INTERVAL
from tests.kafka import broker
from tests.kafka.dataset import Dataset
from tests.kafka.writer import START_MS, Record, Topic, Writer, create, transactional

KINDS = ("index", "timeindex", "txnindex")


def reindex(data: Path, target: Path, interval: int = DEFAULT_INTERVAL) -> None:
    """All indexes of `data`, made without Spark around."""
    directory = open_data_directory(data)
    target.mkdir()
    for name in directory.names():
        for base in directory.partition(name).listing().segments:
            make(SegmentUnit(data, name, base, 0, target, interval))


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


def test_transaction_indexes_are_the_brokers_own(stopped: Dataset, tmp_path):
    """Nothing in them depends on when the broker wrote them."""
    reindex(stopped.path, tmp_path / "indexes")
    ours = {file.relative_to(tmp_path / "indexes"): file for file in (tmp_path / "indexes").rglob("*.txnindex")}
    theirs = {file.relative_to(stopped.path): file for file in stopped.path.rglob("*.txnindex") if file.stat().st_size}
    assert {name: file.read_bytes() for name, file in ours.items()} == {
        name: file.read_bytes() for name, file in theirs.items()
    }
