"""Two copies of a log that have gone different ways, on disk, and a naive model of what `kafkafs diff` says of them."""

import gzip
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, spread, write_partition, write_start

Content = tuple[int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]


@dataclass(frozen=True)
class Side:
    """One copy: its records, and where its log starts."""

    records: tuple[Record, ...]
    start: int

    @property
    def visible(self) -> dict[int, Content]:
        """By offset: what counts of a record."""
        return {each.offset: content(each) for each in self.records if each.offset >= self.start}


def content(record: Record) -> Content:
    return record.timestamp, record.key, record.value, record.headers


def random_record(chance: random.Random, offset: int) -> Record:
    """Few keys, some null; some tombstones; null and empty values; headers now and then."""
    key = chance.choice([None, b"", *(b"key-%d" % number for number in range(6))])
    value = chance.choice([None, b"", b"value-%d" % chance.randrange(5), b"x" * chance.randrange(40)])
    headers = ((b"h", chance.choice([None, b"", b"1"])),) if chance.random() < 0.2 else ()
    return Record(offset, 1_000 + chance.randrange(50), 0, key, value, headers)


def random_sides(chance: random.Random, length: int) -> tuple[Side, Side]:
    """A common history, and what each side has lost, changed or gained of it."""
    common = [random_record(chance, offset) for offset in range(length)]
    sides = []
    for _ in range(2):
        kept = [each for each in common if chance.random() > chance.choice([0, 0, 0.1, 0.5])]
        changed = [random_record(chance, each.offset) if chance.random() < 0.03 else each for each in kept]
        end = chance.choice([length, length, chance.randrange(1, length)])
        kept = [each for each in changed if each.offset < end]
        if end == length:
            kept += [random_record(chance, length + number) for number in range(chance.choice([0, 0, 5]))]
        sides.append(Side(tuple(kept), chance.choice([0, 0, 0, chance.randrange(length // 2)])))
    return sides[0], sides[1]


def write(data: Path, side: Side, chance: random.Random, name: str = "t-0") -> Path:
    """The side as a data directory, in batches and segments of its own."""
    batches: list[Made] = []
    left = list(side.records)
    while left:
        count = chance.choice([1, 2, 3, 8])
        taken, left = left[:count], left[count:]
        packed = {"codec": 1, "compress": gzip.compress} if chance.random() < 0.3 else {}
        batches.append(Made(v2_batch(taken, epoch=chance.randrange(3), **packed), tuple(taken)))  # type: ignore[arg-type]
    segments = spread(batches, chance.choice([1, 4, 100]))
    segments = {0 if base == min(segments) else base: held for base, held in segments.items()} or {0: []}
    write_partition(data, segments, name)
    topic, _, number = name.rpartition("-")
    write_start(data, side.start, topic, int(number))
    return data


def expected(old: Side, new: Side, *, compacted: bool) -> tuple[list[tuple[str, int]], dict[str, int]]:
    """(side, offset) of each line in order, and the counts of `--stat`."""
    start = max(old.start, new.start)
    sides = {"old": old.visible, "new": new.visible}
    lines, counts = [], Counter(equal=0, onlyOld=0, onlyNew=0, cleaned=0, belowStart=0)
    for name, other in (("old", "new"), ("new", "old")):
        for offset, record in sides[name].items():
            if offset < start:
                counts["belowStart"] += 1
            elif sides[other].get(offset) == record:
                counts["equal"] += name == "old"
            elif compacted and offset not in sides[other] and _is_cleaned(offset, record, sides[other]):
                counts["cleaned"] += 1
            else:
                counts["onlyOld" if name == "old" else "onlyNew"] += 1
                lines.append((offset, name != "old", name))
    return [(name, offset) for offset, _, name in sorted(lines)], dict(counts)


def _is_cleaned(offset: int, record: Content, lacking: dict[int, Content]) -> bool:
    _, key, value, _ = record
    if key is None:
        return False
    others = [at for at, (_, other, _, _) in lacking.items() if other == key]
    return any(at > offset for at in others) or (value is None and not any(at < offset for at in others))


def by_content(olds: Sequence[Side], news: Sequence[Side]) -> tuple[Counter[tuple[str, Content]], dict[str, int]]:
    """How often each record is a line of a side, and the counts of `--stat`."""
    old, new = (Counter(each for side in sides for each in side.visible.values()) for sides in (olds, news))
    lines = Counter({("old", each): count for each, count in (old - new).items()})
    lines.update({("new", each): count for each, count in (new - old).items()})
    equal = (old & new).total()
    counts = {"equal": equal, "onlyOld": (old - new).total(), "onlyNew": (new - old).total()}
    return lines, counts | {"cleaned": 0, "belowStart": 0}
