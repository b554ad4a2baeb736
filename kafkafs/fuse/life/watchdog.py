"""A thread that sees to it that the mount never hangs for good: it watches whether the trio thread still comes round.

A bug or an unforeseen system call that blocks that thread blocks everybody who touches the mount, even against SIGKILL.
So after `WARN_BEATS` missed beats the stack of every thread is logged, and after `END_BEATS` the process ends:
its supervisor unmounts, and what waited gets an error. Beats are counted by the watchdog's own sleeps, so that a
stopped or suspended machine is not taken for a hung thread.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

import trio

from kafkafs.fuse.life import journal

BEAT_S = 1.0
WARN_BEATS = 10
END_BEATS = 60
EXIT_HUNG = 75  # EX_TEMPFAIL of sysexits(3): trying again may help

logger = logging.getLogger(__name__)


async def keep_beating(watchdog: "Watchdog") -> None:
    """Beat on the trio thread, as long as the mount exists."""
    try:
        while True:
            await trio.sleep(BEAT_S)
            watchdog.beat()
    finally:
        watchdog.stop()


class Watchdog:
    """Started by the trio thread, which then calls `beat` every `BEAT_S`."""

    def __init__(self, end: Callable[[int], object] = os._exit, beat_s: float = BEAT_S) -> None:
        self._root = trio.lowlevel.current_root_task()
        self._end = end
        self._beat_s = beat_s
        self._beaten = False
        self._stopped = False
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def beat(self) -> None:
        """The trio thread has come round."""
        self._beaten = True

    def stop(self) -> None:
        """Stop the watchdog: no beat is missed from now on."""
        self._stopped = True

    def _watch(self) -> None:
        missed = 0
        while not self._stopped:
            time.sleep(self._beat_s)
            missed = 0 if self._beaten else missed + 1
            self._beaten = False
            if missed == WARN_BEATS:
                logger.error("nothing was answered for %d s", missed * self._beat_s)
                journal.log_all(self._root)
            if missed == END_BEATS:
                logger.critical("ending, since nothing was answered for %d s", missed * self._beat_s)
                self._end(EXIT_HUNG)
