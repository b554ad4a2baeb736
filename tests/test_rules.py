"""The house's rules about size, words, tests and circles, held against every file.

What does not keep a rule yet stands in `exemptions.toml`, which may only shrink: an exemption that nothing needs any
more fails like a rule that is broken, and so does one for what is not there.
"""

import ast
import graphlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[1]
EXEMPTIONS: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/exemptions.toml").read_text())
MOST_EXEMPTIONS = {"long-files": 0, "long-functions": 0, "circles": 0, "wordless": 0}
"""How many there may be of each kind: a number here only ever gets smaller."""

FILE_LINES = 400
FUNCTION_LINES = 70
WITH_TABLES = (
    "cli", "cluster", "disk", "dump", "format", "format/messages", "format/native", "format/schemas", "format/tiers",
    "fuse", "fuse/life", "fuse/sandbox", "fuse/serve", "log", "log/tier", "revive", "search", "spark", "spark/audit",
    "spark/export", "spark/profile", "overview", "tables", "tables/typed", "view",
)  # fmt: skip
"""Packages whose docstring has a table that names each of its modules."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def sources(*directories: str) -> dict[str, str]:
    """{path from the root: text} of all Python below these directories."""
    paths = [path for directory in directories for path in sorted((ROOT / directory).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


PACKAGE = sources("kafkafs")
EVERYTHING = PACKAGE | sources("tests", "scripts")


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a file. Three of the rules ask for it."""
    return ast.parse(text)


def definitions(module: ast.AST) -> Iterator[tuple[str, Definition]]:
    """(dotted name, definition) of all functions and classes, those inside of others too; expressions hold none."""

    def inside(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Definition):
                yield prefix + child.name, child
                yield from inside(child, f"{prefix}{child.name}.")
            elif not isinstance(child, ast.expr):
                yield from inside(child, prefix)

    return inside(module, "")


def public(module: ast.AST) -> Iterator[tuple[str, Definition]]:
    """Those of them whose own name has no underscore in front. A function's own helpers are its reader's alone."""
    helpers = {
        helper
        for _, outer in definitions(module)
        if not isinstance(outer, ast.ClassDef)
        for helper in ast.walk(outer)
        if helper is not outer and not isinstance(helper, ast.ClassDef)
    }
    return (
        (name, found) for name, found in definitions(module) if not found.name.startswith("_") and found not in helpers
    )


def long_files(files: dict[str, str]) -> dict[str, int]:
    return {path: len(lines) for path, text in files.items() if len(lines := text.splitlines()) > FILE_LINES}


def long_functions(files: dict[str, str]) -> dict[str, int]:
    sizes = {
        f"{path}:{name}": (found.end_lineno or 0) - found.lineno + 1
        for path, text in files.items()
        for name, found in definitions(parsed(text))
        if not isinstance(found, ast.ClassDef)
    }
    return {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES}


def wordless(files: dict[str, str]) -> set[str]:
    """Modules and public definitions without a docstring, also where a protocol says what all of their like answer."""
    modules = {path: parsed(text) for path, text in files.items() if text.strip()}
    found = {path for path, module in modules.items() if not ast.get_docstring(module)}
    for path, module in modules.items():
        found |= {f"{path}:{name}" for name, definition in public(module) if not ast.get_docstring(definition)}
    return found


def circle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one circle, in the order of their imports; none: []."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


def assert_kept(found: dict[str, int], exempt: dict[str, int]) -> None:
    """Whatever is too long is exempt, no longer than when it was exempted, and still there."""
    assert_none((f"{name}, {lines} lines" for name, lines in found.items() if lines > exempt.get(name, 0)), "too long")
    assert_none(set(exempt) - set(found), "exempt without need")


def assert_none(names: Iterable[str], what: str) -> None:
    """With all of them in the message, a line each."""
    assert not (every := sorted(names)), f"{what}:\n" + "\n".join(every)


def test_exemptions_only_get_fewer():
    """One more is a rule that gives way; one less is here to stay."""
    found = {rule: len(exempt.get("names", exempt)) for rule, exempt in EXEMPTIONS.items()}
    assert found == MOST_EXEMPTIONS


def test_files_are_short_enough_to_read_in_one_sitting():
    assert_kept(long_files(EVERYTHING), EXEMPTIONS["long-files"])


def test_functions_fit_on_a_screen():
    assert_kept(long_functions(EVERYTHING), EXEMPTIONS["long-functions"])


