"""The broker's files are as they were: nothing written, created, locked or touched, not even an access time."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.faults.injecting import all_traced
from tests.kafka.dataset import Dataset
from tests.live.disks import resident
from tests.mounting import run, shell, wait_until

DIRECTORIES = ("binary-0", "broker-gzip-0", "compacted-0", "partitions-4", "segments-0", "transactions-0")
ATTEMPTS = 10
Attributes = dict[str, tuple[int, ...]]


def attributes(directory: Path) -> Attributes:
    """Everything that `stat` shows of all that is in there."""
    found: Attributes = {}
    for path in (directory, *directory.rglob("*")):
        about = path.stat()
        found[str(path)] = (about.st_ino, about.st_size, about.st_mode, about.st_uid, about.st_gid, about.st_nlink,
                            about.st_mtime_ns, about.st_ctime_ns, about.st_atime_ns)  # fmt: skip
    return found


def read_everything(mount: Path) -> None:
    shell(f"cd {mount}; ls -lR . > /dev/null; cat */info.json */segments/* */by-offset/* */by-time/* | cksum;"
          " for p in */; do cat $p/by-offset/0...jsonl $p/by-offset/0...batches.jsonl; done | cksum;"
          " getfattr -R -d . > /dev/null; true", timeout=300, check=False)  # fmt: skip


def test_reading_everything_changes_no_attribute(mount, tmp_path):
    """Access times too: each file's is set back far enough that any reader's touch would show."""
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path / "data", *DIRECTORIES)
    for path in (data, *data.rglob("*")):
        os.utime(path, (1, path.stat().st_mtime))
    before = attributes(data)
    mounted = mount(data)
    read_everything(mounted.path)
    assert mounted.status()["bytesRead"] > 1 << 20
    assert mounted.end() == 0
    assert attributes(data) == before


def test_files_are_opened_for_reading_only(mount, tmp_path):
    """As strace sees it: no file of the data directory is opened otherwise, none is locked, none is mapped."""
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path / "data", "binary-0", "transactions-0")
    mounted = mount(data)
    log = tmp_path / "strace"
    calls = "open,openat,openat2,creat,flock,fcntl,unlink,unlinkat,rename,renameat2,utimensat,ftruncate,truncate,mmap"
    pid = mounted.status()["pid"]
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-y", "-o", log, "-p", str(pid), "-e", calls])
    wait_until(lambda: all_traced(pid))
    read_everything(mounted.path)
    tracer.terminate()
    tracer.wait(300)
    lines = [line for line in log.read_text().splitlines() if str(data) in line]
    opened = [line for line in lines if "openat2(" in line]
    assert len(opened) > 10
    assert [line for line in opened if "O_RDONLY" not in line or "O_CREAT" in line] == []
    assert [line for line in lines if any(word in line for word in ("F_SETLK", "flock(", "mmap(", "O_CREAT"))] == []


@pytest.mark.urgent
@pytest.mark.parametrize("size", [256 << 20])
def test_a_cold_read_leaves_the_page_cache_alone(mount, tmp_path, size):
    """What was hot stays hot, what was cold stays out.

    The kernel takes pages of its own accord, of a control too: one attempt that loses no more clears it.
    """
    data = tmp_path / "data"
    directory = data / "big-0"
    directory.mkdir(parents=True)
    (data / "meta.properties").write_text("version=1\n")
    source = (Dataset("4.3.1", "stopped").directory("codec-none") / f"{0:020d}.log").read_bytes()
    cold, hot, control = directory / f"{0:020d}.log", data / "hot", tmp_path / "control"
    with open(cold, "wb") as file:
        while file.tell() < size:
            file.write(source * 64)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    for path in (hot, control):
        path.write_bytes(bytes(4 << 20))
    assert resident(cold) < 1 << 20
    mounted = mount(data)
    lost: list[int] = []
    while 0 not in lost and len(lost) < ATTEMPTS:
        assert hot.read_bytes() == control.read_bytes()  # both are in memory
        run("dd", f"if={mounted.path}/big-0/segments/{cold.name}", "of=/dev/null", "bs=1M", timeout=300)
        assert resident(cold) <= 32 << 20
        lost.append(max(0, resident(control) - resident(hot)))
    assert min(lost) == 0
