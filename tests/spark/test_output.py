"""Exports to other file systems than the disk: an S3 server of this machine, which only knows whole objects."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow.dataset as ds
import pytest
from pyarrow import fs

from kafkafs.cli.main import main
from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.export import export_plan
from kafkafs.spark.export.export_job import Exported, export
from kafkafs.spark.export.export_plan import PLAN
from kafkafs.spark.export.output import Output, output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.spark.export.tallies import TALLIES
from kafkafs.spark.jobs import Engine
from tests.spark.test_export_job import request, truth

SECRET = "not-to-be-told"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """What stands behind a bucket's name: an S3 server with the bucket `bucket`."""
    from moto.server import ThreadedMotoServer  # half a second, which each worker would wait when it collects

    running = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    query = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    system, _ = fs.FileSystem.from_uri(f"s3://key:{SECRET}@bucket/x?{query}&allow_bucket_creation=true")
    system.create_dir("bucket")
    yield query
    running.stop()


@pytest.fixture
def bucket(server: str, tmp_path) -> Output:
    return output(f"s3a://key:{SECRET}@bucket/{tmp_path.name}?{server}")


def run(engine: Engine, out: Output, wanted: export_plan.Request) -> Exported:
    return export(engine, PlanStore(out, wanted), settle(out, wanted))


def opened(out: Output) -> tuple[fs.FileSystem, str]:
    system, root = fs.FileSystem.from_uri(out.uri)
    return system, root


def test_all_that_an_export_promises_holds_on_s3(engine: Engine, bucket: Output):
    wanted = request("long-index", "partitions", file_bytes=20_000)
    done = run(engine, bucket, wanted)
    system, root = opened(bucket)
    records = truth("long-index", "partitions")
    columns = ds.dataset(root, filesystem=system, partitioning="hive").to_table().sort_by(
        [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    )  # fmt: skip
    assert columns.column("value").to_pylist() == [each[6] for each in records]
    assert done.records == len(records)

    names = sorted(name for name in bucket.sizes() if name.endswith(".parquet"))
    assert len(names) == done.files > 10
    for name in names[::2]:  # a run that was ended: some are missing, one is half written
        system.delete_file(f"{root}/{name}")
    with system.open_output_stream(f"{root}/topic=partitions/.x.parquet.host.1.tmp") as file:
        file.write(b"half a file")
    again = run(engine, bucket, wanted)
    assert (again.written, again.files, again.records) == (len(names[::2]), done.files, done.records)
    assert sorted(bucket.sizes()) == [TALLIES, PLAN, *names]
    everything = system.get_file_info(fs.FileSelector(root, recursive=True))
    assert not [each.path for each in everything if each.path.endswith(".tmp")]
    with pytest.raises(UsageError, match="something else"):
        run(engine, bucket, request("partitions"))


def test_partitions_by_date_on_s3_are_taken_up_too(engine: Engine, bucket: Output):
    """Marks tell which ranges are done; a table that is missing has its range written anew."""
    wanted = request("disorder", "segments-disorder", file_bytes=20_000, by="hour")
    done = run(engine, bucket, wanted)
    system, root = opened(bucket)

    def offsets() -> list[tuple[str, int, str]]:
        table = ds.dataset(root, filesystem=system, partitioning="hive", ignore_prefixes=["_", "."]).to_table()
        dated = table.select(["topic", "offset", "date", "hour"]).to_pylist()
        return sorted((row["topic"], row["offset"], f"{row['date']} {int(row['hour']):02}") for row in dated)

    expected = sorted(
        (str(topic), int(str(offset)), datetime.fromtimestamp(int(str(ms)) / 1000, UTC).strftime("%Y-%m-%d %H"))
        for topic, _, offset, ms, *_ in truth("disorder", "segments-disorder")
    )
    assert offsets() == expected
    names = sorted(name for name in bucket.sizes() if name.endswith(".parquet"))
    for name in names[::2]:
        system.delete_file(f"{root}/{name}")
    again = run(engine, bucket, wanted)
    assert (again.files, again.records) == (done.files, done.records)
    assert again.written > 0
    assert offsets() == expected


def test_a_place_with_other_files_is_refused(bucket: Output):
    system, root = opened(bucket)
    with system.open_output_stream(f"{root}/other") as file:
        file.write(b"x")
    with pytest.raises(UsageError, match="holds other files") as refused:
        settle(bucket, request("partitions"))
    assert SECRET not in str(refused.value)
    assert str(bucket).startswith("s3://bucket/")


def test_a_file_that_fails_half_way_gets_no_name(bucket: Output):
    with pytest.raises(TypeError), bucket.writing("d/file") as sink:
        sink.write([b"half"])
    assert not bucket.sizes()
    bucket.tidy()
    with bucket.writing("d/file") as sink:
        sink.write(b"whole")
    assert bucket.sizes() == {"d/file": 5}
    assert bucket.read("d/file") == b"whole"
    assert bucket.read("d/none") is None


def test_what_cannot_be_reached_or_written_is_one_sentence(server: str, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    missing = output(f"s3://key:{SECRET}@nobody/x?{server}")
    with pytest.raises(DiskError, match="cannot be written") as refused, missing.writing("file") as sink:
        sink.write(b"x")
    assert SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)
    (tmp_path / "file").touch()
    assert main(["export", str(request("t").paths[0]), "--to", str(tmp_path / "file")]) == 2
    assert "is not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a%20b", "a%2Fb", "a b", "a#b", "a+b", "100%", "a,b", "é'=&", "a%23b/c%"])
