"""`kafkafs mount` as people type it, on the bundled sample."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs import sample
from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from tests.cli.asking import unmounted
from tests.mounting import KAFKAFS, run, shell, wait_until
from tests.promises import at_most
from tests.without_fuse import without_fuse


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.unpack(tmp_path_factory.mktemp("data"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mount"
    path.mkdir()
    yield path
    while mounted_at(path) is not None:  # a test that failed
        unmount(path, lazily=True)


def refusal(*arguments: str | Path) -> str:
    """The one sentence that a command is refused with."""
    return sentence_of(run(KAFKAFS, *arguments, check=False))


def sentence_of(done: "subprocess.CompletedProcess[bytes]") -> str:
    assert done.returncode == 2, done.stderr
    sentence = done.stderr.decode()
    assert sentence.startswith("kafkafs: ")
    assert sentence.count("\n") == 1
    return sentence


def test_a_mount_in_the_background_answers_when_the_command_returns(data, place):
    done = run(KAFKAFS, "mount", data, place, "--background")
    assert done.stdout == done.stderr == b""
    assert b"test-0" in run("ls", place).stdout
    run(KAFKAFS, "umount", place)
    assert mounted_at(place) is None


def test_relative_paths_mean_where_the_command_was_typed(data, tmp_path, place):
    run(KAFKAFS, "mount", os.path.relpath(data, tmp_path), "mount", "--background", cwd=tmp_path)
    assert b"test-0" in run("ls", place).stdout
    run(KAFKAFS, "umount", "mount", cwd=tmp_path)


def test_a_link_to_the_mount_point_stands_for_it(data, place, tmp_path):
    """Regression: what could be mounted through a link could not be unmounted through it."""
    (tmp_path / "before").symlink_to(place)
    (tmp_path / "link").symlink_to("before")
    run(KAFKAFS, "mount", data, tmp_path / "link", "--background")
    assert mounted_at(place) == mounted_at(tmp_path / "link") is not None
    assert "is in use" in refusal("mount", data, tmp_path / "link")
    run(KAFKAFS, "umount", tmp_path / "link")
    assert mounted_at(place) is None


def test_kill_9_of_a_mount_made_through_a_link_leaves_nothing_stale(data, place, tmp_path):
    """Regression: whoever watches the daemon looked for a mount under the link's name and found none."""
    (tmp_path / "link").symlink_to(place)
    run(KAFKAFS, "mount", data, tmp_path / "link", "--background")
    os.kill(json.loads((place / ".kafkafs/status.json").read_bytes())["pid"], signal.SIGKILL)
    wait_until(lambda: mounted_at(place) is None, at_most(1.0))


def test_ctrl_c_ends_a_mount_in_the_foreground_without_a_trace(data, place):
    process = subprocess.Popen([KAFKAFS, "mount", data, place], start_new_session=True, stderr=subprocess.PIPE)
    wait_until(lambda: mounted_at(place))
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0
    assert b"Traceback" not in errors
    assert mounted_at(place) is None


def test_what_is_no_data_directory_is_refused_in_both_ways(tmp_path, place):
    (tmp_path / "empty").mkdir()
    for source in ("empty", "missing"):
        for flags in ((), ("--background",)):
            assert source in refusal("mount", tmp_path / source, place, *flags)
            assert mounted_at(place) is None


@pytest.mark.parametrize(("number", "why"), [(signal.SIGKILL, ", as the system does"), (signal.SIGSEGV, "\n")])
def test_a_daemon_that_is_ended_before_it_answers_is_a_sentence(data, place, tmp_path, number, why):
    """Regression: `--background` ended with 137 and without a word. The daemon, and no other process, loads pyfuse3."""
    (tmp_path / "pyfuse3.py").write_text(f"import os\nos.kill(os.getpid(), {number:d})\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = run(KAFKAFS, "mount", data, place, "--background", env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"kafkafs: the daemon was ended by signal %d before the mount answered" % number)
    assert why in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert mounted_at(place) is None


@pytest.mark.parametrize("limit", ["-n 10", "-n 15", "-v 210000"])
def test_what_the_system_refuses_is_reported_in_a_sentence(data, place, limit):
    """The memory ends among the imports. With more of it, it may end where a thread makes its first object, and there
    Python 3.11 tries to raise its MemoryError for ever."""
    done = subprocess.run(
        ["bash", "-c", f'ulimit {limit}; "$0" mount "$1" "$2"', KAFKAFS, data, place],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("kafkafs: ")]
    assert "raise" in sentence
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
    assert mounted_at(place) is None


def test_a_thread_that_is_refused_is_reported_before_the_mount_answers(data, place, tmp_path):
    """Regression: exit code 0, and the mount gone a moment later without a word, where the last thread was refused."""
    (tmp_path / "sitecustomize.py").write_text("""
import threading
start = threading.Thread.start
def start_unless_watchdog(thread):
    if thread.name == "watchdog":
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = start_unless_watchdog
""")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = run(KAFKAFS, "mount", data, place, "--background", env=environment, check=False)
    assert (done.returncode, done.stderr.partition(b";")[0]) == (
        1, b"kafkafs: the system starts no more threads or processes",
    )  # fmt: skip
    wait_until(lambda: mounted_at(place) is None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("rw", "read-only"),
        ("suid", "refused"),
        ("isolation=serializable", "read_committed"),
        ("isolation", "isolation=LEVEL"),
        ("corrupt=repair", "corrupt=skip"),
        ("max_batch=lots", "max_batch=512M"),
        ("max_batch=0", "is not a size"),
        ("max_batch=9999999999G", "1024G at most"),
        pytest.param("max_batch=" + "9" * 5000, "1024G at most", id="max_batch=999..."),
        ("index_dir=/nowhere", "kafkafs reindex"),
        ("cache=drop", "cache=keep"),
        ("colour=red", "unknown option 'colour=red'; known are"),
    ],
)
def test_options_that_mean_nothing_are_refused_with_what_would(data, place, options, sentence):
    assert sentence in sentence_of(unmounted("mount", "-o", options, data, place))


