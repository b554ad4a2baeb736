"""Two ways to ask kafkafs: in this process, where each look is a new one, or through a real mount, as a user does.

Both open contents that answer `read(offset, size)`, b"" at the end, and raise kafkafs' own errors. Their `size` is None
for a stream. Ranges up to `EXACT` bytes of log have one, a few batches, so that they become streams as they grow.
"""

import errno
import io
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kafkafs.errors import CorruptData, KafkafsError, NotFound, Vanished
from kafkafs.log.read_options import ReadOptions
from kafkafs.view import tree
from tests.mounting import PATIENCE_S, wait_until

EXACT = 500
Answer = TypeVar("Answer")
ERRORS: dict[int, type[KafkafsError]] = {errno.ENOENT: NotFound, errno.EIO: CorruptData, errno.ESTALE: Vanished}


class Door(Protocol):
    """A way into `t-0`. `stale_s`: for how long an answer may still be the one from before."""

    stale_s: float

    def open(self, name: str) -> Any: ...

    def follow(self, name: str) -> Any: ...

    def names(self, directory: str) -> Sequence[str]: ...

    def link(self, name: str) -> str: ...

    def ends(self) -> tuple[int, int]:
        """Where the log starts and ends."""


class InProcess:
    """A tree of this process."""

    stale_s = 0.0

    def __init__(self, data: Path) -> None:
        self._tree = tree.Root([data], ReadOptions(log_fresh_s=0.0, names_fresh_s=0.0, exact=EXACT))

    def _node(self, name: str) -> Any:
        node: Any = self._tree.child("t-0")
        for part in name.split("/"):
            node = node.child(part)
        return node

    def open(self, name: str) -> Any:
        node = self._node(name)
        size = node.attributes().size
        content = node.open()
        assert name.endswith("..") or (content.size or 0) == size, "another size than was told"  # those grow
        return content

    def follow(self, name: str) -> Any:
        return self.open(name)

    def names(self, directory: str) -> Sequence[str]:
        return [entry.name for entry in self._node(directory).entries()]

    def link(self, name: str) -> str:
        return str(self._node(name).target())

    def ends(self) -> tuple[int, int]:
        log = self._tree.directories[0].partition("t-0").log()
        return log.start_offset, log.end_offset


class ThroughMount:
    """A mount, by system calls."""

    stale_s = 1.0

    def __init__(self, mount: Path) -> None:
        self._partition = mount / "t-0"

    def open(self, name: str) -> "_Opened":
        return _Opened(self._partition / name)

    def follow(self, name: str) -> "_Cat":
        """Raise NotFound if there is no such file. Each other error comes with a read."""
        content = _Cat(self._partition / name)
        try:
            with suppress(CorruptData, Vanished):
                content.read(0, 0)
        except NotFound:
            content.close()
            raise
        return content

    def names(self, directory: str) -> Sequence[str]:
        return sorted(os.listdir(self._partition / directory))

    def link(self, name: str) -> str:
        return os.readlink(self._partition / name)

    def ends(self) -> tuple[int, int]:
        about = json.loads((self._partition / "info.json").read_text())
        return about["logStartOffset"], about["logEndOffset"]


class _Opened:
    """An open file. A stream cannot be sought: what lies further on is read up to there, and kept."""

    def __init__(self, path: Path) -> None:
        self._descriptor = _or_family(lambda: os.open(path, os.O_RDONLY))
        self._text = b""

    @property
    def size(self) -> int | None:
        """What the kernel says of it now."""
        with suppress(io.UnsupportedOperation):
            _or_family(lambda: os.lseek(self._descriptor, 0, os.SEEK_CUR))
            return os.fstat(self._descriptor).st_size
        return None

    def read(self, offset: int, size: int) -> bytes:
        try:
            return _or_family(lambda: os.pread(self._descriptor, size, offset))
        except io.UnsupportedOperation:
            return self._read_on(offset, size)

    def _read_on(self, offset: int, size: int) -> bytes:
        try:
            while len(self._text) < offset + size and (more := _or_family(lambda: os.read(self._descriptor, 1 << 16))):
                self._text += more
        except KafkafsError:
            if len(self._text) <= offset:
                raise
        return self._text[offset : offset + size]

    def close(self) -> None:
        os.close(self._descriptor)


class _Cat:
    """`cat` of a file that follows: reads give what has come so far."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdout, self._stderr = self._process.stdout, self._process.stderr
        os.set_blocking(self._stdout.fileno(), False)
        self._text = b""
        self._said = ""
        wait_until(lambda: self._has_opened(path))  # on a busy machine the partition can be gone before it does

    def _has_opened(self, path: Path) -> bool:
        """Whether it has the file open, or has ended without."""
        if self._process.poll() is not None:
            return True
        descriptors = Path(f"/proc/{self._process.pid}/fd")
        with suppress(FileNotFoundError):
            return any(os.readlink(one).startswith(str(path)) for one in descriptors.iterdir())
        return False

    def read(self, offset: int, size: int) -> bytes:
        ended = self._process.poll() is not None
        with suppress(BlockingIOError):
            while got := os.read(self._stdout.fileno(), 1 << 16):
                self._text += got
        if ended and offset >= len(self._text):
            self._said += self._stderr.read().decode()  # he may be asked again
            kinds = (kind for number, kind in ERRORS.items() if os.strerror(number) in self._said)
            raise next(kinds, AssertionError)(self._said)
        return self._text[offset : offset + size]

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._stdout.close()
        self._stderr.close()


def _or_family(call: Callable[[], Answer]) -> Answer:
    try:
        return call()
    except OSError as error:
        if error.errno == errno.ESPIPE:
            raise io.UnsupportedOperation from error
        raise ERRORS.get(error.errno or 0, AssertionError)(str(error)) from error
