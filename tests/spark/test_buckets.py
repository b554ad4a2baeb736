"""Jobs and the data source over copies in buckets: the answers are those of the directory itself, and a store that
fails, or an object that changes, is an error."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

import kafkafs
from kafkafs.cli.main import main
from kafkafs.disk import store_session
from kafkafs.disk.data_paths import data_path
from kafkafs.errors import StoreError
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.diff.diff_job import by_offset
from kafkafs.spark.diff.sides import paired
from kafkafs.spark.segment_units import segments_of
from tests.kafka import tiers
from tests.kafka.buckets import bucket_of
from tests.spark.reading import frame, rows

pytestmark = pytest.mark.usefixtures("bucket_keys")

LOCAL = ("--engine", "local")


def _answer(capfdbinary, out: Path, place: str | Path, *command: str) -> tuple[int, bytes, dict[str, bytes]]:
    """The exit code, what was printed, and the files that were written; the place and OUT by their names."""
    shutil.rmtree(out, ignore_errors=True)
    words = [str(place) if word == "DATA" else str(out) if word == "OUT" else word for word in command]
    code = main(words)
    printed, _ = capfdbinary.readouterr()
    written = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return code, printed, written


SAME = (
    ("diff", "--stat", "DATA", "--against", "DATA"), ("reindex", "DATA", "--index-dir", "OUT"),
    ("reindex", "--keys", "DATA", "--index-dir", "OUT"), ("audit", "--deep", "DATA"),
)  # fmt: skip


@pytest.mark.parametrize("command", SAME, ids=" ".join)
def test_a_job_answers_as_it_does_beside_the_disk(command, store, data, tmp_path, capfdbinary):
    far = _answer(capfdbinary, tmp_path / "out", store.address(data.name), *command, *LOCAL)
    near = _answer(capfdbinary, tmp_path / "out", data, *command, *LOCAL)
    assert far[1].replace(store.address(data.name).encode(), os.fsencode(data)) == near[1]
    assert (far[0], far[2]) == (near[0], near[2])


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_audit_of_a_copy_knows_if_the_broker_was_stopped(is_clean, data, tmp_path, capfdbinary):
    """Regression: an audit of a bucket did not, so it passed over logs whose end is cut."""
    copy = shutil.copytree(data, tmp_path / "logs", symlinks=True)
    (copy / ".kafka_cleanshutdown").unlink(missing_ok=True)
    if is_clean:
        (copy / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    for log in copy.glob("*/*.log"):
        os.truncate(log, max(0, log.stat().st_size - 7))
    near = _answer(capfdbinary, tmp_path / "out", copy, "audit", str(copy), *LOCAL)
    with bucket_of(tmp_path) as store:
        place = store.address("logs")
        far = _answer(capfdbinary, tmp_path / "out", place, "audit", place, *LOCAL)
    assert (b"invalid-tail" in near[1]) == is_clean
    assert (far[0], far[1].replace(place.encode(), os.fsencode(copy))) == near[:2]


def test_a_key_index_that_serves_no_segment_of_a_copy_goes(data, tmp_path):
    """Regression: beside a bucket it stayed."""
    copy, out = shutil.copytree(data, tmp_path / "logs", symlinks=True), tmp_path / "out"
    unit = next(log.parent.name for log in copy.glob("*-0/*.log"))
    (out / unit).mkdir(parents=True)
    (out / "gone-0").mkdir()
    stale = [out / each / "0-0-0.keys" for each in (unit, "gone-0")]
    with bucket_of(tmp_path) as store:
        for file in stale:
            file.touch()
        assert main(["reindex", "--keys", store.address("logs"), "--index-dir", str(out), *LOCAL]) == 0
    assert [file.exists() for file in stale] == [False, True]


def test_an_audit_keeps_no_log_that_it_has_checked(store, data, forgotten):
    """Regression: each log took new memory, whose pages cost as much as the request."""
    forgotten()
    for unit in segments_of([data_path(store.address(data.name))]):
        check_segment(unit, frozenset())
    kept = [str(name) for name in store_session.current.chunks()._kept]
    assert kept
    assert not [name for name in kept if ".log" in name]


def records_of(place: str, system: fs.FileSystem | None = None) -> list[dict[str, object]]:
    table = ds.dataset(place, format="parquet", partitioning="hive", filesystem=system).to_table()
    order = [(name, "ascending") for name in ("topic", "partition", "offset")]
    found: list[dict[str, object]] = table.sort_by(order).to_pylist()
    return found


def test_an_export_out_of_a_bucket_into_it_has_the_samerecords_of(store, data, tmp_path, capfdbinary):
    assert main(["export", *LOCAL, str(data), "--to", str(tmp_path / "near")]) == 0
    near = records_of(str(tmp_path / "near"))
    assert main(["export", *LOCAL, store.address(data.name), "--to", str(tmp_path / "far")]) == 0
    assert records_of(str(tmp_path / "far")) == near
    with tiers.s3_server() as server:
        tiers.uploaded(data.parent, "both", server)
        place, out = (f"s3://both/{name}?{server}" for name in (data.name, "out"))
        assert main(["export", *LOCAL, place, "--to", out]) == 0
        system, top = fs.FileSystem.from_uri(out)
        assert records_of(top, system) == near
    assert main(["export", *LOCAL, store.address(data.name), "--to", store.address(f"{data.name}/out")]) == 2
    assert b"where nothing is written" in capfdbinary.readouterr().err


def test_scan_and_mixed_directories_have_the_samerecords_of(store, data, tmp_path):
    def scanned(*places: str | Path) -> pa.Table:
        return kafkafs.scan([str(each) for each in places], "orders").to_arrow()

    assert scanned(store.address(data.name)).equals(scanned(data))
    part = Path(shutil.copytree(data, tmp_path / "part"))
    rest = Path(shutil.copytree(data, tmp_path / "top" / "rest"))
    shutil.rmtree(part / "orders-0")
    for partition in [each for each in rest.iterdir() if each.is_dir() and each.name != "orders-0"]:
        shutil.rmtree(partition)
    with bucket_of(rest.parent) as beside:
        assert scanned(part, beside.address("rest")).equals(scanned(data))


def test_spark_reads_it(spark: SparkSession, store, data, tmp_path):
    for options in ({"subscribe": "orders,test,readings"}, {"subscribe": "test", "minPartitions": 3}):
        assert rows(frame(spark, store.address(data.name), **options)) == rows(frame(spark, data, **options))
    shutil.copytree(data, tmp_path / "other")
    with bucket_of(tmp_path) as failing:
        read = frame(spark, failing.address("other"), subscribe="orders")
        failing.fault = lambda method, key: "short" if method == "GET" and key.endswith(".log") else ""
        with pytest.raises(Exception, match=r"StoreError: .*orders-0.* ends [0-9]+ bytes before it should"):
            rows(read)


@pytest.mark.parametrize("way", ["source", "audit", "diff"])
def test_a_copy_that_changes_between_the_plan_and_a_task_is_an_error(way, spark: SparkSession, data, tmp_path):
    """Regression: each process listed a folder by itself, so a task took a deleted segment for one that retention had
    deleted, and the answer lacked it."""
    log = shutil.copytree(data, tmp_path / "top" / data.name) / "orders-0" / f"{0:020}.log"
    with bucket_of(tmp_path / "top") as store:

        def fault(_method: str, key: str) -> str:
            is_again = sum(each.endswith("orders-0%2F") for each in store.asked) > 1
            if is_again and key.endswith("orders-0/"):
                log.unlink(missing_ok=True)
            return ""

        store.fault = fault
        place, orders = data_path(store.address(data.name)), TopicChoice.parse(["orders"], None)
        ways: dict[str, Callable[[], object]] = {
            "source": lambda: rows(frame(spark, str(place), subscribe="orders")),
            "audit": lambda: audit(spark, [place], topics=orders),
            "diff": lambda: list(by_offset(spark, paired((place,), (place,), orders).pairs)),
        }
        with pytest.raises(Exception, match=r"StoreError: .*'orders-0' is not as it was listed before"):
            ways[way]()
        assert not log.exists()


def test_a_revival_has_the_same_logs(store, data, tmp_path, capfdbinary):
    def logs(place: str | Path) -> dict[str, bytes]:
        code, _, written = _answer(capfdbinary, tmp_path / "out", place, "revive", "DATA", "--to", "OUT")
        assert code == 0
        return {name: found for name, found in written.items() if name.endswith((".log", "index"))}

    assert logs(store.address(data.name)) == logs(data)


@pytest.mark.parametrize("command", [("revive", "DATA", "--to"), ("reindex", "DATA", "--index-dir")], ids=" ".join)
def test_what_is_written_must_be_on_this_machine(command, store, data, capfdbinary):
    place = store.address(data.name)
    assert main([*[place if word == "DATA" else word for word in command], store.address("new")]) == 2
    assert b"name a path of this machine" in capfdbinary.readouterr().err
    assert not Path("s3:").exists()


def test_a_process_that_lives_on_sees_a_later_copy(data, tmp_path, store_limits):
    """Regression: what was listed for one query counted for all queries of the process."""
    store_limits(together_ns=0)
    copy = Path(shutil.copytree(data, tmp_path / data.name))
    shutil.rmtree(copy / "orders-0")
    with bucket_of(tmp_path) as store:
        assert kafkafs.scan(store.address(copy.name), "test").count()
        shutil.copytree(data / "orders-0", copy / "orders-0")
        assert kafkafs.scan(store.address(copy.name), "orders").count()


def _scan(place: str) -> int:
    kafkafs.scan(place, "orders").to_arrow()
    return 0


def _job(*words: str) -> Callable[[str], int]:
    return lambda place: main([place if word == "DATA" else word for word in words])


def _one_of_each_kind(keys: list[str]) -> list[str]:
    return sorted({os.path.splitext(os.path.basename(key))[1] or os.path.basename(key): key for key in keys}.values())


def _jobs(out: Path) -> dict[str, Callable[[str], int]]:
    return {
        "scan": _scan,
        "export": _job("export", *LOCAL, "DATA", "--to", f"{out}/e"),
        "diff": _job("diff", *LOCAL, "DATA", "--against", "DATA"),
        "profile": _job("profile", *LOCAL, "DATA", "--json", f"{out}/p.json"),
        "reindex": _job("reindex", *LOCAL, "DATA", "--index-dir", f"{out}/i"),
        "keys": _job("reindex", "--keys", *LOCAL, "DATA", "--index-dir", f"{out}/k"),
        "revive": _job("revive", "DATA", "--to", f"{out}/r"),
        "audit": _job("audit", *LOCAL, "DATA"),
    }


@pytest.mark.skipif("KAFKAFS_BUCKETS" not in os.environ, reason="minutes; tests/faults/test_stores has the rest")
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("fails", ["short", "changed", "500", "reset"])
def test_a_store_that_fails_in_the_midst_is_an_error(fails, data, capfdbinary, store_limits, tmp_path, forgotten):
    store_limits(attempts=1, refuse_s=0.0, waits_s=())
    shutil.copytree(data, tmp_path / data.name, symlinks=True)
    out = tmp_path / "out"
    with bucket_of(tmp_path) as store:
        for name, job in _jobs(out).items():
            (out := tmp_path / "out").mkdir()
            store.asked.clear()
            store.fault = lambda _method, _key: ""
            forgotten()
            assert job(store.address(data.name)) == 0
            keys = sorted({each.split()[1] for each in store.ranges()})
            for key in _one_of_each_kind(keys):
                shutil.rmtree(out)
                out.mkdir()
                forgotten()
                store.fail_at(key, fails, ("GET", "HEAD") if fails == "reset" else ("GET",))
                try:
                    code = job(store.address(data.name))
                except StoreError as error:
                    code, reported = 1, str(error).encode()
                else:
                    reported = capfdbinary.readouterr().err
                assert code, (name, key, reported)
                assert b"s3://disks" in reported, (name, key, reported)
                assert not any(word in reported for word in (b"Traceback", b"bug"))
            shutil.rmtree(out)
