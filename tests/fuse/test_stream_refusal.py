"""Programs that take a size for the length: a stream is refused to them, and everything else is theirs."""

import errno
import os
import subprocess

import pytest

from kafkafs.errors import Unsupported
from kafkafs.fuse.serve.stream_refusal import PROGRAMS, StreamRefusal, is_stream, program
from tests.log.making import made, write_partition
from tests.mounting import wait_until
from tests.view.trees import node, tree

CONTENT = b"some records\n" * 1000


def read_as(name, path):
    """Reads a file as a program of that name would."""
    words = ["bash", "-c", 'exec -a "$0" cat "$1"', name, str(path)]
    return subprocess.run(words, capture_output=True, timeout=300, check=False)


@pytest.mark.parametrize("name", ["smbd: client [10.0.0.7]", "/usr/bin/ganesha.nfsd", "rsync"])
def test_a_stream_is_refused_to_who_trusts_its_size(shelf, name):
    """Regression: clients of Samba and NFS, `rsync` and `tar` made an empty file of it, with exit code 0."""
    (shelf.source / "file").write_bytes(CONTENT)
    done = read_as(name, shelf / "file.stream")
    assert (done.returncode, done.stdout) == (1, b"")
    assert os.strerror(errno.EOPNOTSUPP).encode() in done.stderr
    assert read_as(name, shelf / "file").stdout == CONTENT
    assert read_as("cat", shelf / "file.stream").stdout == CONTENT


def test_the_log_names_each_program_once(caplog):
    trusting = StreamRefusal()
    with subprocess.Popen(["bash", "-c", "exec -a /usr/sbin/smbd cat"], stdin=subprocess.PIPE) as server:
        wait_until(lambda: program(server.pid) == "smbd")
        for _ in range(2):
            with pytest.raises(Unsupported, match=r"smbd would take .*; mount with -o exact=all"):
                trusting.refuse(server.pid)
        server.terminate()
    assert caplog.text.count("exact=all") == 1
    trusting.refuse(os.getpid())
    trusting.refuse(0)
    trusting.refuse(2**22 + 1)  # no process
    assert program(os.getpid()) not in PROGRAMS


@pytest.mark.parametrize(
    ("exact", "path", "expected"),
    [
        (0, "by-offset/0...jsonl", True), (0, "by-time/0..9.jsonl", True), (0, "by-offset/0...follow.jsonl", True),
        (0, "by-offset/0...batches.jsonl", True), (0, "by-offset/5..5", False), (0, "by-offset/0..", False),
        (0, "by-offset/0.jsonl", False), (0, "segments/00000000000000000000.index", False),
        (2**63 - 1, "by-offset/0...jsonl", False), (2**63 - 1, "by-offset/1..1.jsonl", False),
        (2**63 - 1, "by-offset/0...follow.jsonl", True), (2**63 - 1, "info.json", False),
    ],
)  # fmt: skip
def test_a_stream_is_known_by_its_attributes(tmp_path, exact, path, expected):
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    (tmp_path / "t-0/00000000000000000000.index").write_bytes(b"")
    assert is_stream(node(tree(tmp_path, exact=exact), f"t-0/{path}").attributes()) == expected