def test_options_of_mount_8_that_are_true_anyway_are_taken(data, place):
    options = "ro,nosuid,nodev,noexec,noatime,nofail,_netdev,x-systemd.automount,isolation=read_committed,max_batch=64M"
    run(KAFKAFS, "mount", "-o", options, data, place, "--background")
    run(KAFKAFS, "umount", place)


def test_a_log_file_gets_the_daemon_s_log(data, place, tmp_path):
    run(KAFKAFS, "mount", data, place, "--background", "--log-file", tmp_path / "log")
    run(KAFKAFS, "umount", place)
    wait_until(lambda: "unmounted" in (tmp_path / "log").read_text())
    assert "cannot log" in refusal("mount", data, place, "--background", "--log-file", tmp_path / "no/log")


def test_no_log_is_written_into_a_data_directory(data, place, tmp_path):
    (tmp_path / "link").symlink_to(data / "log")
    for log in (data / "log", tmp_path / "link"):
        assert "where nothing is written" in refusal("mount", data, place, "--log-file", log)
    assert not (data / "log").exists()


def test_df_and_findmnt_show_the_data_directory_and_its_size(data, place):
    run(KAFKAFS, "mount", data, place, "--background")
    try:
        assert run("findmnt", "-no", "SOURCE,FSTYPE", place).stdout.split() == [os.fsencode(data), b"fuse.kafkafs"]
        size = sum(path.stat().st_size for path in data.glob("*-*/*"))
        assert size <= int(run("df", "-B1", "--output=size", place).stdout.split()[1]) <= size + 4096 * 100
    finally:
        run(KAFKAFS, "umount", place)


def test_an_ordinary_user_mounts_for_himself(data):
    """With fusermount3; others, root too, are not let in."""
    user = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
    if run(*user, KAFKAFS, "--version", check=False).returncode != 0:
        pytest.skip("ordinary users cannot reach this Python")
    mode = os.stat("/dev/fuse").st_mode
    place = Path(tempfile.mkdtemp(prefix="kafkafs-user-"))
    os.chown(place, 1000, 1000)
    shell(f"chmod -R a+rX {data} && chmod a+x {' '.join(map(str, data.parents))}")
    os.chmod("/dev/fuse", 0o666)
    try:
        run(*user, KAFKAFS, "mount", data, place, "--background")
        assert b"test-0" in run(*user, "ls", place).stdout
        assert b"Permission denied" in run("ls", place, check=False).stderr
        run(*user, KAFKAFS, "umount", place)
        assert mounted_at(place) is None
    finally:
        os.chmod("/dev/fuse", mode & 0o777)
        shell(f"umount -l {place}; rmdir {place}", check=False)


def test_version_and_help_answer(place):
    assert run(KAFKAFS, "--version").stdout.startswith(b"kafkafs 0.")
    for command in ("mount", "umount", "demo"):
        assert run(KAFKAFS, command, "--help").stdout.startswith(b"usage: kafkafs")


def test_the_demo_works_and_leaves_nothing_behind():
    done = run(KAFKAFS, "demo", timeout=300)
    shown = done.stdout.decode()
    assert "slot 2 of 4: 1632390207745 -> offset 23388" in shown
    assert "The mount is gone again" in shown
    assert "kafkafs-demo-" not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace without /dev/fuse takes root")
def test_without_fuse_it_says_what_answers_the_same(data, place, tmp_path):
    """In a container the door is shut; the window beside it is named."""
    (tmp_path / "dev").mkdir()
    done = run(*without_fuse(tmp_path / "dev", KAFKAFS, "mount", data, place), check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, b"", 1)
    assert b"--device /dev/fuse --cap-add SYS_ADMIN; `kafkafs ls`, `cat` and `stat` answer the same" in done.stderr
