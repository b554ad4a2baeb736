"""Jobs over some topics only: what they say and make is of these and no others."""

import json
from pathlib import Path

import pytest

from tests.kafka.dataset import Dataset

BROKER = Dataset("4.3.1", "stopped")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two topics, each with a flipped byte in a log; a checkpoint behind both ends, a file that is none of Kafka's."""
    data = BROKER.copy_to(tmp_path / "data", "segments-0", "segments-disorder-0")
    for name in ("segments-0", "segments-disorder-0"):
        log = min((data / name).glob("*.log"))
        content = bytearray(log.read_bytes())
        content[-1] ^= 1
        log.write_bytes(content)
    (data / "replication-offset-checkpoint").write_text("0\n2\nsegments 0 9999\nsegments-disorder 0 9999\n")
    (data / "segments-disorder-0/notes.txt").touch()
    (data / "notes.txt").touch()
    return data


@pytest.mark.parametrize("words", [("--topics", "segments"), ("--topic-pattern", "s[eg]+ments")])
def test_an_audit_of_a_topic_finds_what_is_wrong_with_it(data, command, capsys, words):
    assert command("audit", data, *words) == 1
    reported = capsys.readouterr()
    findings = [json.loads(line) for line in reported.out.splitlines()]
    assert {each["kind"] for each in findings} >= {"crc", "checkpoint-offset"}
    assert not [each for each in findings if "disorder" in each["file"] + each["message"] or "notes" in each["file"]]
    assert "in 1 partitions, 25 segments" in reported.err


def test_indexes_of_a_topic_are_made_and_no_others(data, tmp_path, command):
    assert command("reindex", data, "--index-dir", tmp_path / "indexes", "--topics", "segments-disorder") == 0
    assert [each.name for each in (tmp_path / "indexes").iterdir()] == ["segments-disorder-0"]


def test_a_page_of_a_topic_has_no_other(data, tmp_path, command):
    data = BROKER.path
    assert command("profile", data, "--html", tmp_path / "page", "--topic-pattern", "segments-.*") == 0
    page = (tmp_path / "page").read_text()
    assert "segments-disorder" in page
    assert "long-index" not in page


@pytest.mark.parametrize("job", [("audit",), ("reindex", "--index-dir", "x"), ("profile", "--html", "x")])
def test_a_topic_that_is_not_there_is_a_sentence(data, tmp_path, monkeypatch, command, capsys, job):
    monkeypatch.chdir(tmp_path)
    name, *words = job
    assert command(name, data, *words, "--topics", "segment") == 2
    assert capsys.readouterr().err == f"kafkafs: there is no topic 'segment' in '{data}'; did you mean segments?\n"
    assert command(name, data, *words, "--topic-pattern", "segment") == 2
    assert not (tmp_path / "x").exists()
