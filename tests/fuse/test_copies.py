"""Copies that the kernel makes by itself: of a file all of it; of a stream by whoever falls back to reading.

Of a stream, whose size is 0, `splice` tells the end before it asks the file system, and no answer of ours can change
that (tried: the kernel's own idea of the size can be raised by a notification, but then it keeps pages of a stream, and
takes a read that comes short before an error for the end).
"""

import errno
import os
import random
import shutil

import pytest

from tests.mounting import run

SIZE = 300_000


@pytest.fixture
def data(shelf):
    content = random.Random(1).randbytes(SIZE)
    (shelf.source / "file").write_bytes(content)
    return content


@pytest.mark.parametrize("name", ["file", "file.stream", "file.kept"])
@pytest.mark.parametrize(
    "command",
    ["cat {0} > {1}", "cat {0} | cat > {1}", "cp {0} {1}", "dd if={0} of={1} bs=7k status=none", "head -c 1G {0} > {1}",
     "tee {1} < {0} > /dev/null"],
)  # fmt: skip
def test_programs_copy_all_of_it(shelf, data, tmp_path, name, command):
    run("bash", "-c", command.format(shelf / name, tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == data


@pytest.mark.parametrize("name", ["file", "file.stream"])
def test_python_copies_all_of_it(shelf, data, tmp_path, name):
    shutil.copyfile(shelf / name, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data


def test_sendfile_of_a_stream_is_an_error_and_not_its_end(shelf, data, tmp_path):
    with open(shelf / "file.stream", "rb") as stream, open(tmp_path / "copy", "wb") as copy:
        with pytest.raises(OSError) as raised:
            os.sendfile(copy.fileno(), stream.fileno(), None, SIZE)
        assert raised.value.errno == errno.EINVAL


def test_splice_of_a_file_gives_all_of_it(shelf, data):
    into, out = os.pipe()
    with open(shelf / "file", "rb") as file, open(into, "rb") as reading, open(out, "wb") as writing:
        got = b""
        while count := os.splice(file.fileno(), writing.fileno(), 1 << 16):
            got += reading.read(count)
    assert got == data
