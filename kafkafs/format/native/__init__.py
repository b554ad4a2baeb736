"""The compiled kernels, called by ctypes, which lets other threads run meanwhile.

    kernels/   their source
    layout     the tables that they fill
    build      makes `_kernels.so` of all, so that a mount needs no compiler and no numba at run time
    library    finds and loads it

Where the library is missing or older than its source, numba compiles the same kernels, each at its first use, if it is
there: slow to start and large in memory, but right.
"""

import ctypes
import os
from functools import cache

import numpy as np

from kafkafs.errors import Unsupported
from kafkafs.format.native.library import LIBRARY, Kernel, linked

MODULES = {
    "_records": (
        *("varint", "checksum", "headers", "records", "messages", "runs", "columns", "differences"),
        *("siphash", "keys", "sketch", "needle"),
    ),
    "_lines": ("varint", "numbers", "text", "lines", "batch_lines", "java_text", "dump"),
    "_cells": (
        *("varint", "numbers", "text", "lines", "calendar", "decimals", "doubles", "avro", "json_text"),
        *("cells", "decoded_lines"),
    ),
}

_DATA = object.__basicsize__
"""Where an array keeps the address of its data: first behind what every object has, as NumPy's ABI fixes it. A look
there takes 0.1 us; `ctypes.data` 1.1, `__array_interface__` of a table 7, and each record asked for needs five."""

_pointer_at = ctypes.c_void_p.from_address


@cache
def kernel(name: str) -> Kernel:
    """The kernel of that name: int64 arguments, int64 result."""
    found = linked()
    return found[name] if found is not None else _compiled(name)


def is_built() -> bool:
    """Whether the library is there and up to date."""
    return linked() is not None


def address(buffer: object) -> int:
    """Where the bytes of a buffer begin. The caller keeps the buffer alive while a kernel uses it."""
    view = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)  # type: ignore[call-overload]
    return _pointer_at(id(view) + _DATA).value or 0


def _compiled(name: str) -> Kernel:
    """The same kernel through numba, in this process."""
    try:
        from kafkafs.format.native import build
    except ImportError:
        if not os.path.isdir(os.path.dirname(LIBRARY)):
            raise Unsupported(
                f"kafkafs cannot run out of {LIBRARY.partition('/kafkafs/')[0]}: its compiled kernels have to be a file"
                " of their own. To Spark's executors ship it with --archives, not --py-files (docs/spark.md)."
            ) from None
        raise Unsupported(
            f"The compiled kernels ({LIBRARY}) are missing or out of date: run scripts/setup, or install kafkafs again."
        ) from None
    compiled: Kernel = build.compiled(next(one for one in build.kernels() if one.__name__ == name)).ctypes
    return compiled
