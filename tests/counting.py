"""What a call reads, as the kernel counts it: by whichever function, those of the compiled kernels included. And how
many segments' logs it opens."""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from kafkafs.disk import local_directory, system_calls
from kafkafs.tables import locations

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def counted(call: Callable[Asked, Answer], *args: Asked.args, **how: Asked.kwargs) -> tuple[Answer, int]:
    """What `call` answers, and how many bytes this thread read for it, be they from memory or from a disk."""
    descriptor = os.open("/proc/thread-self/io", os.O_RDONLY)
    try:
        before = os.pread(descriptor, 1024, 0)
        answer = call(*args, **how)
        after = os.pread(descriptor, 1024, 0)
    finally:
        os.close(descriptor)
    return answer, _read_so_far(after) - _read_so_far(before) - len(before)  # the first look itself is in the second


def _read_so_far(io: bytes) -> int:
    return int(io.split(b"rchar: ")[1].split()[0])


def opened(call: Callable[[], object]) -> Counter[str]:
    """How often the call opens what below a data directory, by the last part of its name. A directory counts each time
    that it is listed, or that files are asked for in it."""
    openat2, plain, names = system_calls.openat2, os.open, Counter[str]()

    def below(descriptor: int, name: str, flags: int, *more: Any) -> int:
        """The same, noted."""
        names[os.path.basename(name)] += not flags & os.O_PATH
        return openat2(descriptor, name, flags, *more)

    def inside(name: str, flags: int, *more: Any, dir_fd: int | None = None) -> int:
        """The same of a file in a directory that is held open."""
        names[os.path.basename(name)] += dir_fd is not None
        return plain(name, flags, *more, dir_fd=dir_fd)

    with patch.object(local_directory, "openat2", below), patch.object(os, "open", inside):
        call()
    return +names


def logs_opened(call: Callable[[], object]) -> int:
    """The logs that the call opens in a process that has none open. One that is opened twice counts once."""
    openat2, names = system_calls.openat2, set[str]()

    def counted(descriptor: int, name: str, flags: int, *more: Any) -> int:
        """The same, noted."""
        if name.endswith(".log") and not flags & os.O_PATH:
            names.add(name)
        return openat2(descriptor, name, flags, *more)

    locations.open_directories.close()
    with patch.object(local_directory, "openat2", counted):
        call()
    return len(names)
