"""Reads that wait for the log to grow: they wake, they can be interrupted, they never hold up the mount."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.fuse.conftest import ROOT, Shelf
from tests.fuse.readers import line, reader
from tests.mounting import PATIENCE_S, mounting, run, wait_until
from tests.promises import at_most

pytestmark = pytest.mark.urgent


@pytest.fixture
def log(shelf):
    path = shelf.source / "log"
    path.write_text("one\n")
    return path


@pytest.mark.alone
def test_a_reader_gets_what_is_appended_within_200_ms(shelf, log):
    process = reader(shelf, "cat", str(shelf / "log.follow"))
    assert line(process) == b"one\n"
    took = []
    for number in range(9):
        with open(log, "a") as file:
            file.write(f"{number}\n")
        started = time.monotonic()
        assert line(process) == b"%d\n" % number
        took.append(time.monotonic() - started)
    process.kill()
    process.wait(PATIENCE_S)
    assert max(took) < at_most(0.2), took


@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("program", ["cat", "grep x", "sed p", "awk 1", "xxd", "tail -n +1"])
def test_a_waiting_program_ends_within_a_second_of_a_signal(shelf, log, program, number):
    """Without a cure it would sleep uninterruptibly, until the next record came."""
    process = reader(shelf, *program.split(), str(shelf / "log.follow"))
    started = time.monotonic()
    process.send_signal(number)
    process.wait(PATIENCE_S)
    assert time.monotonic() - started < at_most(1.0)
    wait_until(lambda: shelf.mounted.status()["waitingReads"] == 0)


def test_a_blocked_signal_does_not_end_the_wait(shelf, log):
    """A program that has blocked a signal would be told of an interrupt that it never sees.

    It has a session of its own: a stuck program of the same session, of another test, would end its wait.
    """
    script = (
        "import ctypes, os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "file, line = os.open(sys.argv[1], os.O_RDONLY), ctypes.create_string_buffer(10)\n"
        "os.read(file, 4)\n"
        "got = ctypes.CDLL(None).read(file, line, 10)\n"  # Python's own read would ask again
        "os.write(1, line.raw[: max(got, 0)])"
    )
    process = reader(shelf, "python3", "-c", script, str(shelf / "log.follow"), start_new_session=True)
    process.send_signal(signal.SIGTERM)
    witness = reader(shelf, "cat", str(shelf / "log.follow"))
    witness.send_signal(signal.SIGTERM)
    witness.wait(PATIENCE_S)  # so the signals of all who wait were looked at
    with open(log, "a") as file:
        file.write("two\n")
    assert process.communicate(timeout=PATIENCE_S)[0] == b"two\n"


def test_a_reader_that_did_not_open_the_file_can_be_ended_too(shelf, log):
    """`exec 3< file; cat <&3`: the opener is the shell, the reader its child."""
    process = reader(shelf, "bash", "-c", f"exec 3<{shelf / 'log.follow'}; cat <&3 & wait $!; exit 7")
    children = run("pgrep", "-P", str(process.pid)).stdout.split()
    os.kill(int(children[0]), signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 7


def test_a_reader_whose_parent_has_ended_can_be_ended_though_the_opener_lives(shelf, log):
    """`exec 3< file; (cat <&3 &)`: what is put in the background by a shell in between is no descendant any more."""
    script = f"exec 3<{shelf / 'log.follow'}; (sed p <&3 >/dev/null & echo $!); read"
    process = reader(shelf, "bash", "-c", script, stdin=subprocess.PIPE, start_new_session=True)
    end(int(line(process)))
    process.kill()
    process.wait(PATIENCE_S)


def orphan(shelf, program: str) -> int:
    """A reader whose opener has ended, alone in its session."""
    script = f"exec 3<{shelf / 'log.follow'}; {program} <&3 >/dev/null & echo $!; exit"
    process = reader(shelf, "bash", "-c", script, start_new_session=True)
    pid = int(line(process))
    assert process.wait(PATIENCE_S) == 0
    return pid


def end(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_reader_whose_opener_has_ended_waits_on_and_can_be_ended_too(shelf, log):
    """A confined daemon cannot see who has the file open; the opener's session is where it looks."""
    waiting = orphan(shelf, "sed p")  # which takes no interrupt for "again", as cat does
    for _ in range(2):  # each is ended when it has waited `PULSES_TO_KIN`: nobody else is given up before twice that
        end(orphan(shelf, "cat"))
    assert os.path.exists(f"/proc/{waiting}")
    end(waiting)


def test_a_reader_whom_the_daemon_cannot_see_can_be_ended_too(tmp_path):
    """The daemon lives in a container, the reader outside: the kernel names no process that has opened the file."""
    source, place = tmp_path / "source", tmp_path / "mount"
    source.mkdir()
    place.mkdir()
    (source / "log").write_text("one\n")
    command = ["unshare", "--pid", "--fork", sys.executable, "-m", "tests.fuse.shelf", source, place]
    with mounting(command, place, tmp_path / "log", cwd=ROOT) as mounted:
        process = reader(Shelf(mounted, source, place), "cat", str(place / "log.follow"))
        process.send_signal(signal.SIGKILL)
        process.wait(300)
        run("umount", "-l", place)
        assert mounted.process.wait(PATIENCE_S) == 0


def test_300_waiting_reads_leave_the_mount_quick(shelf, log):
    """pyfuse3 serves 99 requests at once and then none: 99 idle followers froze the mount."""
    script = (
        "import os, sys, threading\n"
        "def follow():\n    fd = os.open(sys.argv[1], os.O_RDONLY)\n    while os.read(fd, 100): pass\n"
        "for _ in range(300): threading.Thread(target=follow).start()\n"
    )
    process = subprocess.Popen(["python3", "-c", script, str(shelf / "log.follow")])
    wait_until(lambda: shelf.mounted.status()["waitingReads"] == 300)
    before = shelf.mounted.status()["operations"]["follow"]["count"]
    started = time.monotonic()
    run("ls", shelf.path)
    assert time.monotonic() - started < at_most(0.5)
    with open(log, "a") as file:
        file.write("two\n")
    wait_until(lambda: shelf.mounted.status()["operations"]["follow"]["count"] >= before + 300)
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_ending_the_mount_ends_16_waiting_reads_within_two_seconds(own_shelf):
    (own_shelf.source / "log").write_text("one\n")
    readers = [reader(own_shelf, "cat", str(own_shelf / "log.follow")) for _ in range(16)]
    started = time.monotonic()
    assert own_shelf.mounted.end() == 0
    for process in readers:
        assert process.wait(PATIENCE_S) == 1
    assert time.monotonic() - started < at_most(2.0)


def test_an_aborted_connection_ends_the_daemon_though_reads_wait(own_shelf):
    (own_shelf.source / "log").write_text("one\n")
    process = reader(own_shelf, "cat", str(own_shelf / "log.follow"))
    own_shelf.mounted.abort()
    assert process.wait(PATIENCE_S) != 0
    assert own_shelf.mounted.process.wait(PATIENCE_S) == 0
