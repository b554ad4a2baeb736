"""Two that mount at one place at the same moment: one of them does, and says so; nothing lies on anything."""

import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from kafkafs import sample
from kafkafs.errors import UsageError
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.life.mountpoint import mounts, unmount
from tests.mounting import KAFKAFS, PATIENCE_S, run, wait_until


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    yield place
    while mounted(place):
        unmount(place, lazily=True)


def mounted(place: Path) -> list[str]:
    return [mount.filesystem for mount in mounts() if mount.path == str(place)]


def test_of_four_mounts_at_once_one_succeeds(place, tmp_path):
    """Each finds the place empty and free, where none waits for the others."""
    data = sample.unpack(tmp_path)
    command = [KAFKAFS, "mount", data, place, "--background"]
    all_of_them = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate(timeout=PATIENCE_S)[1].decode() for process in all_of_them]
    assert mounted(place) == ["fuse.kafkafs"]
    assert sorted(process.returncode for process in all_of_them) == [0, 2, 2, 2]
    assert sum("is in use" in text and "kafkafs umount" in text for text in said) == 3
    assert b"test-0\n" in run("ls", place).stdout


def has_fuse_open(supervisor: int) -> bool:
    """Whether its daemon is about to mount."""
    for pid in run("pgrep", "-P", str(supervisor), check=False).stdout.decode().split():
        with suppress(FileNotFoundError):  # a process or a descriptor that has gone meanwhile
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                if descriptor.is_symlink() and os.readlink(descriptor) == "/dev/fuse":
                    return True
    return False


def test_what_another_program_mounted_meanwhile_is_not_covered(place, tmp_path):
    """It asks for no lock; a mount on top of it would hide it without a word."""
    data = sample.unpack(tmp_path)
    slowly = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=mount", "-e", "inject=mount:delay_enter=3000000"]
    process = subprocess.Popen([*slowly, KAFKAFS, "mount", data, place], stderr=subprocess.PIPE)
    command = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: any(has_fuse_open(int(child)) for child in command.read_text().split()))
    run("mount", "-t", "tmpfs", "another", place)
    said = process.communicate(timeout=PATIENCE_S)[1].decode()
    assert process.returncode == 2
    assert "is in use: a file system of type tmpfs was mounted there at the same moment" in said
    assert mounted(place) == ["tmpfs"]


def test_who_waits_goes_on_when_the_other_one_is_done(tmp_path):
    first, came = MountClaim(tmp_path), threading.Event()

    def mount_too() -> None:
        MountClaim(tmp_path).release()
        came.set()

    other = threading.Thread(target=mount_too)
    other.start()
    assert not came.wait(0.3)
    first.release()
    assert came.wait(PATIENCE_S)
    other.join()


def test_who_has_waited_too_long_says_so(tmp_path):
    first = MountClaim(tmp_path)
    with pytest.raises(UsageError, match="another kafkafs has been mounting"):
        MountClaim(tmp_path, longest_s=0.1)
    first.release()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_directory_is_left_to_the_check(tmp_path, name):
    (tmp_path / "file").touch()
    MountClaim(tmp_path / name).release()
