"""`kafkafs dump` as a command: its flags, where its words go, and its exit codes."""

import os
import pty
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest

from kafkafs.cli.dump_arguments import TOPICS
from tests.cli.asking import text_of
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

LOG = "00000000000000000000.log"


@pytest.fixture(name="stopped")
def stopped_() -> Dataset:
    """One release is enough for the command; the text itself is compared in tests/dump."""
    return Dataset("4.3.1", "stopped")


def dump(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    with chdir(cwd or Path.cwd()):
        return text_of("dump", *arguments)


def test_the_version_is_reported() -> None:
    """The tool has the flag, and scripts ask with it whether there is a tool."""
    done = dump("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kafkafs ")


def test_several_files_are_dumped_one_after_the_other(stopped: Dataset) -> None:
    """As kafka-dump-log.sh does, and its output is the same."""
    names = [f"segments-0/{LOG}", f"nulls-0/{LOG}", "segments-0/00000000000000000000.index"]
    done = dump("--files", ",".join(names), cwd=stopped.path)
    assert done.stdout == "".join(stopped.dumps("plain")[name] for name in names)
    assert done.returncode == 0


def test_a_file_that_is_named_twice_is_dumped_twice(stopped: Dataset) -> None:
    """As kafka-dump-log.sh does."""
    name = f"segments-0/{LOG}"
    once, done = stopped.dumps("plain")[name], dump("--files", f"{name},{name}", cwd=stopped.path)
    assert (done.returncode, done.stdout) == (0, once * 2)


def test_files_may_be_named_without_a_flag(stopped: Dataset) -> None:
    """As every other tool takes them, between options too; a comma is then part of a name."""
    names = [f"segments-0/{LOG}", f"nulls-0/{LOG}", "segments-0/00000000000000000000.index"]
    done = dump(names[0], "--max-message-size", "5242880", *names[1:], cwd=stopped.path)
    assert done.stdout == "".join(stopped.dumps("plain")[name] for name in names)
    assert done.returncode == 0
    assert dump("--files", names[0], names[1], cwd=stopped.path).stdout == "".join(
        stopped.dumps("plain")[name] for name in names[:2]
    )
    assert "a,b.log" in dump("a,b.log", cwd=stopped.path).stderr


@pytest.mark.parametrize(
    "flags", [["--print-data-log"], ["--value-decoder-class"], ["--key-decoder-class=StringDecoder"]]
)
def test_a_decoder_alone_shows_the_contents(stopped: Dataset, flags: list[str]) -> None:
    """Its presence implies --print-data-log, and that --deep-iteration."""
    done = dump("--files", f"nulls-0/{LOG}", *flags, cwd=stopped.path)
    assert done.stdout == stopped.dumps("print")[f"nulls-0/{LOG}"]


def test_findings_come_after_all_files_on_standard_error(stopped: Dataset) -> None:
    """They do not get into what a script reads."""
    done = dump("--files", f"segments-0/00000000000000000010.log,nulls-0/{LOG}", "--deep-iteration", cwd=stopped.path)
    path = stopped.path / "segments-0/00000000000000000010.log"
    assert done.stderr.splitlines()[:2] == [f"Non-consecutive offsets in {path}", "  -1 is followed by 10"]
    assert done.returncode == 0


def test_an_unknown_file_is_ignored_with_a_word(stopped: Dataset, tmp_path: Path) -> None:
    """The tool's own words, and its exit code."""
    for name in ("notes.txt", "leader-epoch-checkpoint"):
        (tmp_path / name).write_text("hello")
    done = dump("--files", "notes.txt,.//leader-epoch-checkpoint/", cwd=tmp_path)
    assert done.stdout == "Dumping notes.txt\nDumping ./leader-epoch-checkpoint\n"
    assert done.stderr == "Ignoring unknown file notes.txt\nIgnoring unknown file ./leader-epoch-checkpoint\n"
    assert done.returncode == 0


def test_a_missing_file_does_not_keep_the_others(stopped: Dataset, tmp_path: Path) -> None:
    """Kafka's tool ends there with an exception."""
    name = f"nulls-0/{LOG}"
    done = dump("--files", f"nowhere/{LOG},{name}", cwd=stopped.path)
    assert done.stdout.endswith(stopped.dumps("plain")[name])
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


def test_a_directory_stands_for_its_files(stopped: Dataset) -> None:
    """A partition's, and a whole data directory's."""
    one = dump("--files", "segments-0", cwd=stopped.path)
    files = sorted(file.name for file in (stopped.path / "segments-0").iterdir() if "0000" in file.name)
    assert [line for line in one.stdout.splitlines() if line.startswith("Dumping")] == [
        f"Dumping segments-0/{name}" for name in files
    ]
    everything = dump("--files", str(stopped.path))
    assert f"Dumping {stopped.path}/nulls-0/{LOG}\n" in everything.stdout
    assert one.returncode == everything.returncode == 0


def test_an_empty_directory_is_a_mistake(tmp_path: Path) -> None:
    """Silence would look like an empty log."""
    done = dump("--files", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    reported = f"kafkafs: the directory {str(tmp_path)!r} holds nothing that can be dumped"
    assert done.stderr == f"{reported}\n"
    (tmp_path / "kafka-log0/t-0").mkdir(parents=True)  # a volume, as Strimzi has them
    (tmp_path / f"kafka-log0/t-0/{LOG}").touch()
    assert dump("--files", str(tmp_path)).stderr == f"{reported}; name what is in it: '{tmp_path}/kafka-log0'\n"


def test_a_link_to_a_segment_is_followed(stopped: Dataset, tmp_path: Path) -> None:
    """The user named it."""
    (tmp_path / LOG).symlink_to(stopped.path / "nulls-0" / LOG)
    done = dump("--files", LOG, cwd=tmp_path)
    assert done.stdout.splitlines()[1:] == stopped.dumps("plain")[f"nulls-0/{LOG}"].splitlines()[1:]


def test_a_topic_may_begin_with_a_dash(stopped: Dataset, tmp_path: Path) -> None:
    """Kafka allows it, and its tool takes the path; it was refused as an unknown flag."""
    shutil.copytree(stopped.directory("nulls"), tmp_path / "-nulls-0")
    done = dump("--files", f"-nulls-0/{LOG}", cwd=tmp_path)
    assert done.stdout == stopped.dumps("plain")[f"nulls-0/{LOG}"].replace("nulls-0", "-nulls-0", 1)


@pytest.mark.parametrize("flag", TOPICS)
def test_decoders_of_internal_topics_show_the_contents(stopped: Dataset, flag: str) -> None:
    """Each is told from the others: only the first in Kafka's order counts."""
    flags = [f"--{flag}-decoder", "--share-group-state-decoder"]
    done = dump("--files", f"__transaction_state-0/{LOG}", *flags, cwd=stopped.path)
    assert done.returncode == 0
    shown = {"transaction-log": '"transactionalId"', "cluster-metadata": "Error at 0, skipping."}
    assert shown.get(flag, "Error at offset 0, skipping.") in done.stdout
    if flag == "transaction-log":  # states by name or by number, as the disk's release does it
        assert done.stdout == stopped.dumps("transactions")[f"__transaction_state-0/{LOG}"]


def test_json_has_no_decoders_of_internal_topics() -> None:
    done = dump("--files", "x.log", "--json", "--offsets-decoder")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--files"],
        ["--file", "x.log"],
        ["--files", "x.log", "--max-bytes", "-1"],
        ["--files", "x.log", "--max-bytes", "many"],
        ["--files", "x.log", "--max-message-size=-5"],
        ["--files", "x.log", "--value-decoder-class", "com.example.Mine"],
        ["--files", "x.log", "--from-offset", "-5"],
        ["--files", "x.log", "--from-time", "yesterday"],
        ["--files", "x.log", "--to-offset", "5", "--to-time", "now"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_explained(arguments: list[str]) -> None:
    """Exit code 2 and no traceback."""
    done = dump(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(("usage:", "kafkafs:"))


def test_a_time_window_spans_the_segments_of_a_partition(stopped: Dataset) -> None:
    """`--from-time -1h` is how people look at what happened."""
    first, second = (record.timestamp_ms for record in stopped.records("segments")[40:90:49])
    done = dump(
        "--files", "segments-0", f"--from-time={first}", f"--to-time={second}", "--print-data-log", cwd=stopped.path
    )
    shown = [int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("| offset")]
    assert shown == [record.offset for record in stopped.records("segments") if first <= record.timestamp_ms < second]


def test_a_time_may_count_from_now_back(stopped: Dataset) -> None:
    """Argument parsers take `-1h` for a flag."""
    done = dump("--files", "segments-0", "--from-time", "-100d", "--to-time", "now", cwd=stopped.path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_file_that_is_no_log_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    """A server's log among the segments ends Kafka's tool with an exception."""
    (tmp_path / "server.log").write_text("[2021-09-23] INFO started (kafka.server.KafkaServer)\n" * 5)
    done = dump("--files", "server.log", cwd=tmp_path)
    assert done.stdout == "Dumping server.log\nFound 265 invalid bytes at the end of server.log\n"
    assert "its name holds no offset" in done.stderr
    assert done.returncode == 1


def test_what_a_terminal_would_obey_is_not_sent_there(tmp_path: Path) -> None:
    """Names of files come from strangers."""
    name = "evil\x1b[2J.foo"
    done = dump("--files", name, cwd=tmp_path)
    assert done.stderr.splitlines()[0] == "Ignoring unknown file evil\\x1b[2J.foo"
    assert name not in done.stderr


def test_a_reader_that_leaves_early_is_no_error(stopped: Dataset) -> None:
    """`kafkafs dump ... | head -1`."""
    command = f"{KAFKAFS} dump --files {stopped.path} --print-data-log | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("Dumping ")
    assert done.stderr == ""


def test_a_full_disk_is_reported(stopped: Dataset) -> None:
    """The output would be cut without a word."""
    command = [str(KAFKAFS), "dump", "--files", str(stopped.path / "nulls-0" / LOG)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (
        1, "kafkafs: standard output cannot be written: No space left on device\n"
    )  # fmt: skip


def test_what_cannot_be_dumped_in_a_directory_is_passed_over(stopped: Dataset, tmp_path: Path) -> None:
    """A directory or a pipe may be called like a segment."""
    (tmp_path / "1.log").mkdir()
    os.mkfifo(tmp_path / "2.log")
    shutil.copyfile(stopped.path / "nulls-0" / LOG, tmp_path / LOG)
    done = dump("--files", ".", cwd=tmp_path)
    assert [line for line in done.stdout.splitlines() if line.startswith("Dumping")] == [f"Dumping ./{LOG}"]


def test_nothing_is_written_beside_the_files(stopped: Dataset, tmp_path: Path) -> None:
    """Kafka's tool makes the index that a time index lacks."""
    for name in (LOG, "00000000000000000000.timeindex"):
        shutil.copyfile(stopped.path / "segments-0" / name, tmp_path / name)
    done = dump("--files", "00000000000000000000.timeindex", cwd=tmp_path)
    assert done.stdout == "Dumping 00000000000000000000.timeindex\n" + "".join(
        stopped.dumps("plain")["segments-0/00000000000000000000.timeindex"].splitlines(keepends=True)[1:]
    )
    assert sorted(os.listdir(tmp_path)) == [LOG, "00000000000000000000.timeindex"]


def test_a_bar_is_shown_to_a_person_who_waits(stopped: Dataset, tmp_path: Path) -> None:
    """On standard error, if that is a terminal and the output is not."""
    terminal, standard_error = pty.openpty()
    with open(tmp_path / "out", "wb") as out:
        command = [str(KAFKAFS), "dump", "--files", f"large-0/{LOG}", "--print-data-log"]
        process = subprocess.Popen(command, stdout=out, stderr=standard_error, cwd=stopped.path)
        os.close(standard_error)
        seen = b""
        while chunk := _read(terminal):
            seen += chunk
        assert process.wait(300) == 0
    os.close(terminal)
    assert b"0%|" in seen
    assert LOG.encode() in seen
    assert (tmp_path / "out").read_bytes().decode() == stopped.dumps("print")[f"large-0/{LOG}"]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""
