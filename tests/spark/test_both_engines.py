"""Jobs in processes of this machine: what Spark makes of the same, and no Java."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkafs.sample import unpack
from kafkafs.spark.export.claims import CLAIM
from kafkafs.spark.export.export_plan import PLAN
from tests.kafka.dataset import Dataset
from tests.kafka.tiered import Tiered
from tests.mounting import KAFKAFS
from tests.tables.test_local import damaged

__all__ = ["damaged"]
BROKER = Dataset("4.3.1", "stopped")
ENGINES = ("local", "spark")
CODECS = ",".join(f"{kind}-{codec}" for kind in ("broker", "codec") for codec in ("gzip", "lz4", "snappy", "zstd"))
Command = Callable[..., int]


def tables(out: Path) -> dict[str, object]:
    """Each file with its rows and columns, and each list of files with what it says."""
    found: dict[str, Any] = {}
    for file in sorted(each for each in out.rglob("*") if each.is_file()):
        name = str(file.relative_to(out))
        found[name] = pq.ParquetFile(file).read() if file.suffix == ".parquet" else json.loads(file.read_bytes())
        if name == PLAN:
            del found[name]["id"]  # drawn for each export
    return found


def test_the_report_is_that_of_spark_byte_for_byte(damaged, spark, command: Command, capsys, tmp_path):
    """Who compares two audits must not see which engine made them."""
    reported = []
    for engine in ENGINES:
        code = command("audit", damaged, "--deep", "--engine", engine, "--report", tmp_path / engine)
        reported.append((code, (tmp_path / engine).read_bytes(), capsys.readouterr().err))
    assert reported[0] == reported[1]
    assert reported[0][0] == 1
    assert len(reported[0][1].splitlines()) > 10
    assert command("audit", damaged, "--deep", "--engine", "local") == 1
    assert capsys.readouterr().out.encode() == reported[0][1], "as they were found, in the same order"


def test_indexes_are_those_of_spark(spark, command: Command, tmp_path):
    for engine in ENGINES:
        for keys in ((), ("--keys",)):
            target = tmp_path / engine / ("keys" if keys else "plain")
            words = ("reindex", BROKER.path, "--topics", "segments,compacted", "--index-dir", target, *keys)
            assert command(*words, "--engine", engine) == 0
    made: list[dict[str, object]] = []
    for place in (tmp_path / "local", tmp_path / "spark"):
        files = {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*.*")}
        made.append({name: len(data) if name.endswith(".keys") else data for name, data in files.items()})  # are seeded
    assert made[0] == made[1]
    assert len(made[0]) > 50


@pytest.mark.parametrize(
    "words",
    [
        ("BROKER", "--topics", f"{CODECS},codec-none,nulls,headers,binary", "--file-mb", "1"),
        ("BROKER", "--topics", "transactions,segments-disorder", "--isolation", "read_committed", "--by", "day"),
        ("BROKER", "--topics", "binary,headers,segments", "--value", "json", "--by", "hour"),
        ("SAMPLE", "--value", "registry"),
        ("TIERED", "--topics", "orders", "--tiered", "TIER"),
    ],
    ids=["codecs", "by-day", "json", "registry", "tiered"],
)  # fmt: skip
def test_the_files_are_those_of_spark(words, command: Command, tmp_path, capsys):
    """Names, rows, columns and the plan: one engine goes on with what the other one has begun."""
    places = {"BROKER": BROKER.path, "TIERED": Tiered().left, "TIER": Tiered().tier}
    if "SAMPLE" in words:
        places["SAMPLE"] = unpack(tmp_path)
    made, reported = [], []
    for engine in ENGINES:
        out = tmp_path / engine
        assert command("export", *(places.get(word, word) for word in words), "--to", out, "--engine", engine) == 0
        made.append(tables(out))
        reported.append(capsys.readouterr().err.replace(str(out), "OUT").rpartition(" files, ")[0])
    assert made[0] == made[1]
    assert reported[0] == reported[1]
    assert sum(name.endswith(".parquet") for name in made[0]) >= 2


def test_one_engine_goes_on_with_what_the_other_has_begun(command: Command, tmp_path):
    words = ("export", BROKER.path, "--topics", "long-index,partitions", "--value", "json", "--file-mb", "1", "--to")
    assert command(*words, tmp_path / "whole") == 0
    whole = tables(tmp_path / "whole")
    for first, second in (ENGINES, ENGINES[::-1]):
        out = tmp_path / first
        assert command(*words, out, "--engine", first) == 0
        for file in sorted(out.rglob("*.parquet"))[::2]:
            file.unlink()
        assert command(*words, out, "--engine", second) == 0
        assert tables(out) == whole


def test_the_numbers_are_those_of_spark(command: Command, tmp_path):
    made = []
    for engine in ENGINES:
        words = ("--html", tmp_path / "page", "--json", tmp_path / "numbers", "--engine", engine)
        assert command("profile", BROKER.path, *words) == 0
        made.append(((tmp_path / "page").read_text(), (tmp_path / "numbers").read_text()))
    assert made[0] == made[1]


def test_it_takes_neither_java_nor_spark(tmp_path):
    """Nothing is started but this Python."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark/__init__.py").write_text("raise ImportError('there is no Spark')")
    bare = os.environ | {"PATH": "/nowhere", "JAVA_HOME": "/nowhere", "PYTHONPATH": str(tmp_path)}
    data, out = unpack(tmp_path), tmp_path / "out"
    for words in (["export", data, "--to", out, "--value", "registry"], ["profile", data, "--html", tmp_path / "page"]):
        done = subprocess.run([KAFKAFS, *words], capture_output=True, text=True, env=bare, timeout=300)
        assert (done.returncode, "Java" in done.stderr) == (0, False), done.stderr
    assert list(out.rglob("*.parquet"))
    assert not list(out.glob(f"{CLAIM}*"))
