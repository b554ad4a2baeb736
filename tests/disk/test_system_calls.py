"""What Python has no function for, against the kernel: no name leads out of the directory that it is looked up in."""

import errno
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from kafkafs.disk.system_calls import CACHED, access_list, is_remote, open_in_memory, openat2, sync_file_system
from kafkafs.errors import DiskError
from tests.mounting import wait_until

FLAGS = os.O_RDONLY | os.O_CLOEXEC


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "file").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"outside")
    return tmp_path / "root"


@pytest.fixture
def descriptor(root):
    opened = os.open(root, FLAGS | os.O_DIRECTORY)
    yield opened
    os.close(opened)


def content(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def failure(call, *arguments) -> int:
    """The errno of a call that must fail."""
    with pytest.raises(OSError) as reported:
        os.close(call(*arguments))
    return reported.value.errno or 0


def test_what_is_below_a_directory_is_opened_and_not_inherited(descriptor):
    found = openat2(descriptor, "sub/file", FLAGS)
    assert not os.get_inheritable(found)
    assert content(found) == b"inside"
    assert content(openat2(descriptor, "sub/file", FLAGS, CACHED)) == b"inside"  # it was looked up just now


def test_nothing_leads_out_of_it(root, descriptor):
    (root / "up").symlink_to("../secret")
    (root / "self").symlink_to("sub")
    assert failure(openat2, descriptor, "../secret", FLAGS) == errno.EXDEV
    assert failure(openat2, descriptor, str(root / "sub/file"), FLAGS) == errno.EXDEV
    assert failure(openat2, descriptor, "up", FLAGS) == errno.ELOOP
    assert failure(openat2, descriptor, "self/file", FLAGS) == errno.ELOOP
    assert failure(openat2, descriptor, "none", FLAGS) == errno.ENOENT


def test_a_path_that_is_in_memory_is_opened_through_links(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    path = str(tmp_path / "link" / "sub" / "file")
    opened: list[int] = []

    def is_opened() -> bool:
        os.stat(path)
        with suppress(BlockingIOError):  # whenever somebody renames anything meanwhile
            opened.append(open_in_memory(path, FLAGS))
        return bool(opened)

    wait_until(is_opened)
    assert content(opened[0]) == b"inside"
    assert failure(open_in_memory, str(tmp_path / "none"), FLAGS) in {errno.ENOENT, errno.EAGAIN}


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL])
def test_an_old_kernel_opens_only_what_may_wait(descriptor, root, monkeypatch, code):
    """Linux before 5.6 has no openat2, and one before 5.12 no such flag: the one that must not wait asks another."""
    monkeypatch.setattr("kafkafs.disk.system_calls.libc.syscall", lambda *_: -1)
    monkeypatch.setattr("ctypes.get_errno", lambda: code)
    assert failure(open_in_memory, str(root / "sub/file"), FLAGS) == errno.EAGAIN
    assert failure(openat2, descriptor, "sub/file", FLAGS, CACHED) == code
    if code == errno.ENOSYS:
        assert content(openat2(descriptor, "sub/file", FLAGS)) == b"inside"


def test_a_list_of_rights_is_there_or_not_and_what_else_fails_is_reported(root):
    file = root / "sub" / "file"
    opened = os.open(file, FLAGS)
    assert access_list(opened) is None
    subprocess.run(["setfacl", "-m", "u:1:r", file], check=True)
    assert access_list(opened) == os.getxattr(file, "system.posix_acl_access")
    os.close(opened)
    with pytest.raises(DiskError, match="Bad file descriptor"):
        access_list(opened)


def test_a_file_system_is_synced_and_known_for_one_of_this_host(descriptor):
    sync_file_system(descriptor)
    assert not is_remote(descriptor)
    proc = os.open("/proc", FLAGS | os.O_DIRECTORY)
    assert is_remote(proc)  # none that is known to answer from memory
    os.close(proc)
    assert is_remote(proc)
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_file_system(proc)


_FAMILY = """
import os, signal, sys
from kafkafs.disk.system_calls import signal_at_parents_end
heard, told = os.pipe()
child = os.fork()
if child == 0:
    signal_at_parents_end(signal.SIGKILL)
    os.write(told, b"r")
    signal.pause()
os.read(heard, 1)
print(child, flush=True)
sys.stdin.read()
"""


def test_a_process_is_sent_a_signal_at_its_parents_end():
    """The processes of a search and of a job hold disks open: none may outlive who started it, however that ends."""
    parent = subprocess.Popen([sys.executable, "-c", _FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin is not None
    assert parent.stdout is not None
    child = os.pidfd_open(int(parent.stdout.readline()))
    assert not select.select([child], [], [], 0)[0]
    parent.kill()
    parent.wait()
    has_ended = bool(select.select([child], [], [], 10)[0])
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(child, signal.SIGKILL)
    os.close(child)
    parent.stdin.close()
    parent.stdout.close()
    assert has_ended
