"""The progress line of long work, drawn by tqdm. On a terminal it is redrawn in place, elsewhere printed now and then.

Bytes, share, rate and time left; as wide as the terminal, gone at the end, without codes that a dumb one would print.
"""

import os
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from tqdm import tqdm

REDRAW_S, LINE_EVERY_S = 0.2, 30.0
_WORDS = "{desc}"
_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} [{rate_fmt}, {remaining} left{postfix}]"
_PLAIN = _FORMAT.replace("|{bar}|", ",")


@cache
def _tqdm() -> Any:
    """The class, loaded when a line is due: loading takes as long as a small export reads."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread that redraws
    tqdm.set_lock(threading.RLock())  # and no semaphore that another process could hold
    return tqdm


class StatusLine:
    """One piece of work after the other, each with a name and a size in bytes."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._bar: tqdm[Never] | None = None
        self._name = ""
        self._begun = self._shown_at = time.monotonic()

    def say(self, text: str) -> None:
        """Shows words alone, while there is nothing to count."""
        if self._is_terminal:
            self._on(text, 0, _WORDS)
        elif self._is_time():
            print(text, file=sys.stderr, flush=True)

    def show(self, name: str, done: int, size: int, beside: str = "") -> None:
        """Shows how many bytes of a piece of work are done."""
        if self._is_terminal:
            bar = self._on(name, size, _FORMAT, beside)
            bar.set_postfix_str(beside, refresh=False)
            bar.update(max(0, done - int(bar.n)))
            return
        if name != self._name:
            self._name, self._begun = name, time.monotonic()
        if self._is_time():
            line = _tqdm().format_meter(
                done, size, time.monotonic() - self._begun, prefix=name, bar_format=_PLAIN, unit="B", unit_scale=True,
                postfix=beside,
            )  # fmt: skip
            print(line, file=sys.stderr, flush=True)

    def hide(self) -> None:
        """Wipes it, so that another line can be written in its place; the next `show` draws it again."""
        if self._bar is not None:
            self._bar.clear()

    def clear(self) -> None:
        """Takes it away: the work is at its end."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now - self._shown_at < LINE_EVERY_S:
            return False
        self._shown_at = now
        return True

    def _on(self, name: str, size: int, bar_format: str, beside: str = "") -> "tqdm[Never]":
        """The bar of that name and size; a new one takes the place of the one before."""
        if self._bar is None or (self._bar.desc.removesuffix(": "), self._bar.total) != (name, size):
            self.clear()
            columns = os.get_terminal_size(sys.stderr.fileno()).columns  # 0: unknown
            self._bar = _tqdm()(
                desc=name, total=size, bar_format=bar_format, unit="B", unit_scale=True, leave=False, file=sys.stderr,
                mininterval=REDRAW_S, miniters=0, dynamic_ncols=columns > 0, ncols=None if columns else 80, nrows=24,
                ascii=" #", postfix=beside,
            )  # fmt: skip
        return self._bar
