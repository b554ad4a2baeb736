"""The one family of errors: what kafkafs may answer instead of data, and the errno of each. The lowest layer.

Every message is one sentence for a person: what is wrong, where, and, where something can be done, what to do.
"""

import errno
from collections.abc import Callable, Iterable


class KafkafsError(Exception):
    """Root of the family. Only its leaves are raised."""


class UsageError(KafkafsError):
    """The command line or an option asks for what cannot be: exit code 2."""


class NotFound(KafkafsError):
    """No such partition, file, record or well-formed name: "No such file or directory"."""


class NoData(KafkafsError):
    """The record is there, but its key or value is null: "No data available"."""


class CorruptData(KafkafsError):
    """Bytes on disk contradict themselves (CRC, structure, order of offsets): "Input/output error"."""


class NumberTooLong(CorruptData):
    """A number of variable length has more bytes than it may; `value` is what those that it may have say."""

    value = 0


class DiskError(KafkafsError):
    """The operating system could not read what is there: "Input/output error"."""


class Unanswered(DiskError):
    """The store of a remote tier does not answer; what it holds may be sound: "Input/output error"."""


class StoreError(KafkafsError):
    """A data directory in a bucket cannot be read as it was listed: the store fails, or the copy changes. It is no
    damage, and no answer may leave it out: "Input/output error"."""


class Lost(DiskError):
    """A part of a remote tier is gone, cannot be opened, or is not what was uploaded. Readers get everything before it,
    then "Input/output error"."""


class Unopenable(Lost):
    """A remote tier has it, and it cannot be opened here: no key, or a format that kafkafs does not read. Reading past
    it would leave sound records out, so `corrupt=skip` does not: "Input/output error"."""


class TooLarge(KafkafsError):
    """Unpacking would need more memory than `-o max_batch=` grants: "File too large"."""


class Denied(KafkafsError):
    """The daemon itself may not read the file: "Permission denied"."""


class Vanished(KafkafsError):
    """The file that an open handle answers from was replaced, cut or deleted: "Stale file handle"."""


class Exhausted(KafkafsError):
    """This process has no descriptor or memory left for one caller: "Too many open files"."""


class BatchMemoryFull(KafkafsError):
    """Large batches that others read fill the memory for them: "Cannot allocate memory"."""

    def __init__(self, message: str, has_room: Callable[[], bool] = lambda: True) -> None:
        """`has_room`: true if a retry can succeed."""
        super().__init__(message)
        self.has_room = has_room


class ReadOnly(KafkafsError):
    """Nothing in a mount can be changed: "Read-only file system"."""


class Unsupported(KafkafsError):
    """The operation means nothing here: "Operation not supported"."""


class WouldBlock(KafkafsError):
    """The answer needs the disk or the processor for long; ask again in a worker thread (see `disk.blocking`)."""


class Unfinished(KafkafsError):
    """The answer takes longer than one call may; what was done is kept, so ask again (see `disk.blocking`). Only a
    caller that got a signal meanwhile sees it: "Interrupted system call"."""


class AnswerInProgress(Unfinished):
    """Another thread makes the same answer, and this call has got nowhere itself: ask again, but not for ever."""


class NameTooLong(KafkafsError):
    """A name is longer than any file name can be: "File name too long"."""


UNREADABLE = (NotFound, Denied, DiskError, CorruptData, Vanished)
"""Errors of a read if the file is gone, not permitted, on a disk that fails, or damaged. A caller that can show the
rest without that file catches them."""

ERRNO: dict[type[KafkafsError], int] = {
    UsageError: errno.EINVAL,
    NotFound: errno.ENOENT,
    NoData: errno.ENODATA,
    CorruptData: errno.EIO,
    NumberTooLong: errno.EIO,
    DiskError: errno.EIO,
    Unanswered: errno.EIO,
    StoreError: errno.EIO,
    Lost: errno.EIO,
    Unopenable: errno.EIO,
    TooLarge: errno.EFBIG,
    Denied: errno.EACCES,
    Vanished: errno.ESTALE,
    Exhausted: errno.EMFILE,
    BatchMemoryFull: errno.ENOMEM,
    ReadOnly: errno.EROFS,
    Unsupported: errno.EOPNOTSUPP,
    WouldBlock: errno.EAGAIN,
    Unfinished: errno.EINTR,
    AnswerInProgress: errno.EINTR,
    NameTooLong: errno.ENAMETOOLONG,
}
"""The errno of each, in a mount and of commands. It is total: a test walks the family, so a new error needs a
decision."""


EMPTY_NAME = "'' names nothing; is a variable empty?"
"""The sentence about an empty word in place of a name. A path of it would be the current directory."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known name that is nearest to a mistyped one, as the end of a sentence; "" if nothing is like it."""
    from difflib import get_close_matches  # 7 ms, only if a word is mistyped

    found = get_close_matches(word, known, 1)
    return f"; did you mean {printable(found[0])}?" if found else ""


def printable(message: str) -> str:
    r"""Return the message without characters that a terminal would obey: a name on a disk may contain them.

    They are escaped as in Python: `\n`, `\x1b`, `\udcff`.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in message)
