"""`kafkafs du`: lines of JSON, a table for people, and what was asked wrongly."""

import json
import os
import re

import pytest

from kafkafs.cli.du import length
from tests.cli.asking import in_process
from tests.kafka.clusters import Cluster
from tests.kafka.tiered import Tiered
from tests.log.making import made, write_partition

CLUSTER = Cluster("4.3.1", "stopped")
NOW = 1_700_000_000_000


def asked(*words, code=0):
    """The rows and the sentences."""
    done = in_process("du", "--json", *words)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def data(tmp_path):
    write_partition(tmp_path, {0: [made(0, [NOW])], 1: [made(1, [NOW + 10])]})
    return tmp_path


def test_settings_come_from_the_metadata_of_the_cluster():
    rows, _ = asked(CLUSTER.path)
    reported = {row["topic"]: row["policy"] for row in rows if row["path"] is None}
    assert reported["__consumer_offsets"] == "compact"
    assert reported["__cluster_metadata"] is None


def test_metadata_are_found_in_any_directory(tmp_path):
    write_partition(tmp_path, {0: [made(0, [NOW])]}, "__consumer_offsets-99")
    for words in ((tmp_path, CLUSTER.path), (CLUSTER.path, tmp_path)):
        rows, said = asked(*words, "--partitions")
        assert [row["policy"] for row in rows if row["partition"] == 99] == ["compact"]
        assert "default" in said


def test_a_default_that_was_taken_is_reported_in_one_line(tmp_path):
    _, said = asked(data(tmp_path))
    assert said.count("\n") == 1
    assert "default" in said
    file = tmp_path / "server.properties"
    file.write_text("log.cleanup.policy=delete\nlog.retention.hours=1\nlog.retention.bytes=-1\n")
    rows, said = asked(tmp_path, "--server-properties", file)
    assert (rows[0]["retentionMs"], said) == (3_600_000, "")


def test_the_moment_and_the_settings_decide(tmp_path):
    size = len(made(0, [NOW]).data)
    kept = [(NOW, 0), (NOW + 1000, 0), (NOW + 1001, size), (NOW + 1011, 2 * size)]
    for at, deletable in kept:
        (row, _), _ = asked(data(tmp_path), "--at", at, "--set", "t.retention.ms=1000")
        assert row["deletable"] == deletable


def test_of_a_tiered_topic_that_goes_which_local_retention_deletes():
    """`left` is what the broker has left of `whole`."""
    tiered, topics = Tiered(), ("orders", "payments", "with.dots-and-9")
    words = [word for topic in topics for word in ("--set", f"{topic}.local.retention.bytes=1")]
    rows, _ = asked("--partitions", *words, tiered.whole)
    for row in rows:
        if row["topic"] in topics:
            left = tiered.left / f"{row['topic']}-{row['partition']}"
            assert sum(row["kept"].values()) == sum(log.stat().st_size for log in left.glob("*.log"))
            assert row["deletable"] > 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--at", "yesterday"], "yesterday"),
        (["--at", "end-1h"], "end-1h"),
        (["--at", "1969-01-01"], "1969-01-01"),
        (["--set", "t.retention.ms"], "t.retention.ms"),
        (["--set", "nobody.retention.ms=1"], "nobody"),
        (["--set", "t.retention.msec=1"], "t.retention.msec"),
        (["--set", "t.retention.ms=soon"], "soon"),
        (["--server-properties", "/nowhere/at.all"], "/nowhere/at.all"),
        (["--server-properties", "/tmp"], "/tmp"),
        (["/nowhere"], "/nowhere"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_what_was_asked_wrongly_is_named(words, named, tmp_path):
    done = in_process("du", "--json", *words, data(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_a_table_is_for_people(tmp_path):
    data(tmp_path)
    for name in ("00000000000000000000.log.deleted", "00000000000000000000.index.deleted"):
        (tmp_path / "t-0" / name).write_bytes(b"x")
    lines = in_process("du", "--at", NOW, tmp_path).stdout.splitlines()
    head = ["TOPIC", "SIZE", "SEGMENTS", "POLICY", "RETENTION", "DELETABLE", "NEXT DELETION", "KEPT BY"]
    assert re.split("  +", lines[0]) == head
    assert lines[1].split()[2:8] == ["2", "delete", "7d", "0", "2023-11-21T22:13:20Z", "future-timestamp"]
    assert lines[2].split() == ["2", "x", ".deleted", "8.0K", "-", "-", "-", "-", "-", "leftover"]
    assert lines[-1].startswith("TOTAL")


def test_the_word_for_a_length_has_its_two_largest_units():
    reported = {0: "0s", 1: "1ms", 1000: "1s", 61_000: "1m1s", 604_800_000: "7d", 90_061_001: "1d1h"}
    assert {each: length(each) for each in reported} == reported


def test_deep_reads_all_logs():
    rows, _ = asked("--deep", CLUSTER.path)
    deep = [
        "keyBytes", "valueBytes", "headerBytes", "framingBytes", "compressionRatio", "supersededBytes", "tombstones",
        "transactionalIds", "producers", "schemas",
    ]  # fmt: skip
    assert all(list(row)[-len(deep) :] == deep for row in rows)
    reported = {row["topic"]: row for row in rows if row["path"] is None}
    assert reported["__consumer_offsets"]["keyBytes"] > 0
    lines = [re.split("  +", line) for line in in_process("du", "--deep", CLUSTER.path).stdout.splitlines()]
    assert lines[0][-4:] == ["FRAMING", "RATIO", "SUPERSEDED", "TOMBSTONES"]
    assert {len(line) for line in lines} == {len(lines[0])}


def test_a_directory_that_is_named_twice_counts_once(tmp_path):
    assert asked(data(tmp_path), f"{tmp_path}/.")[0] == asked(tmp_path)[0]


def test_a_name_that_is_no_text_is_printed(tmp_path):
    with open(os.fsencode(data(tmp_path)) + b"/t-0/\xff\n\x1b[31m.log", "wb") as file:
        file.write(b"x")
    rows, _ = asked(tmp_path)
    assert [row["path"] for row in rows if row["path"]] == ["t-0/?\n\x1b[31m.log"]
    shown = in_process("du", tmp_path).stdout
    assert "\x1b" not in shown
    assert shown.count("\n") == 4
