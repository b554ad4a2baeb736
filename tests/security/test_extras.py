"""A mount by any set of extras: what a daemon cannot import in its sandbox is loaded before, or is known to be absent.

An extra that is not installed is one whose packages cannot be imported: `patched/sitecustomize.py` sees to that in the
child process that mounts.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkafs
from kafkafs.format.schemas.decoders import INSTALL
from kafkafs.fuse.sandbox.confinement import LAYERS
from tests.kafka import registered
from tests.mounting import KAFKAFS, mounting, run

ROOT = Path(__file__).parents[2]
SPARK = "pyspark,pyarrow,jinja2"
PROTOBUF = ("google.protobuf", "proto_schema_parser")
WITHOUT = {
    "all": "", "no spark": SPARK, "no schemas": ",".join(PROTOBUF), "mount only": ",".join([SPARK, *PROTOBUF]),
    "half of schemas": PROTOBUF[0], "the other half": PROTOBUF[1], "no protobuf at all": "google,proto_schema_parser",
}  # fmt: skip
"""Each combination of extras beside `mount`, and extras of which a part is there: the packages that are missing."""

OF_PROTOBUF = "kafkafs.format.schemas.protobuf"
OF_BUCKETS = "pyarrow"  # names in it are modules of its own, which importing it has loaded


def environment(absent: str) -> dict[str, str]:
    path = f"{Path(__file__).with_name('patched')}:{ROOT}"
    return os.environ | {"PYTHONPATH": path, "KAFKAFS_TEST_ABSENT": absent}


@pytest.mark.parametrize("absent", WITHOUT.values(), ids=WITHOUT)
def test_every_topic_is_served_whatever_is_installed(tmp_path: Path, absent: str) -> None:
    """Regression: the first look at Protobuf's absence was in the sandbox, and became an I/O error."""
    (place := tmp_path / "mount").mkdir()
    has_protobuf = not any(name.startswith(("google", "proto_")) for name in absent.split(","))
    command: list[str | Path] = [KAFKAFS, "mount", registered.data(), place]
    with mounting(command, place, tmp_path / "log", env=environment(absent)) as mounted:
        for topic in sorted({case.topic for case in registered.cases()}):
            cases = [case for case in registered.cases() if case.topic == topic]
            for _ in range(2):
                lines = run("cat", mounted / f"{topic}-0/by-offset/0...decoded.jsonl").stdout.splitlines()
                for case, line in zip(cases, lines, strict=True):
                    reported, is_protobuf = json.loads(line), "PROTOBUF" in str(case.shown)
                    if has_protobuf or not is_protobuf:
                        assert reported.get("value") == case.shown.get("value")
                    else:
                        assert INSTALL in reported.get("valueError", "") + reported.get("keyError", ""), reported
        assert "Traceback" not in mounted.log
        assert "bug" not in mounted.log


def imported(path: Path) -> Iterator[str]:
    """The modules that a source file imports anywhere, in functions too; but not for types alone."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        waiting += ast.iter_child_nodes(node)


def modules_of_serving() -> set[str]:
    """Whatever the layers that serve import anywhere, and names in them, of which not all are modules."""
    package = Path(kafkafs.__file__).parent
    paths = {path for layer in LAYERS for path in [*package.glob(f"{layer}.py"), *package.glob(f"{layer}/**/*.py")]}
    return {name for path in paths if "native" not in path.parts for name in imported(path)}


LOOK = """
import importlib, sys
from kafkafs.fuse.sandbox import confinement
for name in confinement.ON_DEMAND:
    importlib.import_module(name)
confinement.load_everything()
confinement.close_imports()
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError:
        package, _, own = name.rpartition(".")
        if not hasattr(sys.modules.get(package), own):
            print(name)
"""


@pytest.mark.parametrize("absent", ["", *PROTOBUF])
def test_what_serving_imports_anywhere_is_loaded_before_the_sandbox_closes(absent: str) -> None:
    """Or it is of an extra that is not there: then it is an ImportError, as everywhere else. (Here a tier is given.)"""
    names = "\n".join(sorted(modules_of_serving())).encode()
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, input=names, capture_output=True, env=environment(absent), timeout=300, check=True)
    missing = [name for name in done.stdout.decode().split() if not name.startswith(OF_BUCKETS)]
    if absent:
        assert missing
        assert all(name.startswith((*PROTOBUF, OF_PROTOBUF)) for name in missing), missing
    else:
        assert missing == []


def test_what_was_not_loaded_is_absent_once_the_sandbox_has_closed() -> None:
    """A module that is there, but whose file may not be opened, would be an error that nobody expects."""
    script = "from kafkafs.fuse.sandbox import confinement\nconfinement.close_imports()\nimport this"
    done = run(sys.executable, "-c", script, check=False)
    assert b"ModuleNotFoundError: No module named 'this'" in done.stderr
