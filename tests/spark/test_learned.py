"""A first pass that was killed goes on: what each range told is kept until the plan has the types."""

import json
import os
import signal
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kafkafs.cli.main import main
from kafkafs.tables import locations
from kafkafs.tables.typed.kinds import Pass
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, write_partition
from tests.mounting import wait_until

PARTITIONS = 4
LEARNED = "_kafkafs_export.types"


def write(place: Path) -> Path:
    for number in range(PARTITIONS):
        values = [b'{"a":%d,"p%d":true}' % (number, number), b'{"a":1.5}' if number == 3 else b"no json"]
        records = tuple(Record(at, 1_000, 0, None, value) for at, value in enumerate(values))
        write_partition(place / "data", {0: [Made(v2_batch(records), records)]}, f"t-{number}")
    return place / "data"


def run(data: Path, out: Path) -> int:
    locations.open_directories.close()
    words = ["export", str(data), "--to", str(out), "--topics", "t", "--value", "json", "--engine", "local"]
    return main(words)


def kept(out: Path) -> dict[str, str]:
    return {str(file.relative_to(out)): file.read_text() for file in (out / LEARNED).rglob("*.json")}


def killed_at(monkeypatch: pytest.MonkeyPatch, data: Path, out: Path, partition: int) -> None:
    """A run that ends in the pass over that partition, in a process of its own that is killed as by kill -9."""
    usual = Pass.kind

    def kind(each: Pass) -> object:
        if each.range.location.name.partition == partition:
            wait_until(lambda: len(kept(out)) == partition)  # by the process that is killed
            os.kill(parent, signal.SIGKILL)
            os._exit(1)  # this worker would keep its result before it learns of that
        return usual(each)

    child = os.fork()
    if not child:
        parent = os.getpid()
        monkeypatch.setattr(Pass, "kind", kind)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})  # one range after the other
        monkeypatch.setattr("kafkafs.tables.local.BUNDLE_BYTES", 1)
        run(data, out)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_a_rerun_after_a_kill_goes_on(tmp_path, monkeypatch):
    data, out = write(tmp_path), tmp_path / "out"
    killed_at(monkeypatch, data, out, 2)
    assert len(kept(out)) == 2
    assert json.loads((out / "_kafkafs_export.json").read_text())["valueTypes"] == {}
    usual = Pass.kind

    def counted(each: Pass) -> object:
        (tmp_path / f"seen-{each.range.location.name.partition}").touch()
        return usual(each)

    monkeypatch.setattr(Pass, "kind", counted)
    assert run(data, out) == 0
    assert sorted(file.name for file in tmp_path.glob("seen-*")) == ["seen-2", "seen-3"]
    assert run(data, tmp_path / "whole") == 0
    found, whole = (ds.dataset(each, partitioning="hive").to_table() for each in (out, tmp_path / "whole"))
    assert found.schema == whole.schema
    assert found.sort_by([("partition", "ascending"), ("offset", "ascending")]).equals(
        whole.sort_by([("partition", "ascending"), ("offset", "ascending")])
    )
    assert not kept(out)


@pytest.mark.parametrize("text", ["", "[", "{}", "[null, null]", "\xff"])
def test_a_result_that_is_none_is_asked_again(tmp_path, monkeypatch, text):
    data, out = write(tmp_path), tmp_path / "out"
    killed_at(monkeypatch, data, out, 3)
    for name in kept(out):
        (out / name).write_text(text, encoding="latin-1")
    assert run(data, out) == 0
    kind = json.loads((out / "_kafkafs_export.json").read_text())["valueTypes"]["t"]
    assert kind == ["object", {"a": "double"} | {f"p{number}": "boolean" for number in range(PARTITIONS)}]


def test_records_that_came_meanwhile_are_in_the_type(tmp_path, monkeypatch):
    data, out = write(tmp_path), tmp_path / "out"
    killed_at(monkeypatch, data, out, 3)
    records = (Record(0, 1_000, 0, None, b'{"late":"x"}'),)
    write_partition(data, {0: [Made(v2_batch(records), records)]}, "t-9")
    assert run(data, out) == 0
    assert "late: string" in str(ds.dataset(out, partitioning="hive").schema.field("value").type)
