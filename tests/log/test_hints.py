"""Indexes are hints (design.md, section 5): whatever stands in their files, every answer stays the same."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.format.names import parse_segment_file
from kafkafs.log.batch_runs import Damage
from kafkafs.log.extents import Extent
from kafkafs.log.log import Log
from tests.kafka.dataset import Dataset
from tests.log.making import log_of, made, spread, write_partition
from tests.log.reading import reader

DATA = {release: Dataset(release, "stopped") for release in ("2.8.0", "4.3.1")}
PARTITIONS = [("2.8.0", "mixed-formats-0"), ("2.8.0", "segments-disorder-0"), ("4.3.1", "disorder-0"),
              ("4.3.1", "equal-times-0"), ("4.3.1", "long-index-0"), ("4.3.1", "segments-0"),
              ("4.3.1", "compacted-0"), ("4.3.1", "transactions-0")]  # fmt: skip
KINDS = ("index", "timeindex", "txnindex")

Answers = list[object]
Lie = Callable[[Path, random.Random], None]


def answers(log: Log, chance: random.Random) -> Answers:
    """What a partition answers to many questions, raw and decoded."""
    found: Answers = [log.start_offset, log.end_offset]
    committed, view = reader(log, isolation="read_committed"), reader(log)
    found += [view.latest(), committed.latest(), committed.visible_end]
    for offset in sorted(chance.sample(range(log.start_offset, log.end_offset), min(40, log.end_offset))):
        _, batch = log.locate(offset)
        found.append((batch.position, batch.size, isinstance(batch, Damage)))
    times = {record.offset: record for record in map(view.lookup.first_at, [0, 1_600_000_000_000]) if record}
    middle = max((record.timestamp for record in times.values()), default=0)
    for time in [0, *(middle + chance.randint(-1_000, 10_000_000) for _ in range(25)), 2**62]:
        first, seen = view.lookup.first_at(time), committed.lookup.first_at(time)
        found.append((time, first and first.offset, seen and seen.offset))
    start = chance.randint(log.start_offset, log.end_offset)
    found += [[(each.position, each.end) for each in Extent.between(log, start, end)] for end in (start + 7, None)]
    found.append(sum(int(piece.rows["offset"].sum()) for piece in committed.records(start)))
    return found


def remove(file: Path, _: random.Random) -> None:
    file.unlink()


def empty(file: Path, _: random.Random) -> None:
    file.write_bytes(b"")


def zero(file: Path, _: random.Random) -> None:
    file.write_bytes(bytes(file.stat().st_size + 48))


def pad(file: Path, _: random.Random) -> None:
    with open(file, "ab") as opened:
        opened.write(bytes(12 * 8 * 500))


def garble(file: Path, chance: random.Random) -> None:
    file.write_bytes(chance.randbytes(file.stat().st_size + chance.randrange(100)))


def cut(file: Path, chance: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: chance.randint(0, file.stat().st_size)])


def flip(file: Path, chance: random.Random) -> None:
    """A bit here and there."""
    data = bytearray(file.read_bytes())
    for _ in range(len(data) // 50 + 1 if data else 0):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def shuffle(file: Path, chance: random.Random) -> None:
    size = {".index": 8, ".timeindex": 12, ".txnindex": 34}[file.suffix]
    data = file.read_bytes()
    entries = [data[at : at + size] for at in range(0, len(data), size)]
    chance.shuffle(entries)
    file.write_bytes(b"".join(entries))


def extend(file: Path, chance: random.Random) -> None:
    """Entries of a longer log, which a truncation left behind."""
    size = {".index": 8, ".timeindex": 12, ".txnindex": 34}[file.suffix]
    data = file.read_bytes()
    numbers = (int.from_bytes(data[-size : -size + 4]) + 1, int.from_bytes(data[-size + 4 :]) + 50)
    file.write_bytes(data + b"".join(part.to_bytes(width) for part, width in zip(numbers, (4, size - 4), strict=True)))


def replace(file: Path, chance: random.Random) -> None:
    """With that of another partition or segment."""
    others = sorted(DATA["4.3.1"].path.glob(f"*/*{file.suffix}"))
    file.write_bytes(chance.choice(others).read_bytes())


LIES = [remove, empty, zero, pad, garble, cut, flip, shuffle, extend, replace]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
@pytest.mark.parametrize(("release", "partition"), PARTITIONS)
def test_no_index_file_changes_an_answer(tmp_path, release, partition, lie: Lie):
    """Whoever repairs a cluster reads beside indexes that are missing, padded, of another file, or noise."""
    truth = answers(log_of(DATA[release].path, partition), random.Random(partition))
    for seed in range(2):
        chance, data = random.Random(f"{seed} {lie.__name__} {partition}"), tmp_path / str(seed)
        DATA[release].copy_to(data, partition)
        for file in sorted((data / partition).iterdir()):
            named = parse_segment_file(file.name)
            if named and named.kind in KINDS and (file.stat().st_size or lie is not extend) and chance.random() < 0.8:
                lie(file, chance)
        assert answers(log_of(data, partition), random.Random(partition)) == truth, seed


def test_indexes_of_every_other_partition_change_nothing(tmp_path):
    """A foreign index can look right: its positions may be real batches, its timestamps real timestamps."""
    data = DATA["4.3.1"]
    data.copy_to(tmp_path, "disorder-0")
    truth = answers(log_of(tmp_path, "disorder-0"), random.Random(1))
    for other in sorted(data.path.glob("*/*.timeindex")):
        for kind in (".index", ".timeindex"):
            (tmp_path / "disorder-0" / f"{0:020}{kind}").write_bytes(other.with_suffix(kind).read_bytes())
        assert answers(log_of(tmp_path, "disorder-0"), random.Random(1)) == truth, other


def test_an_entry_that_points_at_a_batch_with_a_false_base_offset_is_not_believed(tmp_path):
    """Regression: a point led to the batch behind, though a scan from the start found the damage."""
    batches = [made(number * 3, [number] * 3) for number in range(8)]
    path = write_partition(tmp_path, spread(batches, 8)) / f"{0:020}.log"
    data, at = bytearray(path.read_bytes()), sum(len(batch.data) for batch in batches[:4])
    data[at + 7] -= 2
    path.write_bytes(data)
    found = log_of(tmp_path).locate(14)[1]
    assert isinstance(found, Damage)
    assert (found.base_offset, found.last_offset) == (12, 14)
