"""What a command need not wait for before it begins."""

import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import kafkafs

SPARED = {
    "hashlib", "importlib.metadata", "kafkafs.cli.mount", "kafkafs.dump.indexes", "kafkafs.dump.json_log",
    "numba", "pathlib", "pyfuse3", "trio",
}  # fmt: skip


def test_a_dump_of_a_log_imports_what_it_needs_only(tmp_path: Path) -> None:
    """Half of the time of a dump of a million records was importing."""
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"")
    program = (
        f"import sys; from kafkafs.cli.main import main; assert main(['dump', '--files', {str(log)!r}]) == 0;"
        f"print(*sorted({SPARED!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"Dumping {log}", "Log starting offset: 0", ""]


def test_setup_has_compiled_the_modules() -> None:
    """Where PYTHONDONTWRITEBYTECODE is set, Python itself never would, and starts twice as slowly."""
    assert Path(cache_from_source(kafkafs.__file__)).exists()
