"""What `pip install kafkafs` brings: built by the standard tools, installed far from the repository, and working."""

import email
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.mounting import mounting, run

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "docs/changelog.md").read_text()
NATIVE = "kafkafs/format/native"
BUILD = (sys.executable, "-m", "build", "--no-isolation")


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="kafkafs-install-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def sdist(scratch: Path) -> Path:
    run(*BUILD, "--sdist", "--outdir", scratch, ROOT, timeout=300)
    return next(scratch.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(scratch: Path, sdist: Path) -> Path:
    """Built from the sdist alone; the kernels, which scripts/setup has compiled already, are put in place."""
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
    source = scratch / sdist.name.removesuffix(".tar.gz")
    for library in (ROOT / NATIVE).glob("*.so"):
        shutil.copy(library, source / NATIVE)
    run(*BUILD, "--wheel", "--outdir", scratch, source, timeout=300)
    return next(scratch.glob("*.whl"))


@pytest.fixture(scope="module")
def root(scratch: Path, wheel: Path) -> Path:
    """What stands for `/` after the commands of docs/operation.md, of which scripts/setup does the first."""
    root = scratch / "root"
    for name in ("usr/local/bin", "usr/local/share", "sbin", "etc/systemd/system"):
        (root / name).mkdir(parents=True)
    page = (ROOT / "docs/operation.md").read_text()
    packages, *commands = page.split("```sh\n")[1].split("```")[0].splitlines()
    assert packages.startswith("apt-get install ")
    for command in commands:
        here = re.sub(r"(?<= )/", f"{root}/", f" {command}").replace(
            "pip install '.[mount]'", f"pip install --quiet '{wheel}[mount]'"
        )
        run("bash", "-ec", here, timeout=300, cwd=scratch, env=environment(Path(sys.executable).parent))
    return root


@pytest.fixture(scope="module")
def installed(root: Path) -> Path:
    """The prefix of the fresh virtual environment with the wheel and what it asks for."""
    return root / "opt/kafkafs"


def environment(*first: Path) -> dict[str, str]:
    """Without this test's own virtual environment, unless it is named to come `first`.

    pip compiles no module: it would compile all that numpy has, of which what runs here needs little.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return kept | {"PATH": ":".join([*map(str, first), usual]), "PIP_NO_COMPILE": "1"}


def test_what_the_page_tells_to_link_and_to_copy_is_there(root):
    """Whoever follows the page must find commands, units, man pages and completions in their places."""
    for command in ("usr/local/bin/kafkafs", "sbin/mount.kafkafs"):
        assert run(root / command, "--version", env=environment(), cwd="/").stdout == b"kafkafs 0.4.0\n"
    assert {path.name for path in (root / "etc/systemd/system").iterdir()} == {
        path.name for path in (ROOT / "scripts/systemd").iterdir()
    }
    shared = (
        "man/man1/kafkafs.1",
        "man/man7/kafkafs-queries.7",
        "man/man8/mount.kafkafs.8",
        "bash-completion/completions/kafkafs",
    )
    assert all((root / "usr/local/share" / name).is_file() for name in (*shared, "zsh/site-functions/_kafkafs"))


def test_the_wheel_holds_the_kernels_the_pages_and_the_units(wheel):
    """Without the compiled kernels nothing runs."""
    names = set(zipfile.ZipFile(wheel).namelist())
    data = wheel.name.split("-cp311")[0] + ".data/data"
    assert {f"{NATIVE}/{name}.abi3.so" for name in ("_fields", "_lines", "_records")} <= names
    assert "kafkafs/sample/kafka-logs.tar.gz" in names
    pages = ("man1/kafkafs.1", "man7/kafkafs-queries.7", "man8/mount.kafkafs.8")
    shared = (*(f"share/man/{page}" for page in pages), "lib/systemd/system/kafkafs.service")
    completions = ("share/bash-completion/completions/kafkafs", "share/zsh/site-functions/_kafkafs")
    assert {f"{data}/{name}" for name in (*shared, *completions)} <= names
    assert not any("tests" in name for name in names)
    assert "linux" in wheel.name.split("-")[-1]  # the kernels belong to a platform


def test_the_metadata_bring_the_changelog(wheel):
    """An index, and `pip` after it, show what the metadata hold: there is no page that they could lead to."""
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        reported = email.message_from_bytes(packed.read(name))
    content = reported.get_payload(decode=True)
    assert isinstance(content, bytes)
    shown = content.decode()
    assert reported["Description-Content-Type"] == "text/markdown"
    assert [line for line in shown.splitlines() if line.startswith("# ")][:1] == ["# kafkafs"]
    assert CHANGELOG in shown
    releases = {each.rpartition(" ")[2] for each in reported.get_all("Classifier", []) if "Python :: 3." in each}
    assert releases == {"3.11", "3.12", "3.13", "3.14"}


def test_a_checkout_brings_its_pages_too(scratch):
    """After `scripts/demo` and `pip install -e .` there was no man page, and no completion."""
    program = "import sys, hatchling.build; hatchling.build.build_editable(sys.argv[1])"
    (scratch / "editable").mkdir()
    run(sys.executable, "-c", program, scratch / "editable", cwd=ROOT, timeout=300)
    (made,) = (scratch / "editable").glob("*.whl")
    names = zipfile.ZipFile(made).namelist()
    for page in ("man/man1/kafkafs.1", "bash-completion/completions/kafkafs", "zsh/site-functions/_kafkafs"):
        assert any(name.endswith(f".data/data/share/{page}") for name in names)


def test_auditwheel_confirms_the_platform(wheel):
    """A wheel that claims less than it needs does not load on older systems; one that claims more is refused by pip."""
    assert wheel.name.endswith(f"-cp311-abi3-manylinux_2_28_{platform.machine()}.whl")
    shown = run(Path(sys.executable).with_name("auditwheel"), "show", wheel, timeout=300).stdout.decode()
    found = re.search(r'consistent with the following platform tag:\s*"manylinux_2_(\d+)_', " ".join(shown.split()))
    assert found is not None, shown
    assert int(found[1]) <= 28


@pytest.fixture(scope="module")
def bare(scratch: Path, wheel: Path) -> Path:
    """A fresh environment without the extras: neither pyfuse3 nor trio, no libfuse3 to build them with."""
    prefix = scratch / "bare"
    run(sys.executable, "-m", "venv", prefix, env=environment(), timeout=300)
    run(prefix / "bin/pip", "install", "--quiet", wheel, env=environment(), timeout=300)
    return prefix


@pytest.mark.slow
def test_without_extras_all_but_the_mount_works(scratch, bare, wheel):
    """In a container's image there is no libfuse3 to build pyfuse3 with; a mount says what to install."""
    data = unpack(scratch / "for-bare")
    questions: dict[bytes, list[str | Path]] = {
        b"test-0": ["ls", data],
        b"message 23400": ["cat", data, "test-0/by-offset/23400.value"],
        b"baseOffset: 23147": ["dump", "--files", data / "test-0" / f"{23147:020}.log"],
    }
    for answer, question in questions.items():
        assert answer in run(bare / "bin/kafkafs", *question, env=environment(), cwd="/").stdout
    place = scratch / "bare-mount"
    place.mkdir()
    done = run(bare / "bin/kafkafs", "mount", data, place, check=False, env=environment(), cwd="/")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"{bare}/bin/pip install '{wheel}[mount]' (and libfuse3" in done.stderr.decode()


def test_the_sdist_holds_what_scripts_and_tests_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"scripts/setup", "scripts/test", "tests/conftest.py", "README.md", "LICENSE", "pyproject.toml"} <= names
    assert not any(name.endswith((".so", ".pyc")) for name in names)


