"""Runs commands in the tests' own process, and names the locale of the tools beside them."""

import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from kafkafs.cli.main import main

C_LOCALE = {**os.environ, "LC_ALL": "C.UTF-8"}


class Done(NamedTuple):
    """What a command has printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def in_process(*words: object) -> Done:
    """As `text_of`, of what is written as text."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            code = main([str(word) for word in words])
        except SystemExit as left:
            code = int(left.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def unmounted(*words: object) -> subprocess.CompletedProcess[bytes]:
    """As `called`, with any exit code."""
    return called(*words, check=False)


def text_of(*words: object) -> subprocess.CompletedProcess[str]:
    """As `called`, in text and with any exit code."""
    done = called(*words, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _all_of(file: IO[str]) -> bytes:
    file.flush()
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def called(*words: object, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """As `run` of `mounting` with `kafkafs` before it, without a process of its own."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:  # some commands write to a descriptor
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main([str(word) for word in words])
            except SystemExit as left:
                code = int(left.code or 0)
        printed = [_all_of(out), _all_of(err)]
    done = subprocess.CompletedProcess([str(word) for word in words], code, *printed)
    assert code == 0 or not check, done
    return done
