"""The compiled kernels, called by ctypes, which lets other threads run meanwhile.

`kernels/` holds their source, `build` makes `_kernels.so` of it, so that a mount needs no compiler and no numba at run
time. Where the library is missing or older than its source, numba compiles the same kernels, each at its first use,
if it is there: slow to start and large in memory, but right.
"""

import ctypes
import os
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np

from kafkafs.errors import Unsupported

_DATA = object.__basicsize__
"""Where an array keeps the address of its data: first behind what every object has, as NumPy's ABI fixes it. A look
there takes 0.1 us; `ctypes.data` 1.1, `__array_interface__` of a table 7, and each record asked for needs five."""

_pointer_at = ctypes.c_void_p.from_address
_HERE = os.path.dirname(__file__)
LIBRARY = os.path.join(_HERE, "_kernels.so")
Kernel = Callable[..., int]


def source_stamp() -> str:
    """A checksum of the kernels' source: a library with another one is out of date.

    Each command makes it anew, so it is one that takes no time: hashlib alone needs longer to import.
    """
    names = sorted(name for name in os.listdir(os.path.join(_HERE, "kernels")) if name.endswith(".py"))
    stamp = 0
    for name in ["layout.py", *(os.path.join("kernels", name) for name in names)]:
        with open(os.path.join(_HERE, name), "rb") as source:
            stamp = zlib.crc32(name.encode() + b"\0" + source.read(), stamp)
    return f"{stamp:08x}"


@cache
def kernel(name: str) -> Kernel:
    """The kernel of that name: int64 arguments, int64 result."""
    linked = _linked()
    return linked[name] if linked is not None else _compiled(name)


def is_built() -> bool:
    """Whether the library is there and up to date."""
    return _linked() is not None


def address(buffer: object) -> int:
    """Where the bytes of a buffer begin. The caller keeps the buffer alive while a kernel uses it."""
    view = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)  # type: ignore[call-overload]
    return _pointer_at(id(view) + _DATA).value or 0


@cache
def _linked() -> dict[str, Kernel] | None:
    """The library's kernels; None where it is missing or was built of other source."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    manifest = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "kafkafs_manifest"))).decode()
    stamp, *names = manifest.split()
    if stamp != source_stamp():
        return None
    found: dict[str, Kernel] = {}
    for name, arity in (word.split("/") for word in names):
        function = library[f"kafkafs_{name}"]
        function.argtypes, function.restype = [ctypes.c_int64] * int(arity), ctypes.c_int64
        found[name] = function
    return found


def _compiled(name: str) -> Kernel:
    """The same kernel through numba, in this process."""
    try:
        from kafkafs.format.native import build
    except ImportError:
        raise Unsupported(
            f"The compiled kernels ({LIBRARY}) are missing or out of date: run scripts/setup, or install kafkafs again."
        ) from None
    compiled: Kernel = build.compiled(next(one for one in build.KERNELS if one.__name__ == name)).ctypes
    return compiled
