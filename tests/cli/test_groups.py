"""`kafkafs groups`: a table for people, lines of JSON for programs, a sentence where there is nothing to tell."""

import json
import os
import pty
import re
import subprocess

import pytest

from tests.kafka.clusters import Cluster
from tests.mounting import KAFKAFS, run

CLUSTER = Cluster("4.3.1", "killed")


def on_a_terminal(*words):
    """What is printed where somebody looks on."""
    master, slave = pty.openpty()
    process = subprocess.Popen([KAFKAFS, "groups", *words], stdin=slave, stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:
            break
        text += piece
    os.close(master)
    assert process.wait(20) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_pipe_gets_the_lines_of_offsets_jsonl():
    rows = [json.loads(line) for line in run(KAFKAFS, "groups", CLUSTER.path, "classic").stdout.splitlines()]
    expected = {each["partition"]: each["offset"] for each in CLUSTER.truth["offsets"] if each["group"] == "classic"}
    assert {f"{row['topic']}-{row['partition']}": row["offset"] for row in rows} == expected
    assert list(rows[0])[:3] == ["group", "topic", "topicId"]


def test_without_a_name_all_groups_are_told():
    rows = [json.loads(line) for line in run(KAFKAFS, "groups", CLUSTER.path).stdout.splitlines()]
    assert {row["group"] for row in rows} == {each["group"] for each in CLUSTER.truth["offsets"]}


def test_a_terminal_gets_a_table():
    table = [re.split(r"  +", line) for line in on_a_terminal(CLUSTER.path, "classic").splitlines()]
    assert table[0] == ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"]
    assert table[1][:6] == ["classic", "shop", "0", "3", "10", "7"]
    assert table[1][6].startswith("static-one-")
    assert "6 (pending)" in on_a_terminal(CLUSTER.path, "moved")
    assert "sharer" not in on_a_terminal(CLUSTER.path, "shared")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("{data}", "nobody"), 1, "there is no group 'nobody' here"),
        (("/nowhere",), 2, "does not exist"),
        (("{other}",), 1, "no partition of __consumer_offsets"),
    ],
)
def test_bad_input_is_one_sentence(words, code, sentence, tmp_path):
    (tmp_path / "t-0").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\n")
    named = [word.format(data=CLUSTER.path, other=tmp_path) for word in words]
    done = run(KAFKAFS, "groups", *named, check=False)
    assert (done.returncode, done.stdout) == (code, b"")
    assert sentence in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
