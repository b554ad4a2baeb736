"""`scripts/release`: what it puts into a directory is whole, and for the machines that the names say."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.mounting import run

ROOT = Path(__file__).parents[2]
MACHINES = {"x86_64": 62, "aarch64": 183}
"""By the number that stands for each in an ELF file. Source: elf.h."""


@pytest.mark.skipif("KAFKAFS_RELEASE" not in os.environ, reason="two minutes and pipx: by hand, KAFKAFS_RELEASE=1")
def test_a_release_has_a_wheel_for_each_machine_and_checksums_of_all(tmp_path):
    done = subprocess.run([ROOT / "scripts/release", tmp_path], capture_output=True, text=True, timeout=580)
    assert done.returncode == 0 or "made, and not to be published" in done.stderr, done.stderr[-3000:]
    (sdist,) = tmp_path.glob("*.tar.gz")
    version = sdist.name.removesuffix(".tar.gz").removeprefix("kafkafs-")
    assert (tmp_path / "CHANGES.md").read_text().startswith(f"## {version}, ")
    sums = run("sha256sum", "--check", "SHA256SUMS", cwd=tmp_path).stdout.decode()
    assert set(re.findall("^(.*): OK$", sums, re.M)) | {"SHA256SUMS"} == {path.name for path in tmp_path.iterdir()}
    bom = json.loads((tmp_path / f"kafkafs-{version}.cdx.json").read_text())
    assert (bom["bomFormat"], bom["metadata"]["component"]["version"]) == ("CycloneDX", version)
    assert {"numpy", "pyfuse3", "trio"} <= {each["name"] for each in bom["components"]}
    for machine, number in MACHINES.items():
        (wheel,) = tmp_path.glob(f"*-cp311-abi3-manylinux_2_28_{machine}.whl")
        with zipfile.ZipFile(wheel) as packed:
            kernels = [packed.read(name)[18:20] for name in packed.namelist() if name.endswith(".so")]
        assert {*kernels} == {number.to_bytes(2, "little")}


@pytest.mark.skipif("KAFKAFS_RELEASE" not in os.environ, reason="compiles twice: by hand, KAFKAFS_RELEASE=1")
def test_two_builds_of_a_wheel_are_the_same_bytes(tmp_path):
    """In two directories, from files of different times."""
    made = set()
    for name in ("one", "other"):
        source = tmp_path / name / "source"
        source.mkdir(parents=True)
        run("bash", "-c", f"git archive HEAD | tar -x --touch -C '{source}'", cwd=ROOT)
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", source.parent, source, timeout=300)
        (wheel,) = source.parent.glob("*.whl")
        made.add(wheel.read_bytes())
    assert len(made) == 1
