"""`primitives.h` and its twin `primitives.py`: each word of C says and writes what the Python of its name does."""

import ctypes
import random
import re
import runpy
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkafs.format.native import checksum, primitives, text

HERE = Path(primitives.__file__).parent
FLAGS = runpy.run_path(str(HERE.parents[2] / "scripts/build_kernels.py"), run_name="build_kernels")
BUILDS = {"x86-64": FLAGS["_X86"], "any other": ["-U__SSE2__"]}
SIZE = 64
"""Bytes of what is loaded from and stored to."""

NUMBERS = [0, 1, -1, 2, 9, 10**8, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
OFFERED = {"place", "sixteen", "span", "room"}
"""What `primitives.h` has for itself, and for the edge to Python."""

LOADED = ("u8", "i8", "i16", "i32", "u32", "i64", "i16be", "i32be", "u32be", "i64be")
WORDS = {
    **{f"load_{kind}": "data at" for kind in LOADED},
    **{f"store_{bits}": "out at value" for bits in (8, 16, 32, 64)},
    "shift_right": "value shift", "divide": "value positive", "floor_divide": "value positive", "population": "value",
    "trailing_zeros": "other", "leading_zeros": "other", "round_to_odd": "value value value",
    "widen_float": "value", "narrow_double": "value", "double_of": "value", "put": "out at literal",
    "copy_16": "out at data at", "copy_bytes": "out at data at count", "same_bytes": "data at data at count",
    "equal_16": "data at byte", "specials": "data at", "quoted": "data at", "escape_8": "out at data at byte patterns",
    "crc_step": "register value table",
}  # fmt: skip
"""What each takes."""

SPANS = {"data", "out", "patterns", "table"}


def drawn(kind: str, chance: random.Random) -> Any:
    """An argument of that kind; places leave room for sixteen bytes."""
    match kind:
        case "data" | "out":
            few = chance.random() < 0.5
            return bytearray(chance.choices(b'"\\a\x7f\x1f \xff', k=SIZE) if few else chance.randbytes(SIZE))
        case "patterns":
            return bytearray(text._ESCAPE_PATTERNS)
        case "table":
            return bytearray(checksum._CRC32C_BYTE)
        case "literal":
            return chance.choice([b"", b'":"', b"sixteen bytes..."])
        case "at" | "count":
            return chance.randrange(SIZE // 2) if kind == "at" else chance.randrange(SIZE // 2 + 1)
        case "byte" | "shift" | "register":
            return chance.randrange({"byte": 256, "shift": 64, "register": 1 << 32}[kind])
    number = chance.choice([*NUMBERS, chance.randrange(-(2**63), 2**63), chance.randrange(-99, 99)])
    return number or 1 if kind == "other" else abs(number) % 2**63 or 1 if kind == "positive" else number


def wrapper(name: str) -> str:
    """A function of C that a foreign caller can call: a span as its place and its size."""
    taken, given = [], []
    for number, kind in enumerate(WORDS[name].split()):
        if kind in SPANS:
            taken += [f"unsigned char *p{number}", f"Int n{number}"]
            given.append(f"(Span){{p{number}, n{number}}}")
        else:
            taken.append(f"{'const char *' if kind == 'literal' else 'Int '}a{number}")
            given.append(f"a{number}")
    call = f"{name}({', '.join(given)})"
    does = f"{call}; return 0;" if name.startswith(("store", "copy", "escape")) else f"return {call};"
    return f"Int word_{name}({', '.join(taken)}) {{ {does} }}\n"


@pytest.fixture(scope="module", params=BUILDS)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The words as the kernels have them, for this processor and for others."""
    place = tmp_path_factory.mktemp("primitives")
    source, library = place / "words.c", place / "words.so"
    source.write_text('#include <Python.h>\n#include "primitives.h"\n' + "".join(map(wrapper, WORDS)))
    command = ["gcc", "-shared", "-fPIC", *FLAGS["_FLAGS"], *BUILDS[request.param], f"-I{HERE}"]
    subprocess.run(
        [*command, f"-I{sysconfig.get_path('include')}", source, "-o", library, "-Wl,--unresolved-symbols=ignore-all"],
        check=True, timeout=300,
    )  # fmt: skip
    return ctypes.CDLL(str(library))


def call_compiled(word: Any, arguments: list[Any]) -> int:
    taken: list[Any] = []
    for argument in arguments:
        if isinstance(argument, bytearray):
            taken += [(ctypes.c_ubyte * len(argument)).from_buffer(argument), ctypes.c_longlong(len(argument))]
        else:
            taken.append(argument if isinstance(argument, bytes) else ctypes.c_longlong(argument))
    word.restype = ctypes.c_longlong
    return int(word(*taken))


@pytest.mark.parametrize("name", WORDS)
def test_both_say_and_write_the_same(compiled: ctypes.CDLL, name: str) -> None:
    """A kernel is stepped through as Python and runs as C: a difference shows where nobody can look any more."""
    chance, in_python = random.Random(name), getattr(primitives, name)
    for _ in range(300):
        arguments = [drawn(kind, chance) for kind in WORDS[name].split()]
        copies = [bytearray(each) if isinstance(each, bytearray) else each for each in arguments]
        views = [memoryview(each) if isinstance(each, bytearray) else each for each in copies]
        said, expected = call_compiled(compiled[f"word_{name}"], arguments), in_python(*views) or 0
        assert said & primitives.ALL == int(expected) & primitives.ALL, arguments
        assert arguments == copies


def test_each_word_has_its_twin_and_stands_here() -> None:
    header = (HERE / "primitives.h").read_text()
    in_c = set(re.findall(r"^HERE \S+ \*?(\w+)\(|^(?:LOAD|STORE)\((\w+),", header, re.MULTILINE))
    assert {name for pair in in_c for name in pair if name} - OFFERED == set(WORDS)
    assert all(isinstance(getattr(primitives, name), Callable) for name in WORDS)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, kinds in WORDS.items() if SPANS & {*kinds.split()[:1]}])
@pytest.mark.parametrize("at", [-1, SIZE])
def test_uncompiled_no_word_reaches_outside(name: str, at: int) -> None:
    """Where it happens, as an IndexError; at the end of a buffer as in front of it."""
    chance = random.Random(1)
    arguments = [at if kind == "at" else drawn(kind, chance) for kind in WORDS[name].split()]
    arguments = [memoryview(each) if isinstance(each, bytearray) else each for each in arguments]
    arguments = [b"x" if kind == "literal" else 1 if kind == "count" else each
                 for kind, each in zip(WORDS[name].split(), arguments, strict=True)]  # fmt: skip
    with pytest.raises(IndexError, match="a kernel reached for bytes"):
        getattr(primitives, name)(*arguments)
