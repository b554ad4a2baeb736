"""Readers that go on with a log after what a broker did to it: on where nothing was lost, an error where it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkafs.errors import Vanished
from kafkafs.log.read_options import ReadOptions
from kafkafs.view import tree
from tests.live.moves import Moves

EACH_LOOK_IS_A_NEW_ONE = ReadOptions(log_fresh_s=0.0, names_fresh_s=0.0)


def two_closed_segments(data: Path) -> Moves:
    """A log that goes on in a third."""
    broker = Moves(data)
    for counts in ([1, 2, 3], [2, 2, 2]):
        broker.append(counts)
        broker.roll()
    return broker


@pytest.fixture
def broker(tmp_path: Path) -> Moves:
    return two_closed_segments(tmp_path / "data")


def compact(broker: Moves) -> None:
    for _ in broker.compaction(2, lambda base: base % 3 == 0):
        pass
    broker.unlink_deleted()


def compact_the_last_too(broker: Moves) -> None:
    """All that happened between two looks of a reader that takes its time."""
    broker.append([3, 3])
    broker.roll()
    for _ in broker.compaction(3, lambda base: base % 2 == 0):
        pass
    broker.unlink_deleted()


def retain(broker: Moves) -> None:
    """All that a reader has had, and no more."""
    broker.roll()
    while len(broker.segments) > 1:
        broker.retain(reported=True)
    broker.unlink_deleted()


def elect_and_compact(broker: Moves) -> None:
    broker.elect()
    compact_the_last_too(broker)


HARMLESS = (compact, compact_the_last_too, retain, elect_and_compact)


def cut(broker: Moves) -> None:
    """To below where the reader is, and as long as it was."""
    broker.truncate(2)
    broker.append([4, 4, 4, 4])


def cut_and_compact(broker: Moves) -> None:
    cut(broker)
    broker.roll()
    for _ in broker.compaction(9, lambda base: base > 0):
        pass
    broker.unlink_deleted()


def cut_and_retain(broker: Moves) -> None:
    """Nothing is left of what a reader could compare with."""
    cut(broker)
    retain(broker)


def retain_too_little(broker: Moves) -> None:
    """Something that a reader had yet to get is gone."""
    broker.append([1])
    retain(broker)


def recreate(broker: Moves) -> None:
    """With the inode of the old directory, as file systems give them out."""
    inode = broker.directory.stat().st_ino
    for _ in range(20):
        broker.recreate(at_once=True)
        if broker.directory.stat().st_ino == inode:
            break
    broker.append([9, 9, 9])
    broker.roll()
    for _ in broker.compaction(1, lambda base: base != 9):
        pass


def elect_and_retain(broker: Moves) -> None:
    """Nothing was lost but to retention, and nothing is left that would tell it from `cut_and_retain`."""
    broker.elect()
    broker.append([1])
    retain(broker)


HARMFUL = (cut, cut_and_compact, cut_and_retain, retain_too_little, elect_and_retain, recreate)


def opened(broker: Moves, name: str) -> Callable[[], bytes]:
    """Reads on, as far as it goes."""
    directory: Any = tree.Root([broker.data], EACH_LOOK_IS_A_NEW_ONE).child("t-0")
    content = directory.child("by-offset").child(name).open()
    at = 0

    def read() -> bytes:
        nonlocal at
        text = b""
        while got := bytes(content.read(at, 4096)):
            text, at = text + got, at + len(got)
        return text

    return read


def begun(broker, name: str, rolled: bool) -> Callable[[], bytes]:
    """A reader of a log that has just rolled, or has grown since, who has read all there was."""
    if not rolled:
        broker.append([2])
    read = opened(broker, name)
    assert read()
    return read


@pytest.mark.parametrize("name", ["0..", "0...follow.jsonl"])
@pytest.mark.parametrize("rolled", [True, False], ids=["rolled", "grown"])
@pytest.mark.parametrize("move", HARMLESS)
def test_a_reader_goes_on_where_nothing_was_lost(broker, name, rolled, move):
    read = begun(broker, name, rolled)
    move(broker)
    assert set(read().splitlines(keepends=True)) <= set(broker.history.values()) or name == "0.."
    broker.append([1])
    (last,) = broker.segments[broker.last][-1:]
    assert read() == (last.data if name == "0.." else broker.history[broker.next_offset - 1])


@pytest.mark.parametrize("name", ["0..", "0...follow.jsonl"])
@pytest.mark.parametrize("rolled", [True, False], ids=["rolled", "grown"])
@pytest.mark.parametrize("move", HARMFUL)
def test_a_reader_gets_an_error_where_something_was(broker, name, rolled, move):
    read = begun(broker, name, rolled)
    move(broker)
    with pytest.raises(Vanished):
        read()


def test_a_reader_of_an_empty_log_goes_on(broker):
    """No batch is there to tell him a leader epoch, and nothing that could be cut."""
    read = opened(broker, "0...follow.jsonl")
    assert read()
    broker.delete_records(broker.next_offset)
    assert read() == b""
    broker.elect()
    broker.append([3])
    broker.roll()
    for _ in broker.compaction(9, lambda _: True):
        pass
    broker.unlink_deleted()
    assert read().count(b"\n") == 3


@pytest.mark.parametrize("name", ["0..", "0...follow.jsonl"])
def test_a_reader_gets_an_error_where_records_came_up_before_him(broker, name):
    """He began while the checkpoint still told the start from before a truncation to below it."""
    broker.delete_records(broker.next_offset)
    end, reported = broker.next_offset, broker.data / "log-start-offset-checkpoint"
    stale = reported.read_text()
    broker.truncate(batches=9)
    reported.write_text(stale)
    read = opened(broker, name)
    assert read() == b""
    reported.unlink()
    broker.append([end])
    with pytest.raises(Vanished):
        read()


def test_a_link_is_looked_up_again_where_its_log_was_cut(broker):
    broker.append([2, 2])
    directory: Any = tree.Root([broker.data], ReadOptions(log_fresh_s=60.0)).child("t-0")
    link = directory.child("latest")
    assert link.target() == f"by-offset/{broker.next_offset - 1}"
    broker.truncate(batches=1)
    assert link.target() == f"by-offset/{broker.next_offset - 1}"
