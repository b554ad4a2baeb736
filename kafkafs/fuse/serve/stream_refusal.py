"""Programs that take the size of a file for its length, and so a stream for an empty file.

A stream has size 0. Most programs read until nothing comes. File servers do not: they tell their clients the size, and
a client reads no further. Copies by `rsync` and archives by `tar` are the same. They would make an empty file, and
nobody would hear of it. So the mount refuses them a stream, by the name of the program that asks.

Linux names the asking thread with each request. In another process namespace, or under `hidepid`, it has no name here:
then nothing is refused. Sources: proc(5), the reading of sizes in nfsd, Samba, virtiofsd, rsync, tar, nginx, Apache.
"""

import logging
import os

from kafkafs.errors import Unsupported
from kafkafs.fuse.serve.signals import read_file
from kafkafs.view.node import Attributes

FILE_SERVERS = ("smbd", "ksmbd", "nfsd", "ganesha.nfsd", "unfsd", "virtiofsd")
WEB_SERVERS = ("nginx", "apache2", "httpd", "lighttpd")
PROGRAMS = frozenset((*FILE_SERVERS, *WEB_SERVERS, "rsync", "tar", "bsdtar"))

logger = logging.getLogger(__name__)


def is_stream(about: Attributes) -> bool:
    """True if the attributes are those of a stream: no size, no version of its bytes, and kept no moment."""
    return about.kind == "file" and not (about.size or about.is_fixed or about.timeout_s) and about.version is None


class StreamRefusal:
    """Refuses streams to such programs, and logs each program once."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def refuse(self, pid: int) -> None:
        """Unsupported if the process or thread is of such a program."""
        name = program(pid)
        if name not in PROGRAMS:
            return
        sentence = f"{name} would take a stream for an empty file; mount with -o exact=all: then each range has a size"
        if name not in self._named:
            self._named.add(name)
            logger.warning("%s", sentence)
        raise Unsupported(sentence)


def program(pid: int) -> str:
    """The name of the program that a process or thread runs; "" if it is unknown."""
    if not pid:
        return ""
    command = (read_file(f"/proc/{pid}/cmdline") or b"").split(b"\0", 1)[0]
    command = command or (read_file(f"/proc/{pid}/comm") or b"").strip()
    path = command.split(b": ", 1)[0]  # `smbd: client [10.0.0.7]`
    return os.fsdecode(path.rsplit(b"/", 1)[-1])
