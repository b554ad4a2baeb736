"""Partitions that the metadata name and no disk here has: refused, or named, by the source and the jobs."""

import json
import logging
import os
import threading
import time
from pathlib import Path

import pytest

import kafkafs
from kafkafs.cli.main import main
from kafkafs.errors import NotFound, UsageError
from kafkafs.spark.frame import Frame, frame_of
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options
from kafkafs.spark.tasks import Task
from kafkafs.tables.missing import missing_of, missing_sentence, missing_topics, refuse_missing
from tests.cluster.test_topic_partitions import FEATURE, FORMER, ORDERS, OTHER, belongs, topic
from tests.cluster.writing import Data
from tests.spark.test_limited_stream import reader

METADATA = "__cluster_metadata-0"


@pytest.fixture
def one(tmp_path: Path) -> Data:
    """One broker's disk, long after its end: it has `orders-1` and `whole-0` of three and one partitions."""
    data = Data(tmp_path / "one")
    data.write(METADATA, [FEATURE, *topic("orders", ORDERS, 3), *topic("whole", OTHER, 1)])
    for name, topic_id in (("orders-1", ORDERS), ("whole-0", OTHER)):
        data.write(name, [(None, b"x"), (None, b"y")])
        belongs(data, name, topic_id)
    stop(data)
    return data


def stop(data: Data) -> None:
    """The broker has not written for an hour."""
    for log in data.path.glob("*/*.log"):
        os.utime(log, (time.time() - 3600,) * 2)


def batch(data: Data, **options: object) -> list[str]:
    """The partitions that a batch read plans."""
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    tasks = BatchReader(batch_options({"path": str(data.path), **words}), Frame()).partitions()
    return sorted(str(each.location.name) for task in tasks if isinstance(task, Task) for each in task.ranges)


CHOICES = {
    "subscribe": {"subscribe": "orders"},
    "subscribe two": {"subscribe": "whole,orders"},
    "pattern": {"subscribePattern": "ord"},
    "assign": {"assign": {"orders": [0, 1]}},
}


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_a_part_of_a_topic_is_refused(one, options):
    """Regression: of one of three brokers' disks one of three partitions was read, without a word."""
    with pytest.raises(NotFound, match=r"of orders partition.* not on these disks; name the other brokers'"):
        batch(one, **options)


def test_what_is_whole_is_read(one):
    assert batch(one, subscribe="whole") == ["whole-0"]
    assert batch(one, assign={"orders": [1]}) == ["orders-1"]
    assert batch(one, subscribePattern="wh.*") == ["whole-0"]


@pytest.mark.parametrize("options", [CHOICES["subscribe"], CHOICES["pattern"]])
def test_under_fail_on_data_loss_false_it_is_named(one, options, caplog):
    assert batch(one, failOnDataLoss=False, **options) == ["orders-1"]
    (said,) = caplog.messages
    assert said.startswith("of orders partitions 0, 2 of 3 are not on these disks; going on without them")


EACH = {"orders": {"0": 1, "1": 1, "2": 1}}
WITHOUT: dict[str, tuple[dict[str, object], list[str]]] = {
    "assigned": ({"assign": {"orders": [0, 1]}}, ["orders-1"]),
    "assigned alone": ({"assign": {"orders": [2]}}, []),
    "from offsets": ({"subscribe": "orders", "startingOffsets": EACH}, ["orders-1"]),
    "to offsets": ({"subscribe": "orders", "endingOffsets": EACH}, ["orders-1"]),
    "assigned, from offsets": ({"assign": {"orders": [0, 1, 2]}, "startingOffsets": EACH}, ["orders-1"]),
    "from times": ({"subscribePattern": "ord", "startingOffsetsByTimestamp": EACH}, ["orders-1"]),
    "a whole topic": ({"subscribe": "elsewhere"}, []),
    "a whole topic, and others": ({"subscribe": "elsewhere,orders,whole"}, ["orders-1", "whole-0"]),
    "columns": ({"subscribe": "elsewhere,orders", "value": "json"}, ["orders-1"]),
}


