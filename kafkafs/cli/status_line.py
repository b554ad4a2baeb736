"""The line that says how far long work is: drawn anew in its place on standard error, never wider than a terminal."""

import os
import shutil
import sys


class StatusLine:
    """A line of a terminal. A dumb one (TERM=dumb) knows no way to wipe a line: blanks do."""

    def __init__(self) -> None:
        self._wipe = "\r" if os.environ.get("TERM") == "dumb" else "\r\x1b[K"
        self._width = 0  # of what is drawn

    @property
    def columns(self) -> int:
        """How much of it can be used; the last column is left free, where many terminals would begin a new line."""
        return max(1, shutil.get_terminal_size().columns - 1)

    def draw(self, text: str) -> None:
        """Puts the text in place of what is there, cut to what there is room for."""
        text = text[: self.columns]
        padding = " " * (self._width - len(text)) if self._wipe == "\r" else ""
        sys.stderr.write(self._wipe + text + padding + ("\r" if padding else ""))
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Takes it away, so that another line can be written in its place."""
        if self._width:
            self.draw("")


def rate_and_rest(done_bytes: int, size: int, seconds: float) -> str:
    """`, 120 MB/s, 0:17 left` of work that took so long so far; nothing before a second has shown how fast it is."""
    if not done_bytes or seconds <= 1:
        return ""
    left = max(size - done_bytes, 0) * seconds / done_bytes
    return f", {done_bytes / seconds / 1e6:,.0f} MB/s, {_duration(left)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
