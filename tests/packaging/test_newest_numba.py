"""Whether the kernels build with the newest numba there is, newer than the pinned one too.

Minutes and a download: by hand, KAFKAFS_NEWEST_NUMBA=1 pytest tests/packaging/test_newest_numba.py
"""

import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from tests.mounting import run

ROOT = Path(__file__).parents[2]


def test_tests_and_builds_take_the_same_numba():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = (told["build-system"]["requires"], told["project"]["optional-dependencies"]["test"])
    first, second = ([each for each in some if each.startswith("numba")] for some in needed)
    assert first == second
    assert "<" in first[0]


@pytest.mark.timeout(900)
@pytest.mark.skipif("KAFKAFS_NEWEST_NUMBA" not in os.environ, reason="by hand: KAFKAFS_NEWEST_NUMBA=1")
def test_the_kernels_build_with_the_newest(tmp_path):
    shutil.copytree(ROOT / "kafkafs", tmp_path / "kafkafs", ignore=shutil.ignore_patterns("_kernels.so", "__pycache__"))
    run(sys.executable, "-m", "venv", tmp_path / "venv", timeout=100)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--upgrade", "numba", "numpy", timeout=300)
    run(python, "-m", "kafkafs.format.native.build", cwd=tmp_path, timeout=600)
    check = "import kafkafs.format.crc as crc, numba; print(hex(crc.crc32c(b'123456789')), numba.__version__)"
    told = run(python, "-c", check, cwd=tmp_path, timeout=100).stdout.decode().split()
    print("numba", told[1])
    assert told[0] == "0xe3069283"
