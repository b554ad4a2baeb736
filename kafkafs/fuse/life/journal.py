"""The daemon's log: one line an event, safe to print, never a flood.

Names come from the disk and may hold anything, line feeds and terminal controls included; whatever is not printable is
escaped here once more, though callers write names with `repr`. No keys or values are ever logged. Of one kind of
message (one place in the source) at most `BURST` are let through in `PERIOD_S`; the next one that passes says how many
were left out.
"""

import logging
import logging.handlers
import re
import sys
import time
from pathlib import Path

BURST = 20
PERIOD_S = 10.0
UNLIMITED = {"unlimited": True}  # `extra=` of what was asked for and may be long

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text on one line, with controls, bidirectional marks and stray surrogates as `\x1b` or `\u202e`."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


class _Lines(logging.Formatter):
    """`2026-11-21T14:03:11 WARNING kafkafs.fuse: message`; a traceback follows, indented."""

    def __init__(self, stamp: str) -> None:
        super().__init__(f"{stamp}%(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, with its message made printable."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:
        """The traceback made printable, each line behind a bar, so that none passes for an event."""
        trace = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join("    | " + printable(line) for line in trace.splitlines())


class _Limit(logging.Filter):
    """Lets `BURST` records of one place in the source through in `PERIOD_S`."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}  # place -> start of the period, how many since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record passes; to the first one of a new period is added how many did not pass before."""
        if getattr(record, "unlimited", False):
            return True
        place = (record.pathname, record.lineno)
        now = time.monotonic()
        since, count = self._seen.get(place, (now, 0))
        if now - since >= PERIOD_S:
            if count > BURST:
                record.msg = f"{record.msg} (and {count - BURST} like it before)"
            since, count = now, 0
        self._seen[place] = (since, count + 1)
        return count < BURST


def start(log_file: Path | None = None, syslog: bool = False) -> None:
    """Sends the log to a file, to syslog (nowhere on a machine that has none), or to standard error."""
    handler: logging.Handler
    if log_file is not None:
        handler = logging.FileHandler(log_file, encoding="utf-8", errors="backslashreplace")
    elif syslog and not Path("/dev/log").exists():
        handler = logging.NullHandler()
    elif syslog:
        handler = logging.handlers.SysLogHandler("/dev/log", logging.handlers.SysLogHandler.LOG_DAEMON)
        handler.ident = "kafkafs: "
    else:
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("" if syslog and log_file is None else "%(asctime)s "))
    handler.addFilter(_Limit())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = False  # a log that cannot be written must not end the mount
