"""What `ls`, `cat` and `stat` share: data directories by name, refusals in a sentence, and nothing of FUSE."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.cli.asking import unmounted
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.mounting import KAFKAFS


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_what_is_no_data_directory_is_said_in_a_sentence(command, tmp_path):
    done = unmounted(command, tmp_path / "nowhere", "x")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"does not exist" in done.stderr


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_a_path_in_front_of_its_data_directory_is_said(command, tmp_path):
    """Regression: "'…/t-0/latest' does not exist; name a Kafka data directory"."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    done = unmounted(command, "t-0/latest", tmp_path)
    assert done.returncode == 2
    reported = f"kafkafs: 't-0/latest' is not a directory, but '{tmp_path}' is: the data directory comes first: "
    assert done.stderr.decode() == f"{reported}{tmp_path} t-0/latest\n"


def test_an_address_with_keys_is_refused():
    """Regression: "'/root/s3:/bucket/prefix' does not exist"."""
    done = unmounted("ls", "s3://key:secret@bucket/prefix")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"'s3://bucket/prefix' must not hold keys" in done.stderr


def test_what_is_missing_is_named_and_nothing_else():
    """Regression: `ls` asked for a PATH, too."""
    assert b"are required: DATA_DIR[,DATA_DIR...]\n" in unmounted("ls").stderr
    assert b"are required: PATH\n" in unmounted("cat", "/").stderr


def test_several_data_directories_are_one_tree(tmp_path):
    dataset = Dataset("4.3.1", "stopped")
    sample = unpack(tmp_path)
    names = unmounted("ls", f"{dataset.path},{sample}").stdout.decode().split()
    assert {"segments-0", "test-0"} <= set(names)


def test_neither_fuse_nor_trio_is_needed(tmp_path: Path):
    """In a container there may be neither; what is not imported cannot be missing."""
    sample = unpack(tmp_path)
    program = (
        "import sys\n"
        "for name in ('pyfuse3', 'trio', 'pyseccomp'): sys.modules[name] = None\n"
        "from kafkafs.cli.main import main\n"
        f"code = main(['cat', {str(sample)!r}, 'test-0/by-offset/23400.value'])\n"
        f"code += main(['ls', '-l', {str(sample)!r}, 'test-0'])\n"
        f"sys.exit(code + main(['stat', {str(sample)!r}, 'test-0/latest']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.startswith(b"message 23400")


def test_further_data_directories_may_stand_where_paths_do(tmp_path):
    """`kafkafs ls d1 d2 d3`, as `du` and `groups` take them; one that is named twice is one."""
    for name in ("one", "two", "three"):
        write_partition(tmp_path / name, {0: [made(0, [1])]}, f"{name}-0")
    places = [tmp_path / name for name in ("one", "two", "three")]
    assert unmounted("ls", *places).stdout.split() == [b"one-0", b"three-0", b"two-0"]
    assert unmounted("ls", "-a", *places, f"{tmp_path}/one/.").stdout == unmounted("ls", "-a", *places).stdout
    assert unmounted("cat", *places, "two-0/latest.value").stdout == made(0, [1]).records[0].value
    done = subprocess.run([KAFKAFS, "ls", ".", "one-0"], cwd=places[0], capture_output=True, text=True)
    assert "by-offset" in done.stdout, "a partition is no data directory"
