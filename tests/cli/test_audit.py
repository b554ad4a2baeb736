"""`kafkafs audit` without Spark: where its findings go. What it finds is in tests/spark/test_audit_job.py."""

import io

import pytest

from kafkafs.cli import audit
from kafkafs.errors import UsageError


def test_findings_go_to_standard_output_or_to_the_file_that_was_named(tmp_path, capsys):
    audit._write("{}\n", None)
    assert capsys.readouterr().out == "{}\n"
    audit._write("{}\n", tmp_path / "findings.jsonl")
    audit._write("", tmp_path / "none.jsonl")
    assert capsys.readouterr().out == ""
    assert (tmp_path / "findings.jsonl").read_text() == "{}\n"
    assert (tmp_path / "none.jsonl").read_text() == "", "a file of an earlier audit would tell of what is repaired"


def test_an_audit_whose_findings_cannot_be_written_could_not_run(monkeypatch):
    """Its exit code 1 means that there are findings to be read."""
    full = io.TextIOWrapper(open("/dev/full", "wb"))  # noqa: SIM115
    monkeypatch.setattr("sys.stdout", full)
    with pytest.raises(UsageError, match="standard output cannot be written: No space left on device"):
        audit._write("{}\n", None)