@pytest.mark.parametrize(("options", "expected"), WITHOUT.values(), ids=WITHOUT)
def test_whatever_names_it_is_continuedout(one, options, expected):
    """Regression: "set failOnDataLoss to false to go on" was followed by "there is no partition orders-0"."""
    one.write(METADATA, topic("elsewhere", FORMER, 2))
    stop(one)
    assert batch(one, failOnDataLoss=False, **options) == expected
    if "endingOffsets" not in options:
        words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
        stream = reader(one.path, **{"startingOffsets": "earliest", "failOnDataLoss": False, **words})
        stream.prepareForTriggerAvailableNow()
        begun = stream.initialOffset()
        tasks = stream.partitions(begun, stream.latestOffset(begun, stream.getDefaultReadLimit()))
        assert [str(each.location.name) for task in tasks if isinstance(task, Task) for each in task.ranges] == expected
    with pytest.raises(NotFound, match="not on these disks"):
        batch(one, **options)


def test_columns_of_a_missing_topic_are_not_asked_for_first(one):
    one.write(METADATA, topic("elsewhere", FORMER, 2))
    stop(one)
    frame = frame_of({"path": str(one.path), "subscribe": "elsewhere", "value": "json"})
    assert "value" in frame.schema.names


@pytest.mark.parametrize("bounds", [{}, {"start": {0: 0, 1: 0}}, {"end": {2: 1}}])
def test_a_scan_goes_on_without_it(one, bounds):
    one.write(METADATA, topic("elsewhere", FORMER, 2))
    stop(one)
    assert kafkafs.scan(one.path, "orders", fail_on_data_loss=False, **bounds).count() == 2
    assert kafkafs.scan(one.path, "elsewhere", fail_on_data_loss=False, start={0: 0}).count() == 0
    with pytest.raises(NotFound, match="fail_on_data_loss=False"):
        kafkafs.scan(one.path, "elsewhere")


def test_an_export_goes_on_without_it(one, tmp_path, capsys):
    one.write(METADATA, topic("elsewhere", FORMER, 2))
    stop(one)
    words = ("export", one.path, "--to", tmp_path / "out", "--fail-on-data-loss", "false")
    assert command(*words, "--topics", "elsewhere,whole") == 0
    assert "2 records in 1 files" in capsys.readouterr().err
    words = ("export", one.path, "--to", tmp_path / "other", "--fail-on-data-loss", "false")
    assert command(*words, "--topics", "orders", "--from-offsets", json.dumps(EACH)) == 0
    assert "1 records in 1 files" in capsys.readouterr().err
    words = ("export", one.path, "--to", tmp_path / "none", "--fail-on-data-loss", "false")
    assert command(*words, "--topics", "elsewhere") == 2
    assert "of elsewhere partitions 0, 1 of 2 are not on these disks" in capsys.readouterr().err


def test_a_topic_of_other_brokers_alone_is_refused_by_a_pattern(one):
    one.write(METADATA, topic("elsewhere", FORMER, 2))
    stop(one)
    with pytest.raises(NotFound, match="of elsewhere partitions 0, 1 of 2 are not on these disks"):
        batch(one, subscribePattern="^(elsewhere|whole)$")


def test_a_stream_is_refused_at_its_beginning_and_at_each_micro_batch(one):
    stream = reader(one.path, subscribe="orders", startingOffsets="earliest")
    with pytest.raises(NotFound, match="not on these disks"):
        stream.initialOffset()
    with pytest.raises(NotFound, match="not on these disks"):
        stream.partitions({"orders": {"1": 0}}, {"orders": {"1": 2}})


