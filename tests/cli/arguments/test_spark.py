"""What all commands on Spark may be given."""

import pytest

from tests.cli.arguments.parsing import parsed, refusal

REQUIRED = {
    "audit": [],
    "profile": ["--html", "page"],
    "reindex": ["--index-dir", "indexes"],
    "export": ["--to", "out"],
}


@pytest.mark.parametrize("command", REQUIRED)
def test_without_flags_spark_runs_here_and_reads_the_replica_that_got_furthest(command):
    arguments = parsed(command, "one", "two", *REQUIRED[command])
    assert (arguments.data_dirs, arguments.master) == (["one", "two"], None)
    assert getattr(arguments, "replicas", None) == (None if command == "audit" else "furthest"), "audit reads all"
    assert parsed(command, "one", "--master", "spark://h:7077", *REQUIRED[command]).master == "spark://h:7077"


@pytest.mark.parametrize("command", REQUIRED)
def test_what_ctrl_c_ends_says_so(command):
    """Hours of work may end there; of an export nothing is lost."""
    told = parsed(command, "data", *REQUIRED[command]).interrupted
    assert told == ("interrupted; the same command goes on from here" if command == "export" else "interrupted")


@pytest.mark.parametrize("command", REQUIRED)
def test_what_cannot_be_meant_ends_before_spark_is_started(command, capsys):
    assert "DATA_DIR" in refusal(capsys, command, *REQUIRED[command])
    if command != "audit":
        told = refusal(capsys, command, "data", "--replicas", "newest", *REQUIRED[command])
        assert told.endswith("there is no choice 'newest'; there are furthest, refuse")
