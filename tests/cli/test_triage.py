"""`kafkafs triage`: one screen, commands that run, and exit codes."""

import json
import shlex

import pytest

from kafkafs.cli.main import main
from kafkafs.cli.triage import WIDTH
from tests.cli.asking import in_process
from tests.kafka.clusters import Cluster
from tests.log.making import made, write_partition

CLUSTER = Cluster("4.3.1", "stopped")


def test_a_screen_is_enough_and_its_commands_run(capfd):
    done = in_process("triage", CLUSTER.path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert 16 <= len(lines) <= 40
    assert all(len(line) <= WIDTH for line in lines[1:])
    assert lines[0] == f"D={CLUSTER.path}"
    commands = [line.strip()[2:] for line in lines if line.strip().startswith("> ")]
    assert len(commands) == 8
    for command in commands:
        if "audit" not in command:
            words = shlex.split(command.replace("$D", str(CLUSTER.path)))
            assert (words[0], main(words[1:])) == ("kafkafs", 0), command
            assert capfd.readouterr().out


@pytest.mark.parametrize(("break_it", "code"), [(None, 0), ("index", 1), ("nothing", 2)])
def test_the_exit_code_tells_whether_something_is_wrong(break_it, code, tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [1])]})
    if break_it == "index":
        (partition / "00000000000000000000.index").write_bytes(b"1")
    place = tmp_path / "nowhere" if break_it == "nothing" else tmp_path
    done = in_process("triage", "--json", place)
    assert done.returncode == code
    assert bool(done.stdout) == (code != 2)
    if code != 2:
        assert bool(json.loads(done.stdout)["damage"]) == (code == 1)
