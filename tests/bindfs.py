"""A disk that can hang, or be gone: a directory seen through bindfs, whose process is stopped or killed."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from tests.mounting import END_S, wait_until


class Disk:
    """What is at `path`. While it hangs every call on it does; nothing of it is remembered by the kernel."""

    def __init__(self, path: Path, process: "subprocess.Popen[bytes]") -> None:
        self.path = path
        self._process = process

    def hang(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def vanish(self) -> None:
        self._process.kill()
        self._process.wait(END_S)


@contextmanager
def bindfs(source: Path, place: Path) -> Iterator[Disk]:
    """`source` as a disk at `place`, which is made for it."""
    place.mkdir()
    process = subprocess.Popen(["bindfs", "-f", "-o", "ro,attr_timeout=0,entry_timeout=0", source, place])
    try:
        wait_until(lambda: mounted_at(place) is not None)
        yield Disk(place, process)
    finally:
        process.send_signal(signal.SIGCONT)
        if mounted_at(place) is not None:
            unmount(place, lazily=True)
        process.terminate()
        process.wait(END_S)