def test_what_is_public_says_what_it_is_for():
    """Whoever calls it should not have to read it first."""
    found, exempt = wordless(PACKAGE), set(EXEMPTIONS["wordless"]["names"])
    assert_none(found - exempt, "without a docstring")
    assert_none(exempt - found, "exempt without need")


@pytest.mark.parametrize("package", WITH_TABLES)
def test_a_packages_table_names_each_of_its_modules(package):
    """Where a thing is, is read there first; a module that is added without a line is found by chance."""
    directory = ROOT / "kafkafs" / package
    modules = {path.stem for path in directory.glob("*.py")} | {
        path.parent.name for path in directory.glob("*/__init__.py")
    }
    reported = ast.get_docstring(ast.parse((directory / "__init__.py").read_text())) or ""
    assert_none(modules - {"__init__"} - set(re.findall(r"\w+", reported)), f"not in the docstring of {package}")


def test_each_layer_has_a_floor_of_coverage():
    """`scripts/coverage` measures: a layer that it does not name could lose its tests unseen. The tests of three layers
    run programs, which it does not look into."""
    layers = {path.split("/")[1] for path in PACKAGE if path.count("/") > 1} - {"sample", "fuse", "cli", "spark"}
    floors = re.search(r'^floors="(.*?)"', (ROOT / "scripts/coverage").read_text(), re.DOTALL | re.MULTILINE)
    assert floors is not None
    assert {floor.partition("=")[0] for floor in floors[1].split()} == layers


def test_a_lock_with_a_name_of_its_own_is_explained_in_its_classs_docstring():
    """Whoever debugs a race reads there first: CONTRIBUTING says so."""
    unsaid = [
        f"{path}:{found.name}.{lock}"
        for path, text in PACKAGE.items()
        for found in ast.walk(parsed(text))
        if isinstance(found, ast.ClassDef)
        for lock in re.findall(r"self\.(\w+)(?:, self\.\w+)* = (?:threading|trio)\.R?Lock\(", ast.unparse(found))
        if lock != "_lock" and f"`{lock}`" not in (ast.get_docstring(found) or "")
    ]
    assert_none(unsaid, "locks without a word")


def test_a_public_class_has_its_name_alone():
    """One name means one thing."""
    modules: dict[str, set[str]] = {}
    for path, text in PACKAGE.items():
        for definition in parsed(text).body:
            if isinstance(definition, ast.ClassDef) and not definition.name.startswith("_"):
                modules.setdefault(definition.name, set()).add(path)
    assert_none((f"{name} in {sorted(paths)}" for name, paths in modules.items() if len(paths) > 1), "twins")


def test_no_modules_import_each_other_in_a_circle():
    """Imports for types are imports: to understand the one, both have to be read."""
    graph = grimp.build_graph("kafkafs", cache_dir=None)
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    for importer, imported in EXEMPTIONS["circles"].items():
        imports[importer].remove(imported)
    assert circle(imports) == []
    for importer, imported in EXEMPTIONS["circles"].items():
        assert circle(imports | {importer: imports[importer] | {imported}}), f"{importer} needs no exemption any more"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"""m"""\ndef f(): pass', {"kafkafs/x.py:f"}),
        ('"""m"""\ndef _f(): pass\nclass _C:\n    def g(self): pass', {"kafkafs/x.py:_C.g"}),
        ('"""m"""\nclass C:\n    """c"""\n    def g(self): pass', {"kafkafs/x.py:C.g"}),
        ('"""m"""\ndef f():\n    """f"""\n    def g(): pass', set()),
        ('"""m"""\ndef f():\n    """f"""\n    if f:\n        async def _g(): pass', set()),
        ('"""m"""\nclass C:\n    """c"""\n    def attributes(self): pass', {"kafkafs/x.py:C.attributes"}),
        ("x = 1", {"kafkafs/x.py"}),
        ("", set()),
    ],
)
def test_the_search_for_what_is_wordless_finds_it(text, names):
    assert wordless({"kafkafs/x.py": text}) == names


def test_the_other_searches_find_what_they_look_for():
    lines = "\n".join(["    x = 1"] * 70)
    assert long_functions({"a.py": f"class C:\n  def f():\n{lines}\n  def g():\n    pass"}) == {"a.py:C.f": 71}
    assert long_files({"a.py": "\n" * 401, "b.py": "\n" * 400}) == {"a.py": 401}
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})[:2] in (["a", "b"], ["b", "c"], ["c", "a"])
    assert circle({"a": {"b"}, "b": set()}) == []