def test_a_fresh_environment_says_its_version_and_mounts(scratch, installed):
    version = run(installed / "bin/kafkafs", "--version", env=environment(), cwd="/").stdout.decode()
    assert version == "kafkafs 0.4.0\n"
    place = scratch / "mount"
    place.mkdir()
    command = [installed / "bin/kafkafs", "mount", unpack(scratch), place]
    with mounting(command, place, scratch / "log", env=environment(), cwd="/") as mounted:
        line = json.loads(run("cat", mounted / "test-0/by-offset/23400.jsonl").stdout)
        assert line["value"] == "message 23400........"
        assert "a system call filter" in mounted.log  # confined: so the kernels were there
        assert "WARNING" not in mounted.log


def test_without_the_extra_a_page_says_what_to_install(scratch, installed, wheel):
    """A traceback about a missing module helps nobody, nor does a name that is on no index."""
    command = [installed / "bin/kafkafs", "profile", unpack(scratch / "for-profile"), "--html", scratch / "page.html"]
    done = run(*command, check=False, env=environment(), cwd="/")
    assert done.returncode in (1, 2)
    assert f"{installed}/bin/pip install '{wheel}[tables]'" in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_an_audit_works(scratch, installed):
    """On a broker's machine it needs nothing but the base installation."""
    done = run(installed / "bin/kafkafs", "audit", unpack(scratch / "for-audit"), env=environment(), cwd="/")
    assert done.stdout == b""


