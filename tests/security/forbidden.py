"""What a daemon that was taken over might try. Each act raises OSError where it is denied.

Runs inside the patched daemon; where to try it is told by the environment.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

PLACE = "KAFKAFS_TEST_PLACE"  # JSON: the arguments of `acts`
_libc = ctypes.CDLL(None, use_errno=True)


def acts(log: str, outside: str, mount: str, tcp: int, victim: int) -> dict[str, Callable[[], object]]:
    """`log` is a broker's file, `outside` a directory elsewhere with a file `secret` and a socket `unix`."""
    data = os.path.dirname(log)
    return {
        "create a file beside the data": lambda: _open(f"{data}/new", os.O_CREAT | os.O_WRONLY),
        "append to a log": lambda: _open(log, os.O_WRONLY | os.O_APPEND),
        "truncate a log": lambda: os.truncate(log, 10),
        "delete a log": lambda: os.unlink(log),
        "rename a log": lambda: os.rename(log, log + ".x"),
        "link a log": lambda: os.link(log, f"{outside}/log"),
        "chmod a log": lambda: os.chmod(log, 0o777),
        "touch a log": lambda: os.utime(log),
        "set an attribute": lambda: os.setxattr(log, "user.x", b"x"),
        "make a directory": lambda: os.mkdir(f"{outside}/new"),
        "read elsewhere": lambda: _open(f"{outside}/secret", os.O_RDONLY),
        "read /etc/passwd": lambda: _open("/etc/passwd", os.O_RDONLY),
        "read through a link": lambda: _open(f"{data}/link", os.O_RDONLY),
        "list elsewhere": lambda: os.listdir(outside),
        "run a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "fork": _fork,
        "connect by TCP": lambda: _socket().connect(("127.0.0.1", tcp)),
        "send by UDP": lambda: _socket(kind=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
        "listen": lambda: _socket().bind(("127.0.0.1", 0)),
        "connect to a Unix socket": lambda: _socket(socket.AF_UNIX).connect(f"{outside}/unix"),
        "signal a process": lambda: os.kill(victim, signal.SIGTERM),
        "trace a process": lambda: _call(_libc.ptrace, 16, victim, 0, 0),
        "read a process's memory": lambda: _open(f"/proc/{victim}/mem", os.O_RDONLY),
        "mount": lambda: _call(_libc.mount, b"none", outside.encode(), b"tmpfs", 0, None),
        "unmount": lambda: _call(_libc.umount2, mount.encode(), 2),
        "become root": lambda: os.setresuid(0, 0, 0),
        "allow core dumps": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
        "make code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
        "use io_uring": lambda: _call(_libc.syscall, 425, 8, ctypes.create_string_buffer(256)),
    }


def attempt_all() -> bytes:
    """JSON: by act, the name of the errno it was denied with, or "done"; under `thread`, where it was tried."""
    results = {"thread": threading.current_thread().name}
    for name, act in acts(**json.loads(os.environ[PLACE])).items():
        try:
            act()
        except OSError as error:
            results[name] = errno.errorcode.get(error.errno or 0, str(error))
        except ValueError:  # setrlimit's way
            results[name] = "EPERM"
        else:
            results[name] = "done"
    return json.dumps(results).encode()


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags, 0o644))


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _socket(family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
    return socket.socket(family, kind)


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def place_for(log: Path, outside: Path, mount: Path, tcp: int, victim: int) -> str:
    """The environment's value."""
    return json.dumps({"log": str(log), "outside": str(outside), "mount": str(mount), "tcp": tcp, "victim": victim})
