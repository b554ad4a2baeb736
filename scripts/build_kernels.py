"""Compiles the kernels (kafkafs/format/native) with Cython: `python scripts/build_kernels.py [--checked] [--into DIR]`.

Each module of MODULES is made of some of the files there, one after the other, so that what they share is inlined. Of a
file Cython gets the functions, on the lines where they stand: what is `@native` or `@inlined` becomes a C function, and
constants, which Python has computed, become C's. A module is made anew where one of its files is newer. Run by pip
(scripts/build_hook.py) and, while kernels are worked on, by hand.

With --checked each access to memory is checked, and a debugger shows lines of Cython's source.
"""

import argparse
import ast
import contextlib
import importlib
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kafkafs.format.native import MODULES, layout

NATIVE = ROOT / "kafkafs/format/native"
_LIMITED_API = "0x030b0000"  # one build for Python 3.11 and all later ones
_ROWS = {"Batch": layout.BATCH, "Record": layout.RECORD, "Field": layout.FIELD}
_C_TYPES = {"i8": "int64_t", "i4": "int32_t", "u4": "uint32_t", "i2": "int16_t", "i1": "int8_t"}
_FLAGS = ["-O3", "-g0", "-fwrapv", "-fno-strict-aliasing", "-Wall", "-Wno-unused-function"]
_INLINE = "inline __attribute__((always_inline, unused))"  # not the compiler's choice
_X86 = ["-msse4.2", "-mpopcnt"]  # what processors of the last fifteen years have
_DIRECTIVES = "language_level=3, infer_types=True, cdivision=True, binding=False"


def _declared(name: str, value: object) -> tuple[str, str]:
    """A constant as C has it, and as Cython is told of it."""
    if isinstance(value, bytes):
        content = ",".join(map(str, value))
        lines = f"static const unsigned char KERNEL_{name}_bytes[] __attribute__((unused)) = {{{content}}};\n"
        return f"{lines}#define KERNEL_{name} ((Span){{(unsigned char *)KERNEL_{name}_bytes, {len(value)}}})", "Span"
    if isinstance(value, int):
        return f"#define KERNEL_{name} {value}ULL" if value >= 1 << 63 else f"#define KERNEL_{name} {_c_int(value)}", (
            "Word" if value >= 1 << 63 else "Int"
        )
    raise TypeError(f"{name} is neither a number nor bytes")


def _c_int(value: int) -> str:
    return f"({value + 1}LL - 1)" if value == -(1 << 63) else f"({value}LL)"


def _constants(found: dict[str, object]) -> str:
    """Cython's text for constants: numbers, bytes, and places of fields (NamedTuple)."""
    code: list[str] = []
    names: list[str] = []
    for name, value in found.items():
        if isinstance(value, tuple):
            fields: tuple[str, ...] = value._fields  # type: ignore[attr-defined]
            head = f"static const struct {{ Int {', '.join(fields)}; }} KERNEL_{name} __attribute__((unused))"
            code.append(f"{head} = {{{', '.join(map(str, value))}}};")
            names += [f"    ctypedef struct _{name}:", *(f"        Int {field}" for field in fields)]
            names.append(f'    const _{name} {name} "KERNEL_{name}"')
        else:
            line, kind = _declared(name, value)
            code.append(line)
            names.append(f'    const {kind} {name} "KERNEL_{name}"')
    text = "\n".join(code)
    return f'cdef extern from *:\n    """\n{text}\n    """\n' + "\n".join(names or ["    pass"]) + "\n"


def _rows() -> str:
    """Cython's text for the rows of tables and where each lies."""
    parts = []
    for name, dtype in _ROWS.items():
        fields = [(field, _C_TYPES[dtype[field].str[1:]]) for field in dtype.names or () if field != "padding"]
        padding = dtype.itemsize - sum(dtype[field].itemsize for field, _ in fields)
        inside = "".join(f" {kind} {field};" for field, kind in fields) + f" char padding[{padding}];" * (padding > 0)
        lower, row = name.lower(), f"{name}Row"
        parts.append(f'''cdef extern from *:
    """
    typedef struct {{{inside} }} {row};
    _Static_assert(sizeof({row}) == {dtype.itemsize}, "{row}");
    HERE {row} *{lower}_at(Span table, Int index)
    {{ return ({row} *)place(table, index * {dtype.itemsize}, {dtype.itemsize}); }}
    """
    ctypedef struct {row}:
''' + "\n".join(f"        {_cython(kind)} {field}" for field, kind in fields) + f'''
    {row} *{lower}_at(Span, Int) noexcept nogil
ctypedef {row} *{name}
''')  # fmt: skip
    return "\n".join(parts)


