"""What a command need not wait for before it begins."""

import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

import kafkafs
from tests.log.making import made, write_partition

SPARED = {"hashlib", "importlib.metadata", "kafkafs.cli.mount", "pyfuse3", "tqdm", "trio"}
DUMP = {"kafkafs.dump.index_dump", "kafkafs.dump.json_log", "pathlib"}
VIEWS = {
    "kafkafs.cluster", "kafkafs.dump", "kafkafs.format.messages", "kafkafs.format.schemas",
    "kafkafs.fuse.life.mounting", "kafkafs.fuse.serve.operations", "kafkafs.view.info",
}  # fmt: skip


def _run(arguments: list[str], spared: set[str]) -> list[str]:
    """What the command prints, and behind it which of the modules it has imported though it need not."""
    program = (
        f"import sys; from kafkafs.cli.main import main; assert main({arguments!r}) == 0;"
        f"print(*sorted({spared!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_dump_of_a_log_imports_what_it_needs_only(tmp_path: Path) -> None:
    """Half of the time of a dump of a million records was importing."""
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"")
    assert _run(["dump", "--files", str(log)], SPARED | DUMP) == [f"Dumping {log}", "Log starting offset: 0", ""]


@pytest.mark.parametrize(
    "arguments",
    [("cat", "t-0/by-offset/1.jsonl"), ("ls", ""), ("ls", "-l", "t-0/by-time"), ("stat", "t-0/by-offset/1")],
)
def test_one_record_imports_neither_the_cluster_nor_the_dump(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The answer to one question took 187 ms more than Python with numpy takes to start; the goal is 150."""
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    command, *options, path = arguments
    *shown, imported = _run([command, *options, str(tmp_path), path or "."], SPARED | VIEWS)
    assert shown
    assert imported == ""


def test_nobody_looks_for_garbage_while_a_command_loads(tmp_path: Path) -> None:
    """A fifth of the processor time until a record is shown went there. What a command leaves is looked for as ever."""
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    program = (
        "import gc, sys; from kafkafs.cli.main import main; looks = [];"
        "gc.callbacks.append(lambda phase, about: looks.append('kafkafs.view.tree' in sys.modules));"
        f"sys.argv[1:] = ['cat', {str(tmp_path)!r}, 't-0/by-offset/1.jsonl'];"
        "assert main() == 0; print(looks.count(False), gc.isenabled(), gc.get_freeze_count() > 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["0 True True"]


def test_the_tree_of_commands_needs_nothing_that_a_build_has_not() -> None:
    """A build makes the manual of it, in an environment of its own: without tqdm `pip install .` failed."""
    program = (
        "import sys; before = set(sys.modules); from kafkafs.cli import parser; parser.build();"
        "print(*(name for name in parser.COMMANDS if 'kafkafs.cli.' + name in sys.modules));"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(tops - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    run, tops = done.stdout.split("\n", 1)
    assert run == "", "what commands do is imported when one was chosen"
    assert set(tops.split()) <= {"kafkafs", "numpy"}


def test_setup_has_compiled_the_modules() -> None:
    """Where PYTHONDONTWRITEBYTECODE is set, Python itself never would, and starts twice as slowly."""
    assert Path(cache_from_source(kafkafs.__file__)).exists()
