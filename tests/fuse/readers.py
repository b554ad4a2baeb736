"""Programs that have read all there is of a `shelf`'s file and wait for more."""

import subprocess
from typing import Any

from tests.fuse.conftest import Shelf
from tests.mounting import wait_until


def reader(shelf: Shelf, *command: str, **popen: Any) -> "subprocess.Popen[bytes]":
    """A program that has read all there is and waits for more."""
    before = shelf.mounted.status()["waitingReads"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **popen)
    shelf.readers.append(process)
    wait_until(lambda: shelf.mounted.status()["waitingReads"] > before)
    return process


def line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return bytes(process.stdout.readline())
