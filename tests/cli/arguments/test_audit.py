"""What `kafkafs audit` may be given."""

from pathlib import Path

from tests.cli.arguments.parsing import parsed


def test_without_flags_it_is_quick_and_prints_its_findings():
    arguments = parsed("audit", "one", "two")
    assert arguments.data_dirs == ["one", "two"]
    assert (arguments.deep, arguments.compare_replicas, arguments.report) == (False, False, None)


def test_its_flags():
    arguments = parsed("audit", "--deep", "one", "--compare-replicas", "--report", "findings.jsonl")
    assert (arguments.deep, arguments.compare_replicas, arguments.report) == (True, True, Path("findings.jsonl"))
