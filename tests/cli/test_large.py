"""Searches of many millions of records: memory stays bounded, and Ctrl-C ends them within a second.

A batch's base offset is outside its checksum, so a few compressed batches make any number of records.
"""

import os
import signal
import subprocess
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.test_grep import members
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.mounting import KAFKAFS, run, wait_until
from tests.promises import at_most

RECORDS, BATCHES = 20_000, 400
MOST_KB = 200 << 10
"""Of one process: it takes 70 MB, and the log unpacked would take six times that."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight million records, unpacked 0.45 GB, in two segments."""
    data = tmp_path_factory.mktemp("large")
    (data / "t-0").mkdir()
    (data / "meta.properties").write_text("version=1\n")
    records = [Record(at, 5, 0, b"key-%07d" % at, b"a value that is always the same one") for at in range(RECORDS)]
    batch = v2_batch(records, codec=1, compress=_gzip)
    for first, behind in ((0, BATCHES // 2), (BATCHES // 2, BATCHES)):
        with open(data / "t-0" / f"{first * RECORDS:020}.log", "wb") as file:
            file.writelines((at * RECORDS).to_bytes(8, "big") + batch[8:] for at in range(first, behind))
    return data


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(data) + packer.flush()


SEARCHES = [("grep", "-c", "nobody.*", "DATA"), ("cat", "DATA", "t-0/by-key/nobody.jsonl")]


@pytest.mark.urgent  # a second is measured
@pytest.mark.parametrize("words", SEARCHES, ids=lambda words: words[0])
def test_ctrl_c_within_a_second_and_bounded_memory(large, words):
    """Whoever has seen enough is not kept, and nobody's broker is pushed out of memory."""
    command = [KAFKAFS, *(large if word == "DATA" else word for word in words)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: sum(_cpu_s(pid) for pid in members(running.pid)) > 0.5)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, reported = running.communicate(timeout=300)
    took = time.monotonic() - began
    assert (running.returncode, reported.count(b"Traceback")) == (130, 0)
    assert took < at_most(1)
    assert members(running.pid) == []


@pytest.mark.parametrize(("words", "code"), [
    (("grep", "-c", "key-0019999", "DATA"), 0),
    (("cat", "DATA", "t-0/by-key/key-0000000.jsonl", "t-0/by-key/nobody.jsonl"), 1),
])  # fmt: skip
def test_a_whole_search_takes_no_more_memory(large, words, code):
    command, peak = [KAFKAFS, *(large if word == "DATA" else word for word in words)], 0
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as running:
        while running.poll() is None:
            peak = max(peak, *map(_peak_kb, members(running.pid)), 0)
            time.sleep(0.02)
    assert running.returncode == code
    assert 20 << 10 < peak < MOST_KB


def _peak_kb(pid: str) -> int:
    """The most memory that a process had so far. (What wait4 tells begins with that of whoever forked it.)"""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])
    return 0


@pytest.mark.urgent
def test_whoever_waits_for_a_first_scan_through_a_mount_may_leave(large, mount):
    """`cat by-key/x.jsonl` of a large topic: Ctrl-C ends it, and the mount answers others meanwhile."""
    mounted = mount(large)
    with subprocess.Popen(["cat", mounted.path / "t-0/by-key/nobody.jsonl"], stderr=subprocess.PIPE) as waiting:
        wait_until(lambda: _state(waiting.pid) in "SD")
        assert run("ls", mounted.path / "t-0").returncode == 0
        began = time.monotonic()
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(300) == -signal.SIGINT
        assert time.monotonic() - began < at_most(1)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _cpu_s(pid: str) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
