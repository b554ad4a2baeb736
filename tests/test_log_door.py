"""The door of `log`: what the layers above import of it is counted, and may only get less."""

import ast
import re
import tomllib
from pathlib import Path

import kafkafs

ROOT = Path(kafkafs.__file__).parent
CONTRACT = "the layers above see log through its door"
NAMES = 54
"""Names of `log` that are seen from above, repairs, checks and dumps apart: a number that only gets smaller."""

LEFT = 1
"""Imports that go past the door by name, repairs, checks and dumps apart. A number here only ever gets smaller."""

LOOPS = {"kafkafs/log/retries.py": 2}
"""The loops that try again if files vanish (`Vanished`)."""

COMPARISONS = {
    "kafkafs/log/extents.py": 2,
    "kafkafs/log/health.py": 2,
    "kafkafs/log/lineage.py": 3,
    "kafkafs/log/listing.py": 1,
    "kafkafs/log/partition.py": 2,
    "kafkafs/log/segment.py": 4,
    "kafkafs/log/segment_files.py": 5,
    "kafkafs/log/tail.py": 3,
    "kafkafs/revive/copying.py": 1,
    "kafkafs/view/dumped_file.py": 1,
    "kafkafs/view/info.py": 1,
}
"""Comparisons of inodes, and of a batch with what is at its place: numbers that only get smaller. Whether a log is
the same is asked of `lineage`."""

REPAIRS = (
    "kafkafs.revive",
    "kafkafs.spark.audit",
    "kafkafs.spark.reindex_job",
    "kafkafs.spark.profile",
    "kafkafs.dump",
    "kafkafs.cli.dump",
)


def contract():
    contracts = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(each for each in contracts if each["name"] == CONTRACT)


def test_what_is_seen_of_log_only_gets_less():
    closed = set(contract()["forbidden_modules"])
    seen = {
        (node.module, alias.name)
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] != "log" and not _of_repairs(path)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafkafs.log.")
        for alias in node.names
        if ".".join((node.module or "").split(".")[:3]) not in closed
    }
    assert len(seen) <= NAMES, sorted(f"{module} {name}" for module, name in seen)


def _of_repairs(path: Path) -> bool:
    module = ".".join(("kafkafs", *path.relative_to(ROOT).with_suffix("").parts))
    return module.startswith(REPAIRS)


def test_imports_past_the_door_only_get_fewer():
    past = [each for each in contract()["ignore_imports"] if not each.startswith(REPAIRS)]
    assert len(past) <= LEFT, past


def test_only_two_loops_try_again():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        count = sum(_tries_again(node) for node in ast.walk(ast.parse(path.read_text())))
        if count:
            found[str(path.relative_to(ROOT.parent))] = count
    assert found == LOOPS


def test_comparisons_of_files_only_get_fewer():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        count = sum(_compares_files(node) for node in ast.walk(ast.parse(path.read_text())))
        if count and path.relative_to(ROOT).parts[0] not in ("disk", "fuse"):
            found[str(path.relative_to(ROOT.parent))] = count
    assert found == COMPARISONS


def _compares_files(node: ast.AST) -> bool:
    """True if it compares an inode, or asks whether a batch is at its place."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "is_at_its_place"
    return isinstance(node, ast.Compare) and re.search(r"inode\b|st_ino\b", ast.unparse(node)) is not None


def _tries_again(node: ast.AST) -> bool:
    """True if it is a loop without an end, or with a number of rounds, and goes on behind a Vanished."""
    is_loop = isinstance(node, ast.While) or (isinstance(node, ast.For) and "range(" in ast.unparse(node.iter))
    return is_loop and any(
        isinstance(each, ast.ExceptHandler)
        and each.type is not None
        and "Vanished" in ast.unparse(each.type)
        and not isinstance(each.body[-1], ast.Raise)
        for each in ast.walk(node)
    )
