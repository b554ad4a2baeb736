"""`kafkafs triage`: one screen, commands that run, and exit codes."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from kafkafs.cli.main import main
from kafkafs.cli.triage import WIDTH, lines
from kafkafs.overview.triage import Triage
from tests.cli.asking import in_process
from tests.cluster.writing import Data, commit, metadata
from tests.kafka.clusters import Cluster
from tests.log.making import made, write_partition
from tests.nobody import as_nobody, takes_root

CLUSTER = Cluster("4.3.1", "stopped")


def test_a_screen_is_enough_and_its_commands_run(capfd):
    done = in_process("triage", CLUSTER.path)
    assert (done.returncode, done.stderr) == (0, "")
    screen = done.stdout.splitlines()
    assert 16 <= len(screen) <= 40
    assert all(len(line) <= WIDTH for line in screen[1:])
    assert screen[0] == f"D={CLUSTER.path}"
    commands = [line.strip()[2:] for line in screen if line.strip().startswith("> ")]
    assert len(commands) == 8
    for command in commands:
        if "audit" not in command:
            words = shlex.split(command.replace("$D", str(CLUSTER.path)))
            assert (words[0], main(words[1:])) == ("kafkafs", 0), command
            assert capfd.readouterr().out


@pytest.mark.parametrize("names", [["one"], ["one two"], ["one", "two"], ["one two", "it's"]])
def test_commands_can_be_pasted_into_any_shell(names, tmp_path):
    """Paths are long, and may have spaces; not every shell is bash, nor splits at spaces alike."""
    words = [f"/{'x' * 50}/{name}" for name in names]
    for paths in (words, [f"/{name}" for name in names]):
        screen = list(lines(Triage(total={"bytes": 0, "deletable": 0}), paths))
        commands = [line.strip()[2:] for line in screen if line.strip().startswith("> ")]
        script = tmp_path / "pasted"
        places = [line for line in screen if line.startswith("D=")]
        script.write_text("\n".join(['kafkafs() { printf "%s|" "$@"; echo; }', *places, *commands]))
        asked = subprocess.run(["/bin/sh", str(script)], capture_output=True, text=True, check=True).stdout.splitlines()
        assert asked[0] == f"cat|{','.join(paths)}|.cluster/state.json|"
        assert asked[-1] == f"du|{'|'.join(paths)}|"


@pytest.mark.parametrize("left", ["formatted", "started", "logs"])
def test_the_commands_run_where_little_is_here(left, tmp_path, capfd):
    """A cluster that was only formatted, one without topics, and a disk without metadata: none is "not tiered"."""
    if left == "logs":
        write_partition(tmp_path, {0: [made(0, [1])]})
    data = Data(tmp_path)
    if left == "started":
        data.write("__cluster_metadata-0", [metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)])
    screen = in_process("triage", tmp_path)
    assert screen.returncode == 0
    assert ("unknown: no metadata are here" in screen.stdout) == (left != "started")
    assert ("none is missing" in screen.stdout) == (left == "started")
    answer = json.loads(in_process("triage", "--json", tmp_path).stdout)
    assert answer["tieredTopics"] == answer["partitionsInTier"] == (0 if left == "started" else None)
    for command in [line.strip()[2:] for line in screen.stdout.splitlines() if line.strip().startswith("> ")]:
        words = shlex.split(command.replace("$D", str(tmp_path)))
        assert "audit" in command or main(words[1:]) == 0, command
    capfd.readouterr()


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


@pytest.fixture
def closed(open_path: Path) -> Path:
    """A data directory with one of each file that answers come from, all readable."""
    data = Data(open_path / "data")
    data.write("__cluster_metadata-0", [metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)])
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 0)])
    meta = (data.path / "meta.properties").read_text()
    for name in ("t-0", "u-0"):
        write_partition(data.path, {0: [made(0, [1000])], 1: [made(1, [2000])]}, name)
    (data.path / "meta.properties").write_text(meta)
    for kind in ("log-start", "replication", "recovery-point"):
        (data.path / f"{kind}-offset-checkpoint").write_text("0\n1\nt 0 0\n")
    (data.path / ".kafka_cleanshutdown").write_text("")
    return data.path


@takes_root
@pytest.mark.parametrize(
    ("name", "about_du"),
    [
        ("t-0/00000000000000000000.log", False),
        ("t-0/00000000000000000001.log", False),
        ("u-0/00000000000000000000.timeindex", True),
        ("log-start-offset-checkpoint", True),
        ("replication-offset-checkpoint", True),
        ("recovery-point-offset-checkpoint", True),
        ("meta.properties", True),
        ("__cluster_metadata-0/00000000000000000000.log", True),
        ("__consumer_offsets-0/00000000000000000000.log", False),
    ],
)
def test_a_file_that_may_not_be_read_is_one_sentence(name, about_du, closed):
    """Regression: logs and time indexes were passed over in silence, and checkpoints were named up to three times."""
    assert in_process("triage", closed)[::2] == (0, "")
    (closed / name).chmod(0)
    with as_nobody():
        screen, usage = in_process("triage", closed), in_process("du", closed)
    about = [line for line in screen.stderr.splitlines() if name in line]
    assert (screen.returncode, len(about), screen.stderr.count("\n")) == (2, 1, 1)
    assert "run kafkafs as the owner" in about[0]
    assert "is ignored" not in screen.stdout
    assert usage.returncode == (1 if about_du else 0)
    assert (name in usage.stderr) == about_du
    assert "the log is empty" not in screen.stderr + usage.stderr


def test_a_torn_checkpoint_is_named_once(closed, caplog):
    (closed / "replication-offset-checkpoint").write_text("0\n7\nt 0 2\n")
    done = in_process("triage", closed)
    assert (done.returncode, (done.stdout + done.stderr + caplog.text).count("is ignored")) == (1, 1)
    usage = in_process("du", closed)
    assert (usage.returncode, (usage.stdout + usage.stderr + caplog.text).count("is ignored")) == (1, 1)


@takes_root
def test_many_unread_files_leave_the_screen_alone(closed):
    for number in range(20):
        place = closed / f"__consumer_offsets-{number}"
        place.mkdir(exist_ok=True)
        (place / "00000000000000000000.log").write_bytes(b"")
    for log in closed.glob("*/*.log"):
        log.chmod(0)
    with as_nobody():
        done = in_process("triage", closed)
        reported = json.loads(in_process("triage", "--json", closed).stdout)["problems"]
    assert done.returncode == 2
    assert done.stderr.count("\n") == 9
    assert f"{len(reported) - 8} more problems" in done.stderr
    assert sum("and 3 more .log files" in each for each in reported) == 1
