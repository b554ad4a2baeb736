"""Followers: what they begin with where nothing is there yet, and what they do about what is gone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.errors import Vanished
from kafkafs.view.node import Content
from kafkafs.view.streams import TextLimits
from tests.live.moves import Moves
from tests.log.making import Made, made, write_partition
from tests.log.transactional import data, marker
from tests.view.trees import cat, opened, tree

COMMITTED = "read_committed"


def append(directory: Path, *batches: Made) -> None:
    with (directory / f"{0:020}.log").open("ab") as file:
        file.write(b"".join(batch.data for batch in batches))


def offsets(text: bytes) -> list[int]:
    return [json.loads(line)["offset"] for line in text.splitlines()]


def reader(content: Content) -> Callable[[], bytes]:
    """What has come by now, from the start."""
    got = b""

    def read() -> bytes:
        nonlocal got
        while part := bytes(content.read(len(got), 1 << 16)):
            got += part
        return got

    return read


FROM = ["by-offset/earliest", "by-offset/latest", "by-time/5", "by-time/0", "by-time/now"]


@pytest.mark.parametrize("name", FROM)
def test_a_follower_gets_the_transaction_that_was_open(tmp_path, name):
    """Where nothing is visible yet it began behind the open transaction, and never had its records."""
    directory = write_partition(tmp_path, {0: [data(0, 1), data(1, 1)]})
    read = reader(opened(tree(tmp_path, log_fresh_s=0.0, isolation="read_committed"), f"t-0/{name}...follow.jsonl"))
    assert read() == b""
    append(directory, data(2, 2))
    assert read() == b""
    append(directory, marker(3, 1, True), marker(4, 2, True))
    assert offsets(read()) == [0, 1, 2]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_follower_by_time_gets_what_opening_again_would_give(tmp_path, isolation):
    """A time that no record has reached yet: what is older is not in the range, however late it was appended."""
    directory = write_partition(tmp_path, {0: [made(0, [1000])]})
    root = tree(tmp_path, log_fresh_s=0.0, isolation=isolation)
    read = reader(opened(root, "t-0/by-time/9999...follow.jsonl"))
    assert read() == b""
    append(directory, made(1, [1001]), data(2, 1))  # the transaction's record has timestamp 5
    assert read() == b""
    append(directory, made(3, [9000, 9999, 9000]), marker(6, 1, True))
    assert offsets(read()) == [4, 5]
    append(directory, made(7, [7]))
    assert offsets(read()) == [4, 5, 7]
    assert read() == cat(root, "t-0/by-time/9999...jsonl")


def test_raw_bytes_by_time_begin_with_the_batch_that_opening_again_would_give(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1000])]})
    late = made(2, [9999])
    read = reader(opened(tree(tmp_path, log_fresh_s=0.0), "t-0/by-time/9999.."))
    assert read() == b""
    append(directory, made(1, [1001]))
    assert read() == b""
    append(directory, late)
    assert read() == late.data
    append(directory, made(3, [7]))
    assert read() == late.data + made(3, [7]).data


@pytest.mark.parametrize("suffix", [".follow.jsonl", ""])
def test_now_is_followed_by_whatever_comes_next(tmp_path, suffix):
    """`tail -n 0 -f` for a topic: a producer's clock may be behind."""
    directory = write_partition(tmp_path, {0: [made(0, [1000])]})
    read = reader(opened(tree(tmp_path, log_fresh_s=0.0), f"t-0/by-time/now..{suffix}"))
    assert read() == b""
    late = made(1, [1001])
    append(directory, late)
    assert offsets(read()) == [1] if suffix else read() == late.data


NOTHING_KEPT = TextLimits(kept=0, small=0)
"""Text that was given out is made again for a reader that goes back."""


def delete(broker: Moves) -> None:
    broker.retain(reported=False)
    broker.unlink_deleted()


def compact(broker: Moves) -> None:
    for _ in broker.compaction(1, lambda base: base > 0):
        pass


@pytest.mark.parametrize("move", [delete, compact])
def test_what_was_given_is_there_again_or_the_handle_is_stale(tmp_path, move):
    """Also after a look forward, behind what was deleted or compacted meanwhile."""
    broker = Moves(tmp_path)
    broker.append([2, 2])
    broker.roll()
    follower = opened(tree(tmp_path, limits=NOTHING_KEPT, log_fresh_s=0.0), "t-0/by-offset/0...follow.jsonl")
    read = reader(follower)
    assert offsets(read()) == [0, 1, 2, 3]
    broker.append([2])
    move(broker)
    assert offsets(read()) == [0, 1, 2, 3, 4, 5]
    for offset in (0, 1, len(read()) // 2):
        with pytest.raises(Vanished):
            follower.read(offset, 10)


def test_records_that_were_deleted_before_they_were_read_are_not_passed_over(tmp_path):
    broker = Moves(tmp_path)
    broker.append([2])
    root = tree(tmp_path, log_fresh_s=0.0)
    behind, ahead = (opened(root, f"t-0/by-offset/{start}...follow.jsonl") for start in (0, 5))
    read, read_ahead = reader(behind), reader(ahead)
    assert offsets(read()) == [0, 1]
    assert read_ahead() == b""
    broker.append([2])
    broker.roll()
    broker.append([2])
    delete(broker)
    with pytest.raises(Vanished, match="deleted before they were read"):
        read()
    assert offsets(read_ahead()) == [5]


def test_a_follower_that_has_read_all_gets_no_error_about_deletions(tmp_path):
    broker = Moves(tmp_path)
    broker.append([2])
    read = reader(opened(tree(tmp_path, log_fresh_s=0.0), "t-0/by-offset/0...follow.jsonl"))
    assert offsets(read()) == [0, 1]
    broker.roll()
    delete(broker)
    assert offsets(read()) == [0, 1]
    broker.append([1])
    assert offsets(read()) == [0, 1, 2]
