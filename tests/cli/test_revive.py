"""`kafkafs revive` as a user types it: one sentence and an honest code for what cannot be."""

import json
import os
import shlex
import signal
import subprocess

import pytest

from kafkafs.sample import unpack
from tests.cli.asking import text_of
from tests.mounting import KAFKAFS
from tests.revive.test_job import damaged


def revive(*words: object) -> subprocess.CompletedProcess[str]:
    return text_of("revive", *words)


def sentences(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What it says; on a slow machine progress stands there, too."""
    return [line for line in done.stderr.splitlines() if line.startswith("kafkafs: ")]


def test_it_prints_the_one_command_that_starts_it(tmp_path):
    done = revive(unpack(tmp_path), "--to", tmp_path / "new")
    assert done.returncode == 0
    assert f"start it: kafka-server-start.sh {tmp_path / 'new/server.properties'}\n" in done.stdout
    assert "no metadata" in done.stderr


def test_the_command_is_one_for_a_shell(tmp_path):
    """Regression: a directory with a blank in its name was two words."""
    done = revive(unpack(tmp_path), "--to", tmp_path / "new one")
    (command,) = (line for line in done.stdout.splitlines() if line.startswith("start it: "))
    assert shlex.split(command)[2:] == ["kafka-server-start.sh", str(tmp_path / "new one/server.properties")]


def test_a_plan_is_json_and_nothing_is_written(tmp_path):
    done = revive(unpack(tmp_path), "--to", tmp_path / "new", "--plan")
    reported = json.loads(done.stdout)
    assert reported["state"] == "planned"
    assert sum(each["records"] for each in reported["revived"]) > 300
    assert not (tmp_path / "new").exists()


def test_topics_are_named_as_for_other_commands(tmp_path):
    """Regression: a blank behind a comma was taken for a part of the name."""
    done = revive(unpack(tmp_path), "--to", tmp_path / "new", "--plan", "--topics", "test, orders,")
    reported = {each["topic"] for each in json.loads(done.stdout)["revived"]}
    assert {each for each in reported if not each.startswith("_")} == {"test", "orders"}
    assert (
        revive(tmp_path / "kafka-logs", "--to", tmp_path / "new", "--plan", "--include", "stray, deleted").stderr == ""
    )


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--listen", "9092"), 2, "is not HOST:PORT"),
        (("--listen", "0.0.0.0:9092"), 2, "no address that a client could connect to"),
        (("--listen", ":9092"), 2, "no address that a client could connect to"),
        (("--listen", "h:9092:1"), 2, "no address that a client could connect to"),
        (("--listen", "h\n:9092"), 2, "no address that a client could connect to"),
        (("--listen", "h:65535"), 2, "with a port from 1 to 65534"),
        (("--node-id", "-1"), 2, "is not from 0"),
        (("--topics", ","), 2, "names no topic"),
        (("--topics", "nothing"), 2, "there is no topic 'nothing'"),
        (("--kafka", "2.8"), 2, "write one of 3.9, 4.3, 4.4"),
        (("--until", "soon"), 2, "is not a time"),
        (("--to", "/proc/x"), 1, "cannot be written"),
    ],
)
def test_bad_input_is_one_sentence_and_a_code(tmp_path, words, code, sentence):
    done = revive(unpack(tmp_path), "--to", tmp_path / "new", *words)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert len(sentences(done)) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("words", "argument"), [(("photos", "--to", ""), "--to"), (("", "--to", "new"), "DATA_DIR")])
def test_an_empty_name_is_not_the_directory_that_we_are_in(words, argument):
    done = revive(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"argument {argument}: '' names nothing" in done.stderr


def test_damage_is_code_1(tmp_path):
    done = revive(damaged(tmp_path), "--to", tmp_path / "new")
    assert (done.returncode, len(sentences(done))) == (1, 1)
    assert "test-0 at offset" in done.stderr


def test_what_is_no_cluster_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    done = revive(tmp_path / "photos", "--to", tmp_path / "new")
    assert (done.returncode, "is not a Kafka data directory" in done.stderr) == (2, True)


def test_ctrl_c_says_that_the_same_command_goes_on(tmp_path):
    source = unpack(tmp_path)
    with open(source / "test-0" / f"{10**18:020}.log", "wb") as log:
        for _ in range(200):
            log.write(os.urandom(1 << 20))  # long to look through
    command = [KAFKAFS, "revive", source, "--to", tmp_path / "new", "--corrupt", "skip"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        while not (tmp_path / "new/revive.json").exists() and process.poll() is None:
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert err.splitlines()[-1] == "kafkafs: interrupted; the same command goes on where this one ended"
        assert json.loads((tmp_path / "new/revive.json").read_text())["state"] == "unfinished"
