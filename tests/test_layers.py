"""What import-linter cannot see of the layers: only `disk/` opens broker files, by whatever call."""

import ast
from pathlib import Path

import pytest

import kafkafs

ROOT = Path(kafkafs.__file__).parent
OPENERS = {
    "os.open", "os.fdopen", "io.open", "mmap.mmap", "np.memmap", "np.fromfile", "np.load",
    "numpy.memmap", "numpy.fromfile", "numpy.load",
}  # fmt: skip
OWN_FILES = {  # what they compiled, what they were shipped with: never data
    "format/native/library.py", "format/native/build.py", "format/messages/shipped.py",
}  # fmt: skip
PATH_READERS = {"read_bytes", "read_text", "write_bytes", "write_text"}


def openers(source: str) -> list[str]:
    """The calls in `source` that open a file, as `line: call`. A method named `open` is a node's own."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "mmap.mmap" and ast.unparse(node.args[0]) == "-1":
                continue  # memory of our own, without a file
            if name == "open" or name in OPENERS or name.rpartition(".")[2] in PATH_READERS:
                found.append(f"{node.lineno}: {name}")
    return sorted(found)


@pytest.mark.parametrize("layer", ["format", "log", "dump", "cluster", "search", "view"])
def test_a_layer_that_must_not_open_files_does_not(layer):
    """A second opener would miss what `disk/directory.py` promises the broker: few, read-only, no links followed."""
    found = {str(path.relative_to(ROOT)): openers(path.read_text()) for path in (ROOT / layer).rglob("*.py")}
    assert {path: calls for path, calls in found.items() if calls and path not in OWN_FILES} == {}


def test_the_search_for_openers_finds_them():
    assert openers("with open(p) as f: pass\nos.open(p, 0)\nnode.open()\nPath(p).read_bytes()") == [
        "1: open",
        "2: os.open",
        "4: Path(p).read_bytes",
    ]
