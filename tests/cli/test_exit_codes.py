"""How a command ends, whatever it raises: an exit code, and one sentence for the person at the terminal."""

import errno
import logging
import re
import subprocess

import pytest

from kafkafs.cli.exit_codes import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    name_warnings,
    run_to_exit_code,
    say,
)
from kafkafs.errors import DiskError, UsageError
from kafkafs.sample import unpack
from tests.mounting import KAFKAFS


@pytest.mark.parametrize(
    ("raised", "code", "sentence"),
    [
        (UsageError("name a directory"), EXIT_USAGE, "name a directory"),
        (DiskError("the disk does not answer"), EXIT_FAILED, "the disk does not answer"),
        (KeyboardInterrupt(), EXIT_INTERRUPTED, None),
        (MemoryError(), EXIT_FAILED, "no memory is left; .*"),
        (ImportError("x.so: failed to map segment from shared object"), EXIT_FAILED, "no memory is left; .*"),
        (OSError(errno.EMFILE, "Too many open files"), EXIT_FAILED, "no descriptor is left; .*"),
        (RuntimeError("can't start new thread"), EXIT_FAILED, "the system starts no more threads or processes; .*"),
        (BlockingIOError(errno.EAGAIN, ""), EXIT_FAILED, "the system starts no more threads or processes; .*"),
        (ValueError("seventeen"), EXIT_BUG, r"this is a bug, please report it: ValueError\('seventeen'\) at .*"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_whatever_is_raised_becomes_one_sentence(raised, code, sentence, capsys):
    """A traceback helps nobody at three in the morning."""

    def command() -> int:
        raise raised

    assert run_to_exit_code(command) == code
    reported = capsys.readouterr().err
    assert reported == "" if sentence is None else re.fullmatch(f"kafkafs: {sentence}\n", reported)


def test_nothing_that_a_terminal_obeys_is_said(capsys):
    """Names in messages come from strangers."""
    say("evil\x1b[2J\nname")
    assert capsys.readouterr().err == "kafkafs: evil\\x1b[2J\\nname\n"


@pytest.mark.parametrize("word", ["ls", "cat", "groups", "grep -c .", "dump", "help", "help mount", "--version"])
def test_a_closed_standard_output_is_a_sentence(word, tmp_path):
    """Regression: "this is a bug, please report it", and exit code 0 where all that was to be printed was lost."""
    data = "" if word.startswith(("help", "--")) else unpack(tmp_path)
    path = "test-0/by-offset/latest.jsonl" if word == "cat" else ""
    done = subprocess.run(f"{KAFKAFS} {word} {data} {path} >&-", shell=True, capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("kafkafs: ")
    assert done.stderr.endswith(": Bad file descriptor\n")


@pytest.mark.parametrize("word", ["grep -c .", "dump", "audit --engine local"])
def test_a_closed_standard_error_hears_nothing(word, tmp_path):
    """Nor does a file of the data get its number, which would then be written to."""
    done = subprocess.run(f"{KAFKAFS} {word} {unpack(tmp_path)} 2>&- <&-", shell=True, stdout=subprocess.PIPE)
    assert done.returncode == 0


@pytest.mark.parametrize("word", ["ls", "groups"])
def test_a_full_disk_behind_standard_output_is_a_sentence(word, tmp_path):
    """Regression: "this is a bug, please report it"."""
    data = unpack(tmp_path)
    done = subprocess.run(f"{KAFKAFS} {word} {data} > /dev/full", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1, "kafkafs: standard output cannot be written: No space left on device\n",
    )  # fmt: skip


@pytest.mark.parametrize(("words", "code"), [("audit --engine local {}", 0), ("cat {} none-0", 1), ("grep x none", 2)])
def test_a_full_disk_behind_standard_error_changes_no_exit_code(words, code, tmp_path):
    """Regression: Python's own 120, which says nothing of what was asked."""
    command = f"{KAFKAFS} {words.format(unpack(tmp_path))} 2> /dev/full"
    assert subprocess.run(command, shell=True, stdout=subprocess.DEVNULL).returncode == code


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_goes_only_in_part_onto_a_full_disk_is_no_success(unbuffered, tmp_path):
    """Regression: exit code 0 where Python was told to leave its buffer out, as images of containers do."""
    words = f"cat {unpack(tmp_path)} 'test-0/by-offset/0...jsonl' > {tmp_path}/out"
    lines = f"ulimit -f 16; PYTHONUNBUFFERED={unbuffered} {KAFKAFS} {words}"
    done = subprocess.run(["bash", "-c", lines], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "kafkafs: standard output cannot be written: File too large\n")


def test_a_current_directory_that_is_gone_is_a_sentence(tmp_path):
    """Regression: "standard output cannot be written", and in a mount that was unmounted, "this is a bug"."""
    (tmp_path / "gone").mkdir()
    lines = f"cd {tmp_path}/gone; rmdir {tmp_path}/gone; {KAFKAFS} dump {unpack(tmp_path)}"
    done = subprocess.run(lines, shell=True, capture_output=True, text=True)
    reported = "kafkafs: the current directory is gone, deleted or unmounted: cd to another one\n"
    assert (done.returncode, done.stderr) == (1, reported)


def test_warnings_look_like_all_other_sentences(monkeypatch):
    """Those of libraries stay as they are."""
    handler = logging.lastResort
    assert handler is not None
    monkeypatch.setattr(handler, "formatter", handler.formatter)
    name_warnings()
    for name, line in (("kafkafs.log", "kafkafs: a\\x1bb"), ("other", "a\x1bb")):
        assert handler.format(logging.LogRecord(name, logging.WARNING, "", 0, "a\x1bb", None, None)) == line
