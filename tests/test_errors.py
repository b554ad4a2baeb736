"""The table from errors to errno: total, and what it says is what the manual tells users."""

import errno
import os

import pytest

from kafkafs import errors
from kafkafs.errors import ERRNO, KafkafsError, did_you_mean, printable
from kafkafs.view import manual


def family(kind: type[KafkafsError]) -> set[type[KafkafsError]]:
    below = set(kind.__subclasses__())
    return below.union(*map(family, below))


def test_every_error_of_the_family_has_an_errno():
    """An error without one would end the mount."""
    assert family(KafkafsError) == set(ERRNO)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (errors.NotFound, "No such file or directory"),
        (errors.NoData, "No data available"),
        (errors.CorruptData, "Input/output error"),
        (errors.TooLarge, "File too large"),
        (errors.NameTooLong, "File name too long"),
        (errors.ReadOnly, "Read-only file system"),
        (errors.Denied, "Permission denied"),
        (errors.Vanished, "Stale file handle"),
    ],
)
def test_a_program_says_what_the_contract_promises(kind, sentence):
    """Scripts tell these apart; `kafkafs cat` says the same without a kernel."""
    assert os.strerror(ERRNO[kind]) == sentence


def test_each_sentence_of_the_manual_can_come():
    reported = {term for term, _ in manual.ERRORS.rows} - {os.strerror(errno.ESPIPE)}  # the kernel's own, of streams
    assert reported <= {os.strerror(number) for number in ERRNO.values()}


def test_what_is_not_printable_is_shown_as_python_shows_it():
    """Control characters, bytes that were no text, separators and direction marks; all else stays, a backslash too."""
    assert printable("\x00\x7f\x9b \udcff\u2028\u202e\U000e0001") == r"\x00\x7f\x9b \udcff\u2028\u202e\U000e0001"
    assert printable("a'b\\ ü 日 😀") == "a'b\\ ü 日 😀"


def test_the_nearest_name_ends_a_sentence():
    assert did_you_mean("ordrs", ["orders", "test"]) == "; did you mean orders?"
    assert did_you_mean("zzz", ["orders", "test"]) == did_you_mean("zzz", []) == ""
    assert did_you_mean("a\x1bbc", iter(["a\x1bbd"])) == "; did you mean a\\x1bbd?"
