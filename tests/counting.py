"""What a call reads, as the kernel counts it: by whichever function, those of the compiled kernels included."""

import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
