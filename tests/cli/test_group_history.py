"""`kafkafs groups --history`: lines for programs, a table for people, a sentence where nothing is left."""

import json

import pytest

from tests.cli.asking import called
from tests.kafka.history import SLASH, Story

STORY = Story()


def test_the_history_of_a_group_is_reported_in_the_order_of_the_log():
    """The lines of history.jsonl, a deleted group's too; a table for people."""
    lines = called("groups", "--history", "--group", SLASH, STORY.path).stdout.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["commit", "commit", "expire", "expire", "delete"]
    assert called("groups", "--history", STORY.path, SLASH).stdout.splitlines() == lines
    table = called("groups", "--history", "--table", "--group", "classic", STORY.path).stdout.decode().splitlines()
    assert table[0].split() == [
        "LOG-OFFSET", "TIME", "EVENT", "TOPIC", "PARTITION", "OFFSET", "CHANGE", "END-THEN", "LAG-THEN", "TRANSACTION",
        "STATE", "GENERATION", "MEMBERS",
    ]  # fmt: skip
    rows = [line.split() for line in table[1:]]
    assert [row[2:9] for row in rows if row[2] == "commit"][-1] == ["commit", "t", "0", "1", "-4", "14", "13"]
    assert len(rows) == len(STORY.of("classic"))


def test_the_history_of_one_topic_is_its_commits_and_expiries():
    words = ("groups", "--history", "--json", "--group", SLASH, "--topic")
    rows = [json.loads(line) for line in called(*words, "u", STORY.path).stdout.splitlines()]
    assert [(row["event"], row["topic"]) for row in rows] == [("commit", "u"), ("expire", "u")]
    done = called(*words, "nothing", STORY.path, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no record of a topic 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--group", "nobody"), 1, "no record about a group 'nobody' is left here"),
        ((), 2, "--history shows one group"),
        (("--group", "classic", "--group", "modern"), 2, "--history shows one group"),
        (("--group", "classic", "--sort", "lag"), 2, "leave out --sort"),
    ],
)
def test_a_history_that_is_not_there_is_one_sentence(words, code, sentence):
    done = called("groups", "--history", *words, STORY.path, check=False)
    assert (done.returncode, done.stdout) == (code, b"")
    assert sentence in done.stderr.decode()
