"""What `by-offset/` and `by-time/` list, without reading a log."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from kafkafs.log.files import DataFile
from kafkafs.view.node import Directory
from tests.log.making import Made, made, spread, write_partition, write_start
from tests.view.trees import cat, node, tree


def names(data: Path, view: str) -> list[str]:
    return [entry.name for entry in cast(Directory, node(tree(data), f"t-0/{view}")).entries()]


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


def test_a_listing_reads_no_log(tmp_path, monkeypatch):
    """`ls -R` over ten thousand partitions on a cold disk: a read of each log would take minutes."""
    write_partition(tmp_path, spread([made(number, [number]) for number in range(20)], 4))
    read: list[str] = []
    real = DataFile.read

    def spy(self: DataFile, position: int, size: int) -> bytes:
        read.append(self.name)
        return real(self, position, size)

    monkeypatch.setattr(DataFile, "read", spy)
    root = tree(tmp_path)
    for path in ("t-0", "t-0/by-offset", "t-0/by-time", "t-0/segments"):
        directory = cast(Directory, node(root, path))
        directory.attributes()
        assert directory.entries()
    assert any(name.endswith(".timeindex") for name in read)
    assert not [name for name in read if name.endswith(".log")]
