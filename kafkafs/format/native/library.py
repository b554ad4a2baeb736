"""The library of compiled kernels: where it lies, of which source it has to be, and its entries.

A layer's kernels are in its folder `native`: `format`'s touch the bytes that they are given, `disk`'s read files as
well. All are compiled into one library, so that a mount loads one.
"""

import ctypes
import os
import zlib
from collections.abc import Callable
from functools import cache

_HERE = os.path.dirname(__file__)
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
LIBRARY = os.path.join(_HERE, "_kernels.so")
Kernel = Callable[..., int]
"""int64 arguments, int64 result."""


def layers() -> list[str]:
    """The names of the layers that have kernels."""
    return sorted(
        name for name in os.listdir(_PACKAGE) if os.path.isdir(os.path.join(_PACKAGE, name, "native/kernels"))
    )


def source_stamp() -> str:
    """A checksum of the kernels' source: a library with another one is out of date.

    Each command makes it anew, so it is one that takes no time: hashlib alone needs longer to import.
    """
    stamp = 0
    for layer in layers():
        native = os.path.join(_PACKAGE, layer, "native")
        kernels = sorted(name for name in os.listdir(os.path.join(native, "kernels")) if name.endswith(".py"))
        for name in ["layout.py", *(os.path.join("kernels", name) for name in kernels)]:
            with open(os.path.join(native, name), "rb") as source:
                stamp = zlib.crc32(f"{layer}/{name}\0".encode() + source.read(), stamp)
    return f"{stamp:08x}"


@cache
def linked() -> dict[str, Kernel] | None:
    """The library's kernels by name; None where it is missing or was built of other source."""
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
