"""`kafkafs audit` without Spark: where its findings go. What it finds is in tests/spark/test_audit_job.py."""

import io
import json

import pytest

from kafkafs.cli import audit
from kafkafs.cli.main import main
from kafkafs.cli.spark_command import SparkProgress
from kafkafs.errors import DiskError
from kafkafs.spark.audit.findings import CheckedFile
from tests.log.making import made, write_partition

FINDING = CheckedFile("/data", "t-0/00000000000000000000.log").finding("crc", "it is damaged", offset=5)


def test_findings_go_to_standard_output_or_to_the_file_that_was_named(tmp_path, capsys):
    with SparkProgress("audit", "looking") as progress:
        audit.print_finding(progress, FINDING)
    assert json.loads(capsys.readouterr().out)["kind"] == "crc"
    log = write_partition(tmp_path / "data", {0: [made(0, [1, 2])]}) / f"{0:020}.log"
    log.chmod(0o600)
    report = tmp_path / "findings.jsonl"
    for damage, code in ((b"", 0), (b"\1" * 100, 1), (b"", 0)):
        sound = log.read_bytes()
        log.write_bytes(damage + sound)
        assert main(["audit", str(tmp_path / "data"), "--report", str(report)]) == code
        assert capsys.readouterr().out == ""
        assert bool(report.read_text()) == bool(code), "a file of an earlier audit would tell of what is repaired"
        assert report.stat().st_mode & 0o777 == 0o600, "it grants no more than the logs"
        log.write_bytes(sound)


def test_replicas_of_one_broker_are_not_compared_in_silence(tmp_path, capsys):
    """Regression: with one directory, `--compare-replicas` said "clean", and had compared nothing."""
    write_partition(tmp_path / "data", {0: [made(0, [1, 2])]})
    assert main(["audit", str(tmp_path / "data"), "--compare-replicas"]) == 0
    assert "no replicas were compared" in capsys.readouterr().err


def test_an_audit_whose_findings_cannot_be_written_could_not_run(monkeypatch):
    """Its exit code 1 means that there are findings to be read."""
    full = io.TextIOWrapper(open("/dev/full", "wb"))  # noqa: SIM115
    monkeypatch.setattr("sys.stdout", full)
    with (
        SparkProgress("audit", "looking") as progress,
        pytest.raises(DiskError, match="standard output cannot be written: No space left on device"),
    ):
        audit.print_finding(progress, FINDING)