def _cython(c_type: str) -> str:
    return {"int64_t": "long long", "int32_t": "int", "uint32_t": "unsigned int", "int16_t": "short"}.get(
        c_type, "signed char"
    )


_WORD = re.compile(r"^HERE (void|Int) (\w+)\(([^)]*)\)|^(LOAD|STORE)\((\w+),", re.MULTILINE)


def _primitives() -> str:
    """Cython's text for the words of `primitives.h`, made from their heads there."""
    words: dict[str, str] = {}
    for result, name, arguments, macro, made in _WORD.findall((NATIVE / "primitives.h").read_text(encoding="utf-8")):
        if macro:
            words[made] = f"Int {made}(Span, Int)" if macro == "LOAD" else f"void {made}(Span, Int, Int)"
        else:
            kinds = (
                each.strip().rpartition(" ")[0] or each for each in re.sub(r"\*(\w)", r"* \1", arguments).split(",")
            )
            words[name] = f"{result} {name}({', '.join(kinds)})"
    return "\n".join([
        'cdef extern from "primitives.h":',
        *("    ctypedef long long Int", "    ctypedef unsigned long long Word"),
        *("    ctypedef struct Span:", "        Int nbytes"),
        *("    Span span(object) except *", "    Span room(object) except *"),
        *(f"    {word} noexcept nogil" for word in words.values()),
        "",
    ])  # fmt: skip


class Part:
    """One file of kernels: what Cython gets of it, and its constants."""

    def __init__(self, name: str) -> None:
        self.path = NATIVE / f"{name}.py"
        self.module = importlib.import_module(f"kafkafs.format.native.{name}")
        self._lines = self.path.read_text(encoding="utf-8").split("\n")
        self.constants: dict[str, object] = {}
        self.functions: list[str] = []
        for statement in ast.parse("\n".join(self._lines)).body:
            self._take(statement)

    def _take(self, statement: ast.stmt) -> None:
        match statement:
            case ast.ImportFrom():
                imported = [each.name for each in statement.names]
                names = vars(importlib.import_module(statement.module or "")) if imported == ["*"] else imported
                found = {name: getattr(self.module, name) for name in names if name.isupper() or imported != ["*"]}
                self.constants |= {
                    name: value for name, value in found.items() if isinstance(value, int | bytes | tuple)
                }
            case ast.Assign() | ast.AnnAssign():
                self.constants |= {name: getattr(self.module, name) for name in _assigned(statement)}
            case ast.FunctionDef(name=name) if statement.decorator_list:
                self.functions.append(name)
                self._make_native(statement)
                return
            case ast.FunctionDef(name=name) if not name.startswith("_"):
                self.functions.append(name)
                return
            case ast.Import(names=[ast.alias(name="cython")]):
                return
        for line in range(statement.lineno - 1, statement.end_lineno or 0):
            self._lines[line] = ""

    def _make_native(self, function: ast.FunctionDef) -> None:
        """The head of a C function in the place of one of Python."""
        first, last = function.decorator_list[0].lineno - 1, function.body[0].lineno - 1
        inline = "inline " if ast.unparse(function.decorator_list[0]) == "inlined" else ""
        arguments = ", ".join(f"{ast.unparse(each.annotation or each)} {each.arg}" for each in function.args.args)
        head = f"cdef {inline}{_c_result(function.returns)} {function.name}({arguments}) noexcept nogil:"
        self._lines[first:last] = [head, *[""] * (last - first - 1)]

    @property
    def text(self) -> str:
        """What Cython gets."""
        return "\n".join(self._lines)


def _c_result(annotation: ast.expr | None) -> str:
    match annotation:
        case ast.Constant(value=None):
            return "void"
        case ast.Subscript(slice=ast.Tuple(elts=kinds)):
            return f"({', '.join(map(ast.unparse, kinds))})"
    return ast.unparse(annotation) if annotation else "void"


