"""The system call filter by itself, in a process that installs it: what it refuses, and what a reader still needs."""

import json
from pathlib import Path

import pytest

from kafkafs.fuse.sandbox import syscalls
from tests.fuse.conftest import reported_by

pytestmark = pytest.mark.skipif(not syscalls.is_installed(), reason="libseccomp is not here")

FILTERED = """
import ctypes, errno, json, mmap, os, socket, sys, threading
from kafkafs.fuse.sandbox import syscalls
connecting, place = json.loads(sys.argv[1])
libc, numbers, told = ctypes.CDLL(None, use_errno=True), {}, {}
for name in syscalls.REFUSED:
    number = syscalls.seccomp.resolve_syscall(syscalls.seccomp.Arch.NATIVE, name)
    if number >= 0:
        numbers[name] = number

def call(number):
    # All arguments out of any range: what gets through changes nothing and is another error, or none.
    return errno.errorcode[ctypes.get_errno()] if libc.syscall(number, *[ctypes.c_long(-1)] * 6) < 0 else "done"

def attempt(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    except ValueError:
        return "ValueError"
    return "done"

def looked():
    told["refused"] = {name: call(number) for name, number in numbers.items()}
    told["acts"] = {name: attempt(act) for name, act in {
        "read": lambda: open(place).close(),
        "read here": lambda: os.close(os.open("/", os.O_RDONLY)),
        "append": lambda: os.open(place, os.O_WRONLY | os.O_APPEND),
        "change": lambda: os.open(place, os.O_RDWR),
        "create": lambda: os.open(place, os.O_CREAT),
        "cut": lambda: os.open(place, os.O_TRUNC),
        "fork": lambda: os._exit(0) if os.fork() == 0 else None,
        "make code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
        "take memory": lambda: mmap.mmap(-1, 4096).close(),
        "tcp": lambda: socket.socket(),
        "udp": lambda: socket.socket(type=socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "signal another": lambda: os.kill(os.getppid(), 0),
        "start a thread": lambda: threading.Thread(target=lambda: None).start(),
    }.items()}

assert syscalls.refuse_all_but_reading(connecting) is None
thread = threading.Thread(target=looked)
thread.start()
thread.join()
print(json.dumps(told))
"""
HARMLESS = {"read", "read here", "take memory", "start a thread"}


def filtered(place: Path, *, connecting: bool) -> dict[str, dict[str, str]]:
    """How system calls and acts ended in a thread that was started afterwards."""
    found: dict[str, dict[str, str]]
    found, _ = reported_by(FILTERED, json.dumps([connecting, str(place)]))
    return found


@pytest.mark.parametrize("connecting", [False, True])
def test_what_changes_anything_is_refused_and_reading_is_not(tmp_path: Path, connecting: bool) -> None:
    """Each call of the list, whatever its arguments; for a bucket sockets of the internet, and no others."""
    (place := tmp_path / "file").write_text("text")
    reported = filtered(place, connecting=connecting)
    assert len(reported["refused"]) > 80
    assert {name: ended for name, ended in reported["refused"].items() if ended != "EPERM"} == {}
    done = {name for name, ended in reported["acts"].items() if ended == "done"}
    assert done == HARMLESS | ({"tcp", "udp"} if connecting else set())
    assert {ended for name, ended in reported["acts"].items() if name not in done} == {"EPERM"}
    assert place.read_text() == "text"


def test_without_the_library_a_sentence_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel refuses is a sentence, too: the daemon goes on behind Landlock."""
    monkeypatch.setattr(syscalls, "seccomp", None)
    assert not syscalls.is_installed()
    assert "install libseccomp" in str(syscalls.refuse_all_but_reading())


def test_no_call_stands_there_twice() -> None:
    assert len(set(syscalls.REFUSED)) == len(syscalls.REFUSED)