def test_the_man_page_says_what_help_says(installed):
    page = installed / "share/man/man1/kafkafs.1"
    shown = subprocess.run(["man", "-l", page], capture_output=True, text=True, env=environment() | {"MANWIDTH": "120"})
    assert "kafkafs - mount a Kafka data directory" in shown.stdout
    options = run(installed / "bin/kafkafs", "mount", "--help", env=environment()).stdout.decode()
    for word in ("isolation=LEVEL", "max_batch=SIZE", "--background", "--log-file"):
        assert word in options
        assert word in shown.stdout
    warnings = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, env=environment())
    assert warnings.stderr == ""


def test_the_language_of_names_has_a_page_of_its_own(installed):
    """`man kafkafs-queries`; `man kafkafs` teaches it too."""
    for page in ("man7/kafkafs-queries.7", "man1/kafkafs.1"):
        command = ["man", "--warnings", "-l", installed / "share/man" / page]
        shown = subprocess.run(command, capture_output=True, text=True, env=environment() | {"MANWIDTH": "120"})
        assert shown.stderr == ""
        for word in ("by-time/-1h...jsonl", ".follow.jsonl", "half-open", "No data available"):
            assert word in shown.stdout


def test_completions_offer_commands_and_options(installed):
    script = installed / "share/bash-completion/completions/kafkafs"
    shown = run(
        "bash",
        "-c",
        f'source {script}; COMP_WORDS=(kafkafs ""); COMP_CWORD=1; _shtab_kafkafs; echo "${{COMPREPLY[*]}}"',
    ).stdout.decode()
    assert {"mount", "umount", "dump", "audit", "demo"} <= set(shown.split())
    run("zsh", "-n", installed / "share/zsh/site-functions/_kafkafs")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", {"isolation=read_committed", "isolation=read_uncommitted", "corrupt=skip", "max_batch=", "allow_other"}),
        ("iso", {"isolation=read_committed", "isolation=read_uncommitted"}),
        ("corrupt=skip,cac", {"corrupt=skip,cache=keep"}),
    ],
)
def test_completions_know_the_options_of_a_mount(installed, typed, offered):
    """Nobody remembers them."""
    script = installed / "share/bash-completion/completions/kafkafs"
    words = f'COMP_WORDS=(kafkafs mount -o "{typed}"); COMP_CWORD=3; _shtab_kafkafs; echo "${{COMPREPLY[*]}}"'
    shown = set(run("bash", "-c", f"source {script}; {words}").stdout.decode().split())
    assert shown >= offered
    assert bool(typed) <= (shown == offered)
