"""What `by-offset/` and `by-time/` list, without reading a log."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from kafkafs.view.grammar import time_range_name
from kafkafs.view.node import DirectoryNode
from tests.counting import counted
from tests.log.making import Made, made, spread, write_partition, write_start
from tests.mounting import wait_until
from tests.view.trees import cat, node, tree


def names(data: Path, view: str) -> list[str]:
    return [entry.name for entry in cast(DirectoryNode, node(tree(data), f"t-0/{view}")).entries()]


def segments(*times: Sequence[int]) -> dict[int, list[Made]]:
    """A segment of a batch for each list of times."""
    found, base = {}, 0
    for each in times:
        found[base] = [made(base, each)] if each else []
        base += max(len(each), 1)
    return found


def test_times_tile_the_log(tmp_path):
    """A segment that raises nothing has no entry; the last one always has its open one."""
    write_partition(tmp_path, segments([5, 9], [3], [9], [20], [7]))
    assert names(tmp_path, "by-time") == ["0000000000000..0000000000010", "0000000000010..0000000000021",
                                          "0000000000021.."]  # fmt: skip
    write_start(tmp_path, 3)
    assert names(tmp_path, "by-time") == ["0000000000000..0000000000010", "0000000000010..0000000000021",
                                          "0000000000021.."]  # fmt: skip
    write_start(tmp_path, 5)
    assert names(tmp_path, "by-time") == ["0000000000000.."]


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("times", "listed"),
    [
        ([[5], [LAST - 2], [7], [6]], [(0, 6), (6, LAST - 1), (LAST - 1, None)]),
        ([[5], [LAST - 1], [7], [6]], [(0, 6), (6, LAST), (LAST, None)]),
        ([[5], [LAST], [7], [6]], [(0, 6), (6, LAST), (LAST, None)]),
        ([[5], [LAST - 1, 3], [LAST], [LAST, 6]], [(0, 6), (6, LAST), (LAST, None)]),
        ([[3, LAST, 5], [7], [6]], [(0, LAST), (LAST, None)]),
    ],
)
def test_times_tile_the_log_up_to_the_last_time_there_is(tmp_path, times, listed):
    """End-of-input watermarks have the time 2^63-1: one past it there is no name. Each record stands in one range."""
    write_partition(tmp_path, segments(*times))
    found = names(tmp_path, "by-time")
    assert found == [time_range_name(*each) for each in listed]
    lines = b"".join(cat(tree(tmp_path), f"t-0/by-time/{name}.jsonl") for name in found).splitlines()
    assert len(lines) == len(set(lines)) == sum(map(len, times))


def test_a_doubtful_time_is_reported_once(tmp_path, caplog):
    """A lookup comes with each `cat`, and twice where it is made again in a worker: a loop over a name fills no log."""
    write_partition(tmp_path, segments([5, 9]))
    root = tree(tmp_path)
    for _ in range(3):
        for name in ("1632390207.jsonl", "1632390208.jsonl"):
            node(root, f"t-0/by-time/{name}")
    reported = [message.partition(":")[0] for message in caplog.messages if "for seconds write" in message]
    assert reported == ["t-0/by-time/1632390207.jsonl", "t-0/by-time/1632390208.jsonl"]
    node(tree(tmp_path), "t-0/by-time/1632390207.jsonl")
    assert len(caplog.messages) == 3


@pytest.mark.parametrize(
    "index", [None, b"", bytes(120), b"\x7f" + b"\xff" * 11, b"\xff" * 24, bytes(7), b"\0" * 7 + b"\x63" * 41]
)
def test_the_listed_times_tile_the_log_whatever_an_index_says(tmp_path, index):
    """Names from a damaged index are other names, and still each record stands in exactly one."""
    write_partition(tmp_path, segments([5, 9], [3], [9], [20], [7]))
    file = tmp_path / "t-0" / f"{3:020}.timeindex"
    file.unlink() if index is None else file.write_bytes(index)
    root = tree(tmp_path)
    listed = names(tmp_path, "by-time")
    assert sorted(listed, key=lambda name: int(name.split("..")[0])) == listed
    lines = b"".join(cat(root, f"t-0/by-time/{name}.jsonl") for name in listed).splitlines()
    assert len(lines) == len(set(lines)) == 6


def test_a_listing_reads_no_log(tmp_path):
    """`ls -R` over ten thousand partitions on a cold disk: a read of each log would take minutes."""
    path = write_partition(tmp_path, spread([made(number, [number], size=50_000) for number in range(20)], 1))
    root = tree(tmp_path)

    def list_all() -> None:
        for place in ("t-0", "t-0/by-offset", "t-0/by-time", "t-0/segments"):
            directory = cast(DirectoryNode, node(root, place))
            directory.attributes()
            assert directory.entries()

    _, read = counted(list_all)
    indexes = sum(index.stat().st_size for index in path.glob("*.timeindex"))
    assert 0 < read <= 3 * indexes  # of 12 bytes each, and a batch's header alone has 61


def test_closed_segments_are_asked_once(tmp_path):
    """A second `ls by-time` of a thousand segments reads none of their time indexes, but for one that was replaced."""
    directory = write_partition(tmp_path, segments([5, 9], [3], [12], [20], [7]))
    root = tree(tmp_path)
    by_time = cast(DirectoryNode, node(root, "t-0/by-time"))
    first, read = counted(by_time.entries)
    assert read > 0
    assert counted(by_time.entries) == (first, 0)
    base = list(segments([5, 9], [3], [12]))[2]
    new = directory / "new"
    new.write_bytes((15).to_bytes(8, "big") + bytes(4))
    new.rename(directory / f"{base:020}.timeindex")
    wait_until(lambda: by_time.entries() != first)
    assert [entry.name for entry in by_time.entries()] == [entry.name.replace("0013", "0016") for entry in first]
