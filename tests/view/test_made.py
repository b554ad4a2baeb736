"""Small made files: whoever opens one gets the text whose size was told, whatever is made meanwhile."""

import itertools

import pytest

from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import Attributes, PagesWhileOpen
from tests.view.trees import read


class Counting(MadeFile):
    """Each time it is made it is another text, and longer."""

    def __init__(self, texts: MadeTexts) -> None:
        self._texts = texts
        self._numbers = itertools.count(1)

    def _about(self) -> Attributes:
        return Attributes("file", 0o444, 0, 0, 0, 0, 0.0)

    def _make(self) -> bytes:
        number = next(self._numbers)
        return b"%d" % number * number


def test_what_is_opened_is_what_was_reported():
    file = Counting(MadeTexts(100))
    sizes = [file.attributes().size, file.attributes().size]
    first, again = file.open(), file.open()
    file.attributes()
    assert sizes == [1, 2]
    assert (first.size, read(first), read(again), read(file.open())) == (2, b"22", b"22", b"333")


def test_pages_of_one_text_are_never_taken_for_those_of_another():
    file = Counting(MadeTexts(100))
    reported = file.attributes()
    kept_as = file.open().kept_as
    assert isinstance(kept_as, PagesWhileOpen)
    assert kept_as.version == reported.version
    assert file.attributes().version != reported.version


@pytest.mark.parametrize("limit", [0, 2])
def test_a_text_over_the_limit_is_a_stream(limit):
    file = Counting(MadeTexts(limit))
    for number in range(1, 5):
        about, content = file.attributes(), file.open()
        exact = number <= limit
        assert (about.size, about.is_fixed, content.size) == ((number, True, number) if exact else (0, False, None))
        assert len(read(content)) >= number


def test_what_was_forgotten_is_made_again():
    """Its size may be another one, and then the mount refuses to open it."""
    texts = MadeTexts(100, budget=1000)
    file = Counting(texts)
    file.attributes()
    for _ in range(11):
        Fixed(texts).attributes()
    assert (texts._size, sum(size for _, size in texts._kept)) == (1000, 1000)
    assert read(file.open()) == b"22"


class Fixed(Counting):
    def _make(self) -> bytes:
        return bytes(100)
