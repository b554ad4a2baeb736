"""How a command ends: with an exit code, and at most one sentence on standard error. No traceback reaches a user."""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeGuard

import kafkafs
from kafkafs.errors import DiskError, KafkafsError, UsageError, printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 70  # EX_SOFTWARE of sysexits(3)
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count
EXIT_LEFT = 141  # 128 + SIGPIPE: what cat and grep leave in a shell
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)  # the last of one that was closed


class Ending:
    """The sentence after Ctrl-C, if there is one, and the exit code for an error. Both may change while it runs."""

    def __init__(self, interrupted: str = "") -> None:
        self.interrupted, self.failed = interrupted, EXIT_FAILED


def run_to_exit_code(command: Callable[[], int], ending: Ending | None = None, *, is_answer: bool = True) -> int:
    """Run a command. An exception becomes one sentence on standard error, never a traceback. `is_answer`: the command
    gives one answer, and a failed read of a bucket makes it wrong."""
    ending = ending or Ending()
    fill_closed_streams()
    _write_all_or_fail()
    _ignore_errors_of_stderr()
    try:
        try:
            code = command()
            if is_answer and code in (0, EXIT_FAILED) and code != ending.failed and (lack := _trouble_of_a_store()):
                say(lack)
                code = ending.failed
        except SystemExit:  # argparse has printed help, or said what is wrong
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        drop_output()  # the reader has left: nothing more to say
        return EXIT_LEFT
    except KeyboardInterrupt:
        if ending.interrupted:
            say(ending.interrupted)
        return EXIT_INTERRUPTED
    except KafkafsError as error:
        say(_missing_directory() or str(error))
        return EXIT_USAGE if isinstance(error, UsageError) else ending.failed
    except Exception as error:
        if is_unwritable(error):
            drop_output()
            lack = f"standard output cannot be written: {error.strerror}"
        else:
            lack = _missing_resource(error)
        if sentence := _missing_directory() or lack:
            say(sentence)
            return ending.failed
        import traceback  # this import takes a while

        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename}:{place.lineno}, kafkafs {kafkafs.__version__}"
        say(f"this is a bug, please report it: {error!r:.500} at {where}")
        return EXIT_BUG


def _trouble_of_a_store() -> str:
    """The reason why an answer may lack something that is in a bucket, though no part of the command has failed."""
    stores = sys.modules.get("kafkafs.disk.store_session")
    return "" if stores is None else str(stores.current.first_failure())


def _missing_directory() -> str:
    """Return the advice for a current directory that is gone: a name below it, or Java, fails there with misleading
    words."""
    try:
        os.getcwd()
    except OSError:
        return "the current directory is gone, deleted or unmounted: cd to another one"
    return ""


def fill_closed_streams() -> None:
    """Reopen standard streams that the caller has closed (`>&-`), so that no other file gets their numbers. Writing to
    standard output then fails, and a sentence on standard error is lost."""
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _write_all_or_fail() -> None:
    """Give standard output a buffer, even if `PYTHONUNBUFFERED` turned it off. On a full disk, a write without a buffer
    may write only a part, and raise no error."""
    out = sys.stdout
    if isinstance(getattr(out, "buffer", None), io.RawIOBase):
        buffer = io.BufferedWriter(io.FileIO(out.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(buffer, out.encoding, out.errors, line_buffering=True)


class _IgnoringErrors(io.FileIO):
    """A stream that drops all that it cannot write."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, and report success in any case: the caller could report an error nowhere."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _ignore_errors_of_stderr() -> None:
    """Ignore errors of standard error, such as those of a file on a full disk. The exit code stays that of the command.
    Otherwise Python ends with its own code, 120, if it cannot flush."""
    err = sys.stderr
    if type(err) is io.TextIOWrapper and isinstance(getattr(err.buffer, "raw", err.buffer), io.FileIO):
        silent = io.BufferedWriter(_IgnoringErrors(err.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(silent, err.encoding, err.errors, line_buffering=True)


def is_unwritable(error: Exception) -> TypeGuard[OSError]:
    """True if standard output failed."""
    return isinstance(error, OSError) and error.filename is None and (
        error.errno in _UNWRITABLE or hasattr(error, "characters_written")  # one that would rather not wait
    )  # fmt: skip


def drop_output() -> None:
    """Drop the rest of standard output, so that Python does not try to write it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def output_errors_named() -> Iterator[None]:
    """Turn a failure of standard output, whatever it is, into a sentence. A reader that has left is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise DiskError(f"standard output cannot be written: {error.strerror}") from None


def _missing_resource(error: Exception) -> str:
    """Return what the system or the environment did not give, and what to do, if nothing else is wrong."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "no descriptor is left; raise the limit (`ulimit -n`, LimitNOFILE=)"
    is_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    if is_thread or isinstance(error, BlockingIOError):  # of fork
        return "the system starts no more threads or processes; raise the limits (`ulimit -u`, `-v`, TasksMax=)"
    is_unmapped = isinstance(error, ImportError) and "failed to map segment" in str(error)
    if is_unmapped or isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return "no memory is left; raise the limit (`ulimit -v`, MemoryMax=)"
    if isinstance(error, ImportError) and not (error.name or "").startswith("kafkafs"):
        from kafkafs.installation import install_command  # 10 ms, for who lacks something only

        extra = "spark" if (error.name or "").partition(".")[0] in ("pyspark", "py4j") else "tables"
        return f"a library is missing or does not fit: {error}; this command takes {install_command(extra)}"
    return ""


def name_warnings() -> None:
    """Print the warnings of kafkafs's modules as `say` does. Those of libraries stay as they are."""
    import logging

    class Sentence(logging.Formatter):
        """`kafkafs: ` and what is wrong."""

        def format(self, record: logging.LogRecord) -> str:
            """Return the line for the terminal."""
            text = super().format(record)
            return f"kafkafs: {printable(text)}" if record.name.partition(".")[0] == "kafkafs" else text

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Sentence())


def say(sentence: str) -> None:
    """One line for the person at the terminal, with nothing in it that the terminal would obey."""
    print(f"kafkafs: {printable(sentence)}", file=sys.stderr, flush=True)
