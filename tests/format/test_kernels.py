"""The kernels: nothing outside their buffers, whatever the bytes; the same without a compiler; a sentence without."""

import importlib.metadata
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import kafkafs
from tests.kafka import cache

ROOT = Path(kafkafs.__file__).parent.parent
BUILD = ROOT / "scripts/build_kernels.py"
NATIVE = ROOT / "kafkafs/format/native"


def run(code: str, *arguments: str, kernels: str | Path = "") -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own, with the kernels that KAFKAFS_KERNELS says."""
    environment = os.environ | {"KAFKAFS_KERNELS": str(kernels)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=environment,
    )  # fmt: skip


def compiled(*arguments: str, **environment: str) -> Path:
    """The kernels as these arguments and variables make them, once of the same sources: it takes a dozen seconds."""
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, check=True).stdout
    versions = (sys.version, sysconfig.get_platform(), importlib.metadata.version("cython"))
    described = (*versions, os.environ.get("CFLAGS"), arguments, environment)
    files = [BUILD, *sorted(path for path in NATIVE.iterdir() if path.suffix in {".py", ".pxi", ".h"})]

    def make(place: Path) -> None:
        command: list[str | Path] = [sys.executable, BUILD, *arguments, "--into", place]
        subprocess.run(command, check=True, timeout=300, env=os.environ | environment)

    inputs = (part for path in files for part in (path.name.encode(), path.read_bytes()))
    return cache.once_of("kernels", (compiler, repr(described).encode(), *inputs), make)


@pytest.fixture(scope="module")
def checked():
    """The same kernels with each access checked."""
    return compiled("--checked")


def test_no_kernel_reads_or_writes_outside_its_buffers():
    """A read over the end is silent until the page behind it is somebody's; so here it is nobody's (SIGSEGV)."""
    done = run("from tests.format.hostile import main; main()")
    assert done.returncode == 0, done.stderr[-2000:] or f"signal {-done.returncode}"
    assert int(done.stdout.split()[0]) > 20_000


def test_no_kernel_does_so_before_its_buffers_or_between_them(checked):
    """Every access of the checked build is held against its own buffer; a wrong one ends the process."""
    done = run("from tests.format.hostile import main; main()", kernels=checked)
    assert done.returncode == 0, done.stderr[-2000:] or f"signal {-done.returncode}"
    assert int(done.stdout.split()[0]) > 20_000


def test_the_checked_build_checks(checked):
    """What is wrong on purpose: a place behind the end, and a table that is too small."""
    for wrong in ("kernels.is_text(b'abc', 1, 3)", "kernels.walk(bytes(99), 0, 0, False, bytearray(10), 1)"):
        code = f"from kafkafs.format import kernels\ndata = bytes(15) + b'\\2' + bytes(83)\n{wrong}"
        code = code.replace("bytes(99)", "b'\\0' * 8 + b'\\0\\0\\0\\x57' + bytes(4) + b'\\2' + bytes(82)")
        done = run(code, kernels=checked)
        assert "a kernel reached for bytes" in done.stderr, (wrong, done.stderr)
        assert done.returncode < 0


HOSTILE = """
import random
from tests.format import hostile
chance = random.Random(8)
for seed in hostile.seeds() * 6:
    print(hostile.outcome(hostile.mutated(seed, chance), verify=chance.random() < 0.3))
"""


def test_uncompiled_kernels_say_the_same():
    """Under a debugger one must see what a mount does. Their memory is checked, too: an IndexError."""
    here, uncompiled = run(HOSTILE), run(HOSTILE, kernels="python")
    assert uncompiled.stdout == here.stdout, uncompiled.stderr
    assert here.stdout.count("\n") > 50


def test_other_processors_get_the_same_answers():
    """What is one instruction on x86-64 is a row of others elsewhere; both must agree."""
    plain = compiled(CFLAGS="-U__SSE2__", _PYTHON_HOST_PLATFORM="linux-riscv64")
    here, elsewhere = run(HOSTILE), run(HOSTILE, kernels=plain)
    assert elsewhere.stdout == here.stdout, elsewhere.stderr


def test_the_compiled_kernels_are_those_of_the_source():
    """A module that is older than its source would have other rows: wrong offsets without any error."""
    build = runpy.run_path(str(BUILD))
    for module in build["MODULES"]:
        assert build["is_new"](module, build["NATIVE"]), f"{module} is old: python scripts/build_kernels.py"


def test_a_mount_needs_no_compiler_at_run_time():
    """Cython would cost it memory and time."""
    done = run(
        "import sys; import kafkafs.format.records, kafkafs.format.jsonl; from kafkafs.format.kernels import crc32c\n"
        "assert crc32c(b'123456789') == 0xE3069283\n"
        "print(sorted(name for name in ('Cython', 'cython') if name in sys.modules))"
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.fixture
def bare_copy(tmp_path):
    """The package's sources elsewhere, without compiled kernels."""
    shutil.copytree(ROOT / "kafkafs", tmp_path / "kafkafs", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return tmp_path


CHECK = "import sys; sys.path.insert(0, sys.argv[1])\n"
CHECK += "from kafkafs.format.kernels import crc32c; print(crc32c(b'123456789'))"


def test_without_kernels_one_sentence_says_what_to_do(bare_copy):
    """An installation that lost its kernels is repaired by its user, not debugged."""
    done = run(CHECK, str(bare_copy))
    assert "run scripts/setup" in done.stderr.splitlines()[-1]


def test_out_of_a_zip_file_one_sentence_says_how_to_ship_it(bare_copy):
    """As Spark's --py-files would run it: no system loads a compiled module from there."""
    archive = shutil.make_archive(str(bare_copy / "shipped"), "zip", bare_copy, "kafkafs")
    done = run(CHECK, archive)
    assert f"out of {archive}: " in done.stderr.splitlines()[-1]
    assert "--archives, not --py-files" in done.stderr.splitlines()[-1]
