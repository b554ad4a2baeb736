"""The kernels: nothing outside their buffers, whatever the bytes; and they are there however kafkafs is run."""

import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest

import kafkafs
from kafkafs.format import native
from kafkafs.format.native.layout import RECORD
from kafkafs.format.native.library import LIBRARY

ROOT = Path(kafkafs.__file__).parent.parent


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )


def test_no_kernel_reads_or_writes_outside_its_buffers():
    """A read over the end is silent until the page behind it is somebody's; so here it is nobody's (SIGSEGV)."""
    done = run("from tests.format.hostile import main; main()")
    assert done.returncode == 0, done.stderr[-2000:] or f"signal {-done.returncode}"
    assert int(done.stdout.split()[0]) > 20_000


def test_a_mount_needs_no_compiler_at_run_time():
    """numba would cost it 110 MB and a second of its first cat."""
    done = run(
        "import sys; import kafkafs.format.records, kafkafs.format.jsonl; from kafkafs.format.crc import crc32c\n"
        "assert crc32c(b'123456789') == 0xE3069283\n"
        "print(sorted(name for name in ('numba', 'llvmlite') if name in sys.modules))"
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.fixture
def bare_copy(tmp_path):
    """The package's sources elsewhere, without the library."""
    shutil.copytree(ROOT / "kafkafs", tmp_path / "kafkafs", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return tmp_path


CHECK = "import sys; sys.path.insert(0, sys.argv[1])\n"
CHECK += "from kafkafs.format.crc import crc32c; print(crc32c(b'123456789'))"


def test_without_the_library_numba_compiles_the_same_kernels(bare_copy):
    """A checkout in which nobody has built works too, only slowly."""
    assert run(CHECK, str(bare_copy)).stdout.strip() == str(0xE3069283)


def test_a_library_of_other_source_is_not_used(bare_copy):
    """Its rows might have other fields: wrong offsets without any error."""
    shutil.copy(LIBRARY, bare_copy / "kafkafs/format/native/_kernels.so")
    layout = bare_copy / "kafkafs/format/native/layout.py"
    layout.write_text(layout.read_text() + "\n# changed\n")
    done = run(CHECK + "; print('numba' in sys.modules)", str(bare_copy))
    assert done.stdout.split() == [str(0xE3069283), "True"], done.stderr


def test_without_library_and_numba_one_sentence_says_what_to_do(bare_copy):
    """An installation that lost its library is repaired by its user, not debugged."""
    done = run("import sys; sys.modules['numba'] = None\n" + CHECK, str(bare_copy))
    assert "run scripts/setup" in done.stderr.splitlines()[-1]


def test_out_of_a_zip_file_one_sentence_says_how_to_ship_it(bare_copy):
    """As Spark's --py-files would run it: no system loads a library from there."""
    archive = shutil.make_archive(str(bare_copy / "shipped"), "zip", bare_copy, "kafkafs")
    done = run("import sys; sys.modules['numba'] = None\n" + CHECK, archive)
    assert f"out of {archive}: " in done.stderr.splitlines()[-1]
    assert "--archives, not --py-files" in done.stderr.splitlines()[-1]


def test_other_processors_get_the_same_answers(bare_copy):
    """What is one instruction on x86-64 is a row of others elsewhere; both must agree."""
    code = """
import os, platform, sys
os.environ["NUMBA_OPT"] = "0"  # it takes a minute otherwise
platform.machine = lambda: "riscv64"
sys.path.insert(0, sys.argv[1])
from tests.format.golden import V2
from tests.format.batch_maker import v2_batch
from kafkafs.format.batches import walk
from kafkafs.format.records import decode
from kafkafs.format.native.kernels import machine
from kafkafs.format.jsonl import JsonLines
assert not machine.X86
data = v2_batch([record._replace(value=b'say "x" to C:\\\\') for record in V2])
rows = walk(data, 0).rows
assert rows["valid"].all()
for records in decode(data, 0, rows, 1 << 20):
    sys.stdout.write(b"".join(JsonLines("t", 0).pieces(records)).decode())
"""
    here = code.replace('platform.machine = lambda: "riscv64"', "").replace("assert not machine.X86", "")
    elsewhere, ours = run(code, str(bare_copy)), run(here, str(ROOT))
    assert elsewhere.stdout == ours.stdout, elsewhere.stderr
    assert ours.stdout.count("\n") == 3


@pytest.mark.parametrize(
    "buffer", [b"bytes", bytearray(3), memoryview(b"view")[1:], array("q", [1]), np.empty(5, RECORD), np.empty(9)[3:]]
)
def test_an_address_is_where_the_bytes_begin(buffer):
    view = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    assert native.address(buffer) == view.ctypes.data