def test_a_folder_of_a_bucket_has_the_name_that_is_written(name: str, server: str):
    """Regression: `%20` became a space, so it was another folder than the one that is read by this address."""
    out = output(f"s3://key:{SECRET}@bucket/{name}/?{server}")
    with out.writing("d/file") as sink:
        sink.write(b"whole")
    system, _ = fs.FileSystem.from_uri(f"s3://key:{SECRET}@bucket?{server}")
    assert system.get_file_info(f"bucket/{name}/d/file").size == 5
    assert out.sizes() == {"d/file": 5}
    assert str(out) == f"s3://bucket/{name}/"


@pytest.mark.parametrize("path", ["/a//b", "//a", "/a/./b", "/./a", "/a\tb"])
def test_an_address_that_would_lead_elsewhere_is_refused(path: str, server: str):
    """Regression: `s3://bucket//copy/x` was written into the copy, and an empty name inside was a bug."""
    with pytest.raises(UsageError, match=r"the address .* has"):
        output(f"s3://key:{SECRET}@bucket{path}?{server}")


@pytest.mark.parametrize("word", ["{}", "file://{}", "file:{}", "file://localhost{}"])
def test_a_local_place_may_be_written_as_a_uri(word, tmp_path):
    assert output(word.format(tmp_path)).local == tmp_path


def test_a_local_place_may_have_any_name(tmp_path):
    out = output(str(tmp_path / "a b%20#?ü"))
    with out.writing("file") as sink:
        sink.write(json.dumps({}).encode())
    assert (tmp_path / "a b%20#?ü" / "file").read_text() == "{}"
    assert str(out) == str(tmp_path / "a b%20#?ü")


def test_a_local_place_whose_name_is_no_utf_8_is_refused(tmp_path):
    """Regression: "file:// is not a file system that pyarrow knows"."""
    with pytest.raises(UsageError, match=r"'.*\\udcff' is not UTF-8, and pyarrow opens no such path; name another"):
        output(str(tmp_path / "out\udcff"))


def test_a_file_whose_name_is_no_utf_8_is_a_sentence(tmp_path):
    """Regression: "this is a bug", for `export --to` and `--compact` on a directory with a stranger's file."""
    (tmp_path / "x\udcff").touch()
    out = output(str(tmp_path))
    for ask in (out.sizes, out.tidy, lambda: out.times("_")):
        with pytest.raises(UsageError, match=f"^'{tmp_path}' has a file whose name is not UTF-8: .*; move it away$"):
            ask()


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs"])
def test_hadoops_file_systems_are_refused_with_the_way_that_works(scheme):
    """Through pyarrow they take Java inside of this process; Spark and Hadoop's own commands write there better."""
    with pytest.raises(UsageError, match=f"^{scheme}:// is not written by export: .*hdfs dfs -put"):
        output(f"{scheme}://name:8020/x")


@pytest.mark.parametrize(("mode", "of_directories"), [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755)])
def test_files_and_directories_are_shown_to_nobody_else(tmp_path, mode, of_directories):
    """Regression: whatever the sources' modes, they had those of the umask. A file has its mode from the beginning."""
    out = Output((tmp_path / "a/out").as_uri(), mode)
    with out.writing("topic=t/x.parquet") as file:
        (unfinished,) = (tmp_path / "a/out/topic=t").iterdir()
        assert unfinished.stat().st_mode & 0o777 == mode
        file.write(b"x")
    found = {str(each.relative_to(tmp_path)): each.stat().st_mode & 0o777 for each in tmp_path.rglob("*")}
    assert found == {**dict.fromkeys(("a", "a/out", "a/out/topic=t"), of_directories), "a/out/topic=t/x.parquet": mode}
