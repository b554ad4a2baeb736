"""Each recipe of docs/recipes.md finds what it is said to find. tests/test_docs.py runs them all on the sample; here is
planted what the sample has not, and what a recipe shows nothing of on the sample has to be found here."""

import re
import time
from pathlib import Path

import pytest

from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.pages import DOCS, Session, steps

PAGE = DOCS / "recipes.md"
MINUTE_MS = 60_000
ORDERS_END, TEST_END = 37, 23488  # of the sample
BROKEN = {  # values that a reader of JSON dies of
    "cut": b'{"order": 1, "item"',
    "empty": b"",
    "not a number": b'{"amount": NaN}',
    "two": b"{} {}",
    "text": b"hello",
    "single quotes": b"{'order': 1}",
    "no text": b"\xff\xfe",
    "cut within a character": '{"item": "maté'.encode()[:-1],
}
SOUND = {"object": b'{"order": 1}', "list": b" [1] ", "number": b"1e400", "null": b"null", "tombstone": None}
PLANTED = {  # words of a command that shows nothing on the sample, and the test that plants something for it
    "10 minutes ago": "test_the_last_minutes_are_found_by_both_spellings",
    "-10m...jsonl": "test_the_last_minutes_are_found_by_both_spellings",
}
NOTHING = ("cp ", "printf X", "mkdir ", "cd ", "kafkafs mount", "kafkafs umount")  # commands that print nothing


def written(partition: Path, first_offset: int, values: list[bytes | None], times_ms: list[int]) -> None:
    """One more segment with these records."""
    records = [
        Record(first_offset + number, time_ms, 0, None, value)
        for number, (value, time_ms) in enumerate(zip(values, times_ms, strict=True))
    ]
    (partition / f"{first_offset:020}.log").write_bytes(v2_batch(records))


def command_with(*words: str) -> str:
    """The page's own command that has these words."""
    (found,) = {command for command, _ in steps(PAGE) if all(word in command for word in words)}
    return found


def asked(session: Session, command: str) -> list[str]:
    """What it prints in a mount of the session's data."""
    assert session.run("kafkafs mount /var/kafka-logs /mnt/kafka --background") == ""
    session.run("cd /mnt/kafka")
    return session.run(command).splitlines()


def test_every_kind_of_poison_is_found_and_nothing_else(session):
    """A recipe that finds none tells somebody at night that his data are fine."""
    values = [*BROKEN.values(), *SOUND.values()]
    written(session.data / "orders-0", ORDERS_END, values, [1] * len(values))
    found = asked(session, command_with(".topics/orders/*/", ".valueBase64"))
    offsets = [int(line.strip("[]").split(",")[1]) for line in found]
    assert [offset for offset in offsets if offset < ORDERS_END] == [21, 27]
    names = [[*BROKEN, *SOUND][offset - ORDERS_END] for offset in offsets if offset >= ORDERS_END]
    assert names == list(BROKEN)


@pytest.mark.parametrize("words", ["10 minutes ago", "-10m...jsonl"])
def test_the_last_minutes_are_found_by_both_spellings(session, words):
    """On a disk of yesterday both print 0, which would be right of a name that means something else, too."""
    now_ms = time.time_ns() // 10**6
    written(session.data / "test-0", TEST_END, [b"old", b"new", b"newer"], [now_ms - n * MINUTE_MS for n in (20, 5, 1)])
    assert asked(session, command_with(words)) == ["2"]


def test_what_a_recipe_shows_nothing_of_is_planted_here():
    """An empty output proves nothing about the command that printed it."""
    silent = [command for command, output in steps(PAGE) if output.strip() in ("", "0")]
    silent = [command for command in silent if not command.startswith(NOTHING)]
    for command in silent:
        (test,) = {name for words, name in PLANTED.items() if words in command}
        assert test in globals()
    for words in PLANTED:
        assert any(words in command for command in silent), words


def test_no_recipe_is_without_a_command_that_finds():
    """Each heading is a question; below it stands an answer."""
    for section in re.split(r"^##+ ", PAGE.read_text(), flags=re.M)[1:]:
        assert re.search(r"^\$ .*\n(?!\$ |```)\S", section, re.M), section.partition("\n")[0]
