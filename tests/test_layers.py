"""What import-linter does not see: only `disk` opens broker files, by whatever call; who in `format` knows schemas."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import grimp
import pytest

import kafkafs

ROOT = Path(kafkafs.__file__).parent
OPENERS = {
    "os.open", "os.fdopen", "io.open", "mmap.mmap", "np.memmap", "np.fromfile", "np.load",
    "numpy.memmap", "numpy.fromfile", "numpy.load",
}  # fmt: skip
OWN_FILES = {  # what they compiled, what they were shipped with: never data
    "format/messages/schema.py",
    "log/tier/sources.py",  # keys that a user names
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


@pytest.mark.parametrize("layer", ["format", "log", "dump", "cluster", "search", "tables", "view", "overview"])
def test_a_layer_that_must_not_open_files_does_not(layer):
    """A second opener would miss what `local_directory` promises the broker: few, read-only, no links followed."""
    found = {str(path.relative_to(ROOT)): openers(path.read_text()) for path in (ROOT / layer).rglob("*.py")}
    assert {path: calls for path, calls in found.items() if calls and path not in OWN_FILES} == {}


@pytest.fixture(scope="module")
def imports():
    """The graph of all imports, those for types too."""
    return grimp.build_graph("kafkafs")


UPPER = {"decoding", "messages", "schemas"}


def test_of_format_only_what_decodes_knows_schemas(imports):
    """A batch is parsed without Kafka's schemas, and without Avro: they take longer to import than most commands do."""
    knowing = {
        f"{module} -> {known}"
        for module in imports.modules
        if module.startswith("kafkafs.format.") and module.split(".")[2] not in UPPER
        for known in imports.find_modules_directly_imported_by(module)
        if known.startswith("kafkafs.format.") and known.split(".")[2] in UPPER
    }
    assert knowing == set()


def test_one_drawing_stands_wherever_layers_are_drawn():
    """In the package's docstring, the guide to the code, and as the name of the contract that holds it."""
    root = ROOT.parent
    lines = re.compile(r"(errors <- .* <- cli)\W+(cluster, search <- .* <- cli)\b")
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    drawn = (ROOT / "__init__.py").read_text(), (root / "docs/code.md").read_text(), contracts[0]["name"]
    first, second, third = (found.groups() for text in drawn if (found := lines.search(text)))
    assert first == second == third


def test_no_import_goes_against_the_drawing(imports):
    """What is drawn side by side does not import each other; each imports what stands left of it, in any line."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for line in re.findall(r"^ +(\w+.* <- cli)$", kafkafs.__doc__ or "", re.M):
        left: set[str] = set()
        for together in line.split(" <- "):
            names = together.split(", ")
            for name in names:
                below[name] |= left | {lower for each in left for lower in below[each]}
            left |= set(names)
    against = {
        f"{importer} -> {imported}"
        for importer in imports.modules
        for imported in imports.find_modules_directly_imported_by(importer)
        if (own := importer.partition(".")[2].partition(".")[0]) in below
        if (other := imported.partition(".")[2].partition(".")[0]) in below
        if own != other and other not in below[own]
    }
    assert len(below) == 14
    assert against == set()


def test_the_search_for_openers_finds_them():
    assert openers("with open(p) as f: pass\nos.open(p, 0)\nnode.open()\nPath(p).read_bytes()") == [
        "1: open",
        "2: os.open",
        "4: Path(p).read_bytes",
    ]


DOOR = {
    "data_directory", "health", "lineage", "log", "look", "meta_properties", "partition", "places", "read_options",
    "reading", "replicas", "segment", "tiered", "topic_choice",
}  # fmt: skip
"""The modules of `log` that the layers above may import. A new module is closed: `pyproject.toml` lists it as such."""

BELOW_THE_DOOR = {"errors", "installation", "format", "disk", "log"}


def test_the_contract_of_the_door_names_all_layers_above_and_all_that_is_closed():
    contracts = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    contract = next(each for each in contracts if each["name"] == "the layers above see log through its door")
    names = {path.stem for path in (ROOT / "log").iterdir() if not path.stem.startswith("_")}
    layers = {path.stem for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert set(contract["source_modules"]) == {f"kafkafs.{name}" for name in layers - BELOW_THE_DOOR}
    assert set(contract["forbidden_modules"]) == {f"kafkafs.log.{name}" for name in names - DOOR}