def _assigned(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(each, ast.Name):
                yield each.id


def _write(module: str, parts: list[Part], place: Path) -> Path:
    """The text of a module, in files below `place`."""
    seen: dict[str, Path] = {}
    constants: dict[str, object] = {}
    for part in parts:
        for name in [*part.functions, *part.constants]:
            if name in seen and (name not in constants or constants[name] != part.constants.get(name)):
                raise SystemExit(f"{name} is in {part.path} and, of another meaning, in {seen[name]}")
            seen[name] = part.path
        constants |= part.constants
        (place / f"{part.path.stem}.pxi").write_text(part.text, encoding="utf-8")
    header = (NATIVE / "primitives.h").read_text(encoding="utf-8")
    (place / "primitives.h").write_text(header, encoding="utf-8")
    (place / "primitives.pxi").write_text(_primitives(), encoding="utf-8")
    (place / "layout.pxi").write_text(_rows() + _constants(constants), encoding="utf-8")
    included = ["primitives.pxi", "layout.pxi", *(f"{part.path.stem}.pxi" for part in parts)]
    lines = [f"# cython: {_DIRECTIVES}", "import cython", *(f'include "{name}"' for name in included)]
    written = place / f"{module}.pyx"
    written.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return written


def is_new(module: str, into: Path) -> bool:
    """Whether the compiled module is newer than all that it is made of."""
    made = into / f"{module}.abi3.so"
    files = [Path(__file__), *(NATIVE / f"{name}.py" for name in ("layout", *MODULES[module]))]
    files += [NATIVE / "primitives.h", NATIVE / "__init__.py"]
    return made.exists() and made.stat().st_mtime > max(file.stat().st_mtime for file in files)


def build(into: Path, *, checked: bool = False) -> list[str]:
    """Compiles what is out of date: the names of those modules."""
    into = into.resolve()
    old = [module for module in MODULES if not is_new(module, into)]
    # Cython writes the names of its sources into a module: seen from the scratch directory they are always the same
    with tempfile.TemporaryDirectory(prefix="kafkafs-kernels-") as scratch, contextlib.chdir(scratch):
        sources = {}
        for module in old:
            place = Path(module)
            place.mkdir()
            sources[module] = _write(module, [Part(name) for name in MODULES[module]], place)
        if sources:
            _compile(sources, into, checked=checked)
    return old


def _compile(sources: dict[str, Path], into: Path, *, checked: bool) -> None:
    """Compile in the current directory, and move what is made to `into`."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    flags = _FLAGS + (_X86 if sysconfig.get_platform() == "linux-x86_64" else []) + (["-g"] if checked else [])
    macros: list[tuple[str, str | None]] = [("Py_LIMITED_API", _LIMITED_API), ("CYTHON_INLINE", _INLINE)]
    macros += [("KAFKAFS_CHECKED", None)] if checked else []
    extensions = [
        Extension(
            module, [str(source)], include_dirs=[str(source.parent)], extra_compile_args=flags,
            define_macros=macros, py_limited_api=True,
        )
        for module, source in sources.items()
    ]  # fmt: skip
    processors = min(len(extensions), os.cpu_count() or 1)
    made = cythonize(extensions, nthreads=processors if processors > 1 else 0, quiet=True, emit_linenums=checked)
    command = build_ext(Distribution({"name": "kafkafs", "ext_modules": made}))
    command.build_lib, command.build_temp, command.parallel = "lib", "temp", processors
    command.ensure_finalized()
    command.run()
    for module in sources:
        (library,) = Path("lib").glob(f"{module}.*.so")
        library.replace(into / library.name) if _same_disk(library, into) else _copy(library, into / library.name)


def _same_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev


def _copy(source: Path, target: Path) -> None:
    """By a rename in the end, so that half of a library is never loaded."""
    half = target.with_suffix(".half")
    half.write_bytes(source.read_bytes())
    half.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the kernels.")
    parser.add_argument("--checked", action="store_true", help="check each access to memory")
    parser.add_argument("--into", type=Path, default=NATIVE, metavar="DIR", help="where the modules go")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    print(" ".join(build(arguments.into, checked=arguments.checked)) or "up to date", file=sys.stderr)


if __name__ == "__main__":
    main()
