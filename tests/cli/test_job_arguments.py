"""What the commands may be given that read whole data directories."""

from pathlib import Path

import pytest

from tests.cli.parsing import parsed, refusal


def test_without_flags_it_is_quick_and_prints_its_findings():
    arguments = parsed("audit", "one", "two")
    assert arguments.data_dirs == ["one", "two"]
    assert (arguments.deep, arguments.compare_replicas, arguments.report) == (False, False, None)


def test_the_flags_of_an_audit_are_taken():
    arguments = parsed("audit", "--deep", "one", "--compare-replicas", "--report", "findings.jsonl")
    assert (arguments.deep, arguments.compare_replicas, arguments.report) == (True, True, Path("findings.jsonl"))


def test_without_flags_the_broker_s_own_indexes_are_made_in_each_topic_s_interval():
    arguments = parsed("reindex", "data", "--index-dir", "indexes")
    assert (arguments.index_dir, arguments.interval_bytes, arguments.keys) == (Path("indexes"), None, False)
    assert arguments.replicas == "furthest"


def test_where_they_go_has_to_be_reported(capsys):
    """Never beside the broker's own."""
    assert refusal(capsys, "reindex", "data").endswith("the following arguments are required: --index-dir")


def test_without_flags_all_of_the_log_becomes_parquet_as_it_is():
    arguments = parsed("export", "data", "--to", "out")
    assert (arguments.topics, arguments.topic_pattern) == ([], None)
    assert arguments.from_offsets is arguments.from_time is arguments.to_offsets is arguments.to_time is None
    assert (arguments.isolation, arguments.value, arguments.compression) == ("read_uncommitted", "bytes", "snappy")
    assert (arguments.file_mb, arguments.replicas) == (128, "furthest")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "one of the arguments --to --compact is required"),
        (["--to", "out", "--topics", "t", "--topic-pattern", "t.*"], "not allowed with argument --topics/--topic"),
        (["--to", "out", "--from-time", "now", "--from-offsets", "{}"], "not allowed with argument --from-time"),
        (["--to", "out", "--isolation", "committed"], "'committed' is not a choice; did you mean read_committed?"),
        (["--to", "out", "--value", "avro"], "'avro' is not a choice; choose from bytes, json, registry"),
        (["--to", "out", "--file-mb", "1.5"], "'1.5' is not a whole number"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_before_spark_is_started(words, sentence, capsys):
    assert refusal(capsys, "export", "data", *words).endswith(sentence)


def test_it_takes_directories_and_a_page_to_write():
    arguments = parsed("profile", "one", "two", "--html", "page.html", "--replicas", "refuse")
    assert (arguments.data_dirs, arguments.html, arguments.replicas) == (["one", "two"], Path("page.html"), "refuse")


def test_without_flags_all_of_it_is_for_this_machine_alone():
    arguments = parsed("revive", "one", "two", "--to", "new")
    assert (arguments.data_dirs, arguments.to) == ([Path("one"), Path("two")], Path("new"))
    assert (arguments.listen, arguments.corrupt, arguments.method) == ("127.0.0.1:9092", "refuse", None)
    assert not arguments.plan


def test_a_time_back_is_a_value():
    assert parsed("revive", "one", "--to", "new", "--until", "-2h").until == "-2h"


def test_one_way_of_copying_can_be_asked_for(capsys):
    assert parsed("revive", "one", "--to", "new", "--link").method == "link"
    assert "not allowed with" in refusal(capsys, "revive", "one", "--to", "new", "--link", "--copy")


def test_where_to_has_to_be_reported(capsys):
    assert refusal(capsys, "revive", "data").endswith("the following arguments are required: --to")


def test_topics_may_be_given_one_by_one():
    """As wherever topics are an option."""
    words = ("revive", "data", "--to", "new", "--topic", "orders", "--topics", "a,b")
    assert parsed(*words).topics == ["orders", "a,b"]


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
    reported = parsed(command, "data", *REQUIRED[command]).interrupted
    assert reported == ("interrupted; the same command goes on from here" if command == "export" else "interrupted")


@pytest.mark.parametrize("command", REQUIRED)
def test_what_cannot_be_meant_ends_before_spark_is_started(command, capsys):
    if command != "export":  # which takes none with --compact, and says so itself without
        assert "DATA_DIR" in refusal(capsys, command, *REQUIRED[command])
    if command != "audit":
        reported = refusal(capsys, command, "data", "--replicas", "newest", *REQUIRED[command])
        assert reported.endswith("'newest' is not a choice; choose from furthest, refuse")
