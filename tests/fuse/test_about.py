"""`.kafkafs/`: the mount tells how it fares, in JSON for people and in Prometheus' text format."""

import re

from tests.mounting import run

SAMPLE = re.compile(r'^kafkafs_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.]+(e-?[0-9]+)?$')


def test_it_is_listed_last_at_the_root(own_shelf):
    (own_shelf.source / "zebra").touch()
    assert run("ls", "-U", "-A", own_shelf.path).stdout.split() == [b"zebra", b".kafkafs"]
    assert set(run("ls", own_shelf / ".kafkafs").stdout.split()) == {b"README", b"status.json", b"metrics"}


def test_the_status_names_the_mount_and_counts_what_it_did(own_shelf):
    (own_shelf.source / "file").write_bytes(b"x" * 1000)
    run("cat", own_shelf / "file")
    run("cat", own_shelf / "missing", check=False)
    status = own_shelf.mounted.status()
    assert status["dataDirectories"] == [str(own_shelf.source)]
    assert status["mountPoint"] == str(own_shelf.path)
    assert status["operations"]["open"]["count"] >= 1
    assert status["bytesRead"] >= 1000
    assert {"operation": "lookup", "errno": "ENOENT", "count": 1} in status["errors"]
    assert status["openDescriptors"] > 0
    assert status["residentBytes"] > 1 << 20


def test_every_line_of_the_metrics_is_one_that_prometheus_reads(shelf):
    lines = run("cat", shelf.mounted / ".kafkafs/metrics").stdout.decode().splitlines()
    samples = [line for line in lines if not line.startswith("# ")]
    assert [line for line in samples if not SAMPLE.match(line)] == []
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    named = {re.sub(r"_(bucket|sum|count)$", "", re.split(r"[{ ]", line)[0]) for line in samples}
    assert named <= typed


def test_the_buckets_of_a_histogram_grow_to_its_count(shelf):
    text = run("cat", shelf.mounted / ".kafkafs/metrics").stdout.decode()
    buckets = [int(n) for n in re.findall(r'bucket\{operation="lookup",le="[^"]+"\} (\d+)', text)]
    (count,) = re.findall(r'count\{operation="lookup"\} (\d+)', text)
    assert buckets == sorted(buckets)
    assert buckets[-1] == int(count)
