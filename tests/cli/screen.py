"""A terminal that shows output and progress, and what is left on its screen."""

import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path


def shown(text: str) -> list[str]:
    """The lines of a screen: a carriage return goes back to the start of a line, which is then written over."""
    lines = []
    for written in text.replace("\r\n", "\n").split("\n"):
        cells: list[str] = []
        column = 0
        for letter in written:
            if letter == "\r":
                column = 0
                continue
            cells[column : column + 1] = [letter]
            column += 1
        lines.append("".join(cells).rstrip())
    return lines


def on_one_terminal(*command: str | Path, timeout: float = 60) -> tuple[str, int]:
    """All that goes to a terminal which has both output and errors, and the exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    reported = b""
    with suppress(OSError):  # at its end, where nobody has the other end open
        while piece := os.read(ours, 1 << 16):
            reported += piece
    os.close(ours)
    return reported.decode(), process.wait(timeout)
