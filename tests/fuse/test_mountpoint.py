"""Where a mount may stand, by what the kernel says is mounted, and without asking a mount that may hang."""

import os
import re
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.fuse.life import mountpoint
from kafkafs.fuse.life.guard import FORWARDED
from kafkafs.fuse.life.mountpoint import (
    FILESYSTEM,
    Mount,
    check,
    is_stale,
    mounted_at,
    mounts,
    real_path,
    unmount,
    unmount_if_dead,
)
from tests.mounting import PATIENCE_S, run


def escaped(text: str) -> str:
    """As the kernel writes it (seq_path, mangle), by another hand."""
    return "".join(f"\\{ord(each):03o}" if each in " \t\n\\" else each for each in text)


@given(st.text(st.sampled_from(" \t\n\\0471a/\xe9"), max_size=20))
def test_what_the_kernel_escapes_is_read_back(name):
    """A mount point with a blank in its name must be found to be unmounted."""
    assert mountpoint.unescape(escaped(name)) == name


def test_mounts_are_those_that_findmnt_knows(tmp_path):
    listed = list(mounts())
    shown = run("findmnt", "-rn", "-o", "FSTYPE,MAJ:MIN").stdout.decode().splitlines()
    assert sorted(f"{mount.filesystem} {mount.device}" for mount in listed) == sorted(shown)
    assert mounted_at("/proc") == next(mount for mount in reversed(listed) if mount.path == "/proc")
    assert mounted_at(tmp_path) is None


def test_the_mount_that_lies_on_top_is_the_one(tmp_path):
    """Below it a second one may lie, which nobody sees."""
    place = tmp_path / "a b\\c"
    place.mkdir()
    for name in ("lower", "upper"):
        run("mount", "-t", "tmpfs", name, place)
    try:
        found = mounted_at(place)
        assert found is not None
        assert (found.path, found.filesystem, found.source) == (str(place), "tmpfs", "upper")
        unmount(place)
        found = mounted_at(place)
        assert found is not None
        assert found.source == "lower"
        unmount(place, lazily=True)
        assert mounted_at(place) is None
    finally:
        while run("umount", "-l", place, check=False).returncode == 0:
            pass


@pytest.mark.parametrize("target", ["loop", "missing", "../{here}/mount", "mount/", ".", ""])
def test_real_paths_of_links_are_those_of_the_kernel(tmp_path, target):
    (tmp_path / "mount").mkdir()
    link = tmp_path / "loop"
    if target:
        link.symlink_to(target.format(here=tmp_path.name))
    assert real_path(link) == os.path.realpath(link)


def test_a_call_that_does_not_come_back_is_left_alone():
    """A daemon that hangs must not take with it the command that would end it."""
    ended = threading.Event()
    assert mountpoint.errno_of(lambda: ended.wait(PATIENCE_S), 0.05) is None, "it would have been 0 at the call's end"
    ended.set()
    assert mountpoint.errno_of(lambda: os.stat("/"), PATIENCE_S) == 0
    assert mountpoint.errno_of(lambda: os.stat("/nowhere"), PATIENCE_S) == 2


def test_no_signal_meets_the_thread_of_a_call():
    """It outlives its answer by a moment, in which a mount's supervisor has signals blocked: there a SIGTERM found this
    thread open to it, and ended the process."""
    blocked: list[set[signal.Signals]] = []
    assert mountpoint.errno_of(lambda: blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())), PATIENCE_S) == 0  # type: ignore[arg-type]
    assert set(FORWARDED) <= blocked[0]


@pytest.mark.parametrize(("number", "stale"), [(107, True), (103, True), (13, False), (0, False), (None, False)])
def test_only_a_mount_without_a_daemon_is_stale(number, stale, tmp_path, monkeypatch):
    """One that does not answer in time may be slow: what reads from it would lose it."""
    answered = threading.Event()

    def statvfs(_: object) -> None:
        if number is None:
            answered.wait(30)
        elif number:
            raise OSError(number, "injected")

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(mountpoint, "ANSWER_S", 0.05 if number is None else 30)
    assert is_stale(tmp_path) is stale
    answered.set()


