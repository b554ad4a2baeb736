"""The first, last and newest record of a partition whose tier lost a part: the true one, or an error."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import cast

import pytest

from kafkafs.errors import CorruptData, DiskError
from kafkafs.view.node import LinkNode
from kafkafs.view.tree import Root
from tests.cluster.reading import lines as rows_of
from tests.cluster.writing import Data, commit
from tests.log.tier import lives, naive
from tests.log.tier.lives import FIRST_MS
from tests.log.tier.test_lives import EIO, code_of, lines, one_epoch, source_of
from tests.view.trees import cat, node, tree

Harm = Callable[[bytes], bytes]
END = 120  # four uploads of 30 records, 5 a batch


def without_a_batch(data: bytes) -> bytes:
    """The log was cut at the border of its last batch."""
    return b"".join(each.data for each in naive.batches_in(data)[:-1])


HARMS: dict[str, Harm] = {
    "cut inside a batch": lambda data: data[:-20],
    "cut at a border": without_a_batch,
    "altered at its end": lambda data: data[:-9] + b"\xff" * 9,
    "altered at its start": lambda data: data[:70] + b"\xff" * 9 + data[79:],
    "garbage": lambda data: b"\xa5" * len(data),
}


class Broken:
    """A tier with one harmed object, and a disk whose segment is empty, or that has no directory of the partition."""

    def __init__(self, place: Path, layout: str, *, has_local: bool, has_metadata: bool) -> None:
        past = one_epoch()
        past.cut(END)
        past.bases.append(END)
        self._tier = lives.in_layout(past.write_tier(place / "local"), place / "tier", layout)
        self.data = Data(past.write_disk(place / "disk", has_local, has_metadata))
        self.options = {"tiered": source_of(place, self._tier)}
        self.committed = (2, 62, 118)
        self.data.write("__consumer_offsets-0", [commit(f"g{each}", "t", 0, each) for each in self.committed])

    @contextmanager
    def harmed(self, number: int, harm: Harm) -> Iterator[Root]:
        log = sorted(self._tier.rglob("*.log"))[number]
        data = log.read_bytes()
        log.write_bytes(harm(data))
        yield tree(self.data.path, **self.options)
        log.write_bytes(data)


def offset_of_link(root: Root, name: str) -> int | None:
    """None for an error."""
    try:
        return int(cast(LinkNode, node(root, f"t-0/{name}")).target().rpartition("/")[2])
    except (CorruptData, DiskError):
        return None


@pytest.mark.parametrize(
    ("layout", "has_metadata", "has_local"),
    [*product(("local", "aiven"), (True, False), (True, False))]
    if os.environ.get("KAFKAFS_REVIVE")
    else [("local", False, True), ("local", True, False), ("aiven zstd", False, True)],
)
def test_a_record_beside_a_lost_part_is_the_true_one_or_an_error(tmp_path, layout, has_metadata, has_local):
    """Regression: `latest`, `maxTimestamp` and `lagMs` were those of the records that were left. `earliest` was refused
    if the last upload was lost. One committed offset in a lost part left those of all groups unknown."""
    case = Broken(tmp_path, layout, has_local=has_local, has_metadata=has_metadata)
    for number in (0, -1):
        for name, harm in HARMS.items():
            with case.harmed(number, harm) as root:
                skipping = tree(case.data.path, corrupt_skip=True, **case.options)
                there = [*lines(cat(skipping, "t-0/by-offset/0...jsonl"))]
                lost = {*range(END)} - {*there}
                assert lost, (number, name)
                info = json.loads(cat(root, "t-0/info.json"))
                for which, offset in (("earliest", 0), ("latest", END - 1)):
                    wanted = None if offset in lost else offset
                    assert (offset_of_link(root, which), info[f"{which}Offset"]) == (wanted, wanted), (number, name)
                    assert offset_of_link(skipping, which) == (min(there) if offset == 0 else max(there))
                    if wanted is None:
                        assert code_of(root, f"t-0/by-offset/{which}.jsonl") == EIO
                newest = FIRST_MS + 1000 * (END - 1)
                assert info["maxTimestamp"] == (None if END - 1 in lost else newest), (number, name)
                assert info["problems"], (number, name)
                for offset in case.committed:
                    row = rows_of(root, f"groups/g{offset}/offsets.jsonl")[0]
                    time = FIRST_MS + 1000 * offset
                    lag = None if {offset, END - 1} & lost else newest - time
                    wanted_row = END, None if offset in lost else time, lag
                    assert (row["logEndOffset"], row["nextTimestamp"], row["lagMs"]) == wanted_row, (number, name)


def test_a_time_in_altered_bytes_of_a_tier_is_an_error(tmp_path):
    """Regression: a time led to the next record that was left, and `end-40s` to a range without the lost records."""
    case = Broken(tmp_path, "local", has_local=True, has_metadata=True)
    with case.harmed(2, HARMS["garbage"]) as root:
        for offset in (75, 89):
            time = FIRST_MS + 1000 * offset
            back = END - 1 - offset
            for path in (
                f"{time}.jsonl",
                f"{time}...jsonl",
                f"before-{time + 1000}.jsonl",
                f"end-{back}s...jsonl",
            ):
                assert code_of(root, f"t-0/by-time/{path}") == EIO, path
                assert cat(tree(case.data.path, corrupt_skip=True, **case.options), f"t-0/by-time/{path}")
        assert [*lines(cat(root, f"t-0/by-time/{FIRST_MS + 95_000}.jsonl"))] == [95]