def test_a_stream_names_it_once(one, caplog):
    stream = reader(one.path, subscribe="orders", startingOffsets="earliest", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        begun = stream.initialOffset()
        for _ in range(3):
            assert stream.partitions(begun, {"orders": {"1": 2}})
    assert len(caplog.messages) == 1


def test_a_partition_that_a_broker_is_about_to_make_is_waited_for(one, monkeypatch):
    """The metadata name it some moments before its directory is there."""
    one.write(METADATA, topic("whole", OTHER, 2))
    waited = threading.Event()
    monkeypatch.setattr("kafkafs.tables.missing.PATIENCE_S", 30.0)
    monkeypatch.setattr("kafkafs.tables.missing.time.sleep", lambda _: waited.set())
    maker = threading.Thread(target=lambda: waited.wait(300) and belongs(one, "whole-1", OTHER))
    maker.start()
    assert batch(one, subscribe="whole") == ["whole-0"]
    maker.join()
    assert waited.is_set()


def test_of_some_topics_the_first_are_named(one):
    for number in range(5):
        one.write(METADATA, topic(f"t{number}", "A" * 20 + f"{number}A", 1))
    stop(one)
    found = missing_topics([one.path], lambda name: name.startswith("t"))
    assert [each.topic for each in found] == [f"t{number}" for number in range(5)]
    assert missing_sentence(found).endswith(
        "of t2 partition 0 of 1 is not on these disks; and partitions of 2 more topics are missing"
    )
    assert refuse_missing([], fail=True) == []
    with pytest.raises(UsageError, match="--fail-on-data-loss false"):
        refuse_missing(found, fail=True)


def test_of_assigned_partitions_those_of_a_former_topic_are_reported(one):
    belongs(one, "orders-0", FORMER)
    stop(one)
    (found,) = missing_of(batch_options({"path": str(one.path), "assign": '{"orders":[0]}'}))
    assert (found.missing, found.replaced) == ((0,), {0: FORMER})


def command(*words: object) -> int:
    """The exit code of `kafkafs` with these words."""
    return main([*map(str, words)])


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--fail-on-data-loss", "false"), 0)])
def test_audit_has_a_finding_for_each(one, capsys, words, code):
    assert command("audit", one.path, "--topics", "orders", *words) == code
    said = capsys.readouterr()
    findings = [json.loads(line) for line in said.out.splitlines()]
    named = [(each["kind"], each["severity"], each["topic"], each["partition"]) for each in findings]
    assert named == [("missing-partition", "data loss", "orders", number) for number in ((0, 2) if code else ())]
    assert {each["dataDirectory"] for each in findings} <= {str(one.path)}
    assert ("of orders partitions 0, 2 of 3 are not on these disks" in said.err) == (code == 0)


def test_export_and_profile_refuse_or_name_it(one, tmp_path, capsys):
    for words in (("export", "--to", tmp_path / "out"), ("profile", "--html", tmp_path / "page.html")):
        name, *rest = words
        assert command(name, one.path, "--topics", "orders", *rest) == 2
        assert "of orders partitions 0, 2 of 3 are not on these disks; name the" in capsys.readouterr().err
        assert command(name, one.path, "--topics", "orders", *rest, "--fail-on-data-loss", "false") == 0
        assert "of orders partitions 0, 2 of 3 are not on these disks; going on" in capsys.readouterr().err
    assert command("export", one.path, "--topics", "whole", "--to", tmp_path / "whole") == 0


def test_of_metadata_that_cannot_be_read_a_job_tells(one: Data, capfd: pytest.CaptureFixture[str]) -> None:
    """Regression: the whole topic seemed to be there."""
    log = one.path / METADATA / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[70] ^= 1
    log.write_bytes(bytes(content))
    one.write(METADATA, [FEATURE])
    stop(one)
    out = one.path.parent / "profile.json"
    assert main(["profile", str(one.path), "--topics", "orders", "--json", str(out)]) == 0
    assert main(["export", str(one.path), "--topics", "orders", "--to", f"{out}.d", "--engine", "local"]) == 0
    assert main(["audit", str(one.path), "--topics", "orders"]) == 0
    assert capfd.readouterr().err.count("unknown if partitions are missing") == 3