def found_there(monkeypatch: pytest.MonkeyPatch, mount: Mount | None, stale: bool) -> list[object]:
    """Makes that what is mounted wherever it is looked; the calls of `unmount` from then on."""
    taken: list[object] = []
    monkeypatch.setattr(mountpoint, "mounted_at", lambda path: mount)
    monkeypatch.setattr(mountpoint, "is_stale", lambda path: stale)
    monkeypatch.setattr(mountpoint, "unmount", lambda path, lazily=False: taken.append((path, lazily)))
    return taken


OURS, OTHER = (Mount("/mnt", filesystem, "/data", "0:50") for filesystem in (FILESYSTEM, "nfs4"))


@pytest.mark.parametrize(
    ("mount", "stale", "is_taken"),
    [(OURS, True, True), (OURS, False, False), (OTHER, True, False), (None, True, False)],
)
def test_only_our_own_dead_mount_is_taken_away(mount, stale, is_taken, monkeypatch):
    """A stale NFS mount is its administrator's business."""
    taken = found_there(monkeypatch, mount, stale)
    assert unmount_if_dead("/mnt") is is_taken
    assert taken == ([("/mnt", True)] if is_taken else [])


@pytest.mark.parametrize(
    ("mount", "stale", "sentence"),
    [
        (OURS, True, "stale mount.*; `kafkafs umount .*` takes it away"),
        (OURS, False, "in use: '/data' is mounted there; `kafkafs umount .*` ends that"),
        (OTHER, False, "in use: a file system of type nfs4"),
    ],
)
def test_a_place_where_something_is_mounted_is_refused_and_the_cure_is_named(
    mount, stale, sentence, tmp_path, monkeypatch
):
    """A second mount would silently lie over the first."""
    found_there(monkeypatch, mount, stale)
    with pytest.raises(UsageError, match=sentence):
        check(tmp_path, [])


def test_an_empty_directory_beside_the_data_is_fine(tmp_path):
    for name in ("data", "data-mount"):  # whose name begins like the other's
        (tmp_path / name).mkdir()
    check(tmp_path / "data-mount", [tmp_path / "data"])


def test_unusable_mount_points_are_refused_with_one_sentence(tmp_path):
    data = tmp_path / "data"
    (data / "inside").mkdir(parents=True)
    (tmp_path / "file").touch()
    (data / "file").touch()
    (tmp_path / "full/thing").mkdir(parents=True)
    (tmp_path / "link").symlink_to(data / "inside")
    for place, sentence in (
        ("missing", "does not exist"),
        ("file", "not a directory"),
        ("full", "not empty"),
        ("data/inside", "is inside the data directory"),
        ("data/missing", "is inside the data directory"),  # to make it there would keep a broker from starting
        ("data/missing/more", "is inside the data directory"),
        ("data/file", "is inside the data directory"),
        ("link", "is inside the data directory"),
        ("data", "is inside the data directory"),
        (".", "is inside the mount point"),
    ):
        with pytest.raises(UsageError, match=sentence):
            check(tmp_path / place, [data])


def test_a_mount_point_inside_the_data_is_seen_through_a_bind_mount(tmp_path):
    """The server would wait for itself, whatever the path is called."""
    data, bound = tmp_path / "data", tmp_path / "bound"
    (data / "inside").mkdir(parents=True)
    bound.mkdir()
    run("mount", "--bind", data, bound)
    try:
        with pytest.raises(UsageError, match="is inside the data directory"):
            check(bound / "inside", [data])
    finally:
        run("umount", bound)


def test_a_disk_that_does_not_answer_is_named(tmp_path, monkeypatch):
    """The mount would hang before it stands, and no sentence would say why."""
    (tmp_path / "data").mkdir()
    (tmp_path / "mount").mkdir()
    opening, really_open = threading.Event(), os.open

    def slow(path: str | os.PathLike[str], *flags: int) -> int:
        if path == tmp_path / "data":
            opening.wait(30)
        return really_open(path, *flags)

    monkeypatch.setattr(os, "open", slow)
    monkeypatch.setattr(mountpoint, "DISK_S", 0.05)
    with pytest.raises(UsageError, match=re.escape(f"the disk of '{tmp_path / 'data'}' does not answer")):
        check(tmp_path / "mount", [tmp_path / "data"])
    opening.set()


def test_what_is_no_mount_is_not_unmounted(tmp_path):
    with pytest.raises(OSError, match="Invalid argument"):
        unmount(tmp_path)
