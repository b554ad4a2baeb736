"""A partition's answers by the simplest means: every `.log` read whole from its first byte, no index, nothing kept."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kafkafs.format.kernels import crc32c
from tests.format.golden import Record
from tests.live.moves import header_of
from tests.view.json_model import line


class Item(NamedTuple):
    """A batch; `records` is None for a corrupt one. `first` and `last` are the offsets that it owns."""

    data: bytes
    first: int
    last: int
    records: tuple[Record, ...] | None


class Naive:
    """One look at a directory. `made` knows the records of each batch by its bytes."""

    def __init__(self, directory: Path, made: Mapping[bytes, tuple[Record, ...]]) -> None:
        logs = {}
        for path in directory.iterdir():
            if found := re.fullmatch(r"(\d{20})\.log(\.swap)?", path.name):
                base = int(found[1])
                if not found[2] or not (directory / f"{base:020d}.log").exists():
                    logs[base] = path.read_bytes()
        self.bases = sorted(logs)
        self.items: list[Item] = []
        for base, behind in zip(self.bases, [*self.bases[1:], None], strict=True):
            self.items += _items(logs[base], base, behind, made)
        self.end = max([item.last + 1 for item in self.items] + self.bases[-1:])
        checkpoint = directory.parent / "log-start-offset-checkpoint"
        reported = int(checkpoint.read_text().split()[-1]) if checkpoint.exists() else 0
        self.start = max(self.bases[0], reported)
        self.end = max(self.end, self.start)

    def __eq__(self, other: object) -> bool:
        """Whether all answers are the same."""
        return isinstance(other, Naive) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def records(self, start: int, end: int | None = None) -> tuple[list[Record], bool]:
        """The records in [start, end), and whether a corrupt batch ends them."""
        end = self.end if end is None else min(end, self.end)
        start = max(start, self.start)
        found: list[Record] = []
        for item in self.items:
            if start < end and item.last >= start and item.first < end:
                if item.records is None:
                    return found, True
                found += [record for record in item.records if start <= record.offset < end]
        return found, False

    def lines(self, start: int, end: int | None = None) -> tuple[bytes, bool]:
        """The text of a decoded range, and whether an error ends it."""
        records, fails = self.records(start, end)
        return b"".join(line("t", 0, record) for record in records), fails

    def raw(self, start: int, end: int | None = None) -> bytes:
        """The bytes of all batches that overlap [start, end)."""
        end = self.end if end is None else min(end, self.end)
        start = max(start, self.start)
        if start >= end:
            return b""
        return b"".join(item.data for item in self.items if item.last >= start and item.first < end)

    def at(self, offset: int) -> Item | None:
        """The batch that a point leads to."""
        if not self.start <= offset < self.end:
            return None
        return next((item for item in self.items if item.last >= offset), None)

    def at_time(self, timestamp: int) -> Record | None:
        """The first record at or after a time; corrupt batches are passed over."""
        for item in self.items:
            for record in item.records or ():
                if record.offset >= self.start and record.timestamp >= timestamp:
                    return record
        return None

    def visible(self) -> list[int]:
        """The offsets of all records from the log start on."""
        return [r.offset for item in self.items for r in item.records or () if r.offset >= self.start]


def _items(data: bytes, base: int, behind: int | None, made: Mapping[bytes, tuple[Record, ...]]) -> list[Item]:
    """The batches of one log; a corrupt one owns the offsets between its neighbours."""
    whole: list[tuple[bytes, bool]] = []
    at = 0
    while len(data) - at >= 61:
        first, last, size = header_of(data, at)
        batch = data[at : at + size]
        if behind is not None and first >= behind:
            break
        if len(batch) < size:
            break
        whole.append((batch, crc32c(batch[21:]) == int.from_bytes(batch[17:21], "big")))
        at += size
    if behind is None:
        while whole and not whole[-1][1]:
            whole.pop()
    items: list[Item] = []
    before = base - 1
    for number, (batch, valid) in enumerate(whole):
        if valid:
            first, last, _ = header_of(batch, 0)
            items.append(Item(batch, first, last, made[batch]))
        else:
            follower = next((header_of(b, 0)[0] for b, good in whole[number + 1 :] if good), behind or 0)
            if items and items[-1].records is None:  # invalid bytes between two valid batches are one corrupt batch
                batch, before = items[-1].data + batch, items.pop().first - 1
            last = follower - 1
            items.append(Item(batch, before + 1, last, None))
        before = last
    return items
