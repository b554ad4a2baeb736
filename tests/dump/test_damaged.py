"""Damaged files, dumped by Kafka's own tool and by kafkafs: bits, bytes, zeros and cuts in real logs and indexes.

Where the tool gets through, nothing may differ. Where it ends with an exception, kafkafs prints the same up to there,
and then what can still be shown.
"""

import gzip
import random
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkafs.dump.damaged import MOST_RECORDS, records
from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import WHOLE, DumpOptions
from kafkafs.dump.entries import entry_at
from kafkafs.dump.file_dump import dump
from kafkafs.errors import CorruptData
from kafkafs.format.batch import LARGEST_HEADER, Batch
from kafkafs.format.memory import UNLIMITED
from tests.dump.dumped import by_the_tool, dumped, options_of, source_of
from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import Record
from tests.kafka.dataset import Dataset

LARGEST = 60_000  # bytes; damage in a small file is more likely to matter
COPIES = {".log": 40}


def damaged(data: bytes, dice: random.Random) -> bytes:
    """The file with one thing wrong, more often than not in a header."""
    broken = bytearray(data)
    at = dice.choice(entry_starts(data)) + dice.randrange(70) if dice.random() < 0.7 else dice.randrange(len(data))
    at = min(at, len(data) - 1)
    match dice.choice(["bit", "bit", "byte", "zeros", "cut"]):
        case "bit":
            broken[at] ^= 1 << dice.randrange(8)
        case "byte":
            broken[at] = dice.choice([0, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        case "zeros":
            zeros = min(dice.choice([1, 4, 20, 300]), len(data) - at)
            broken[at : at + zeros] = bytes(zeros)
        case "cut":
            del broken[at:]
    return bytes(broken)


def entry_starts(data: bytes) -> list[int]:
    """Where entries of a log begin; of another file, anywhere."""
    starts, at = [0], 0
    while at + 17 < len(data):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        starts.append(at)
    return [start for start in starts if start < len(data)]


def copies(dataset: Dataset, place: Path, suffix: str, seed: int) -> list[str]:
    """Damaged copies in `place`, each in a directory of its own with its sound neighbours; their names."""
    dice = random.Random(seed)
    files = sorted(file for file in dataset.path.glob(f"*/*{suffix}") if 0 < file.stat().st_size < LARGEST)
    names = []
    for number in range(COPIES.get(suffix, 20)):
        file = dice.choice(files)
        folder = place / str(number)
        folder.mkdir()
        for neighbour in file.parent.glob(f"{file.name.partition('.')[0]}.*"):
            shutil.copyfile(neighbour, folder / neighbour.name)
        (folder / file.name).write_bytes(damaged(file.read_bytes(), dice))
        names.append(f"{number}/{file.name}")
    return names


def compare(place: Path, names: Sequence[str], *flags: str) -> int:
    """Both dumps of all files; how many the tool got through."""
    options, reported_of = options_of(flags), by_the_tool(place, names, *flags)
    for name, reported in reported_of.items():
        answer = dumped(place, name, options)
        if reported.crashed:
            assert answer.text.startswith(reported.text), name
            assert answer.problems, f"{name}: the tool dies of it, and nothing is said"
        else:
            assert answer.text == reported.text, name
    return sum(not reported.crashed for reported in reported_of.values())


@pytest.mark.parametrize("flags", [["--print-data-log"], []], ids=["print", "plain"])
def test_a_damaged_log_is_shown_as_the_tool_shows_it(stopped: Dataset, tmp_path: Path, flags: list[str]) -> None:
    """The dump is what one looks at when a log is damaged."""
    names = copies(stopped, tmp_path, ".log", seed=len(flags))
    assert compare(tmp_path, names, *flags) > 20


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
def test_a_damaged_index_is_shown_as_the_tool_shows_it(stopped: Dataset, tmp_path: Path, suffix: str) -> None:
    """An index is looked at when lookups go wrong."""
    names = copies(stopped, tmp_path, suffix, seed=3)
    assert compare(tmp_path, names) > 6


def test_a_damaged_batch_takes_neither_minutes_nor_gigabytes() -> None:
    """A few kilobytes can unpack to millions of records out of order, which no kernel takes."""
    content = record_bytes(Record(0, 0, 0, None, None), 0, 0) * (MOST_RECORDS + 1)
    bomb = v2_around(gzip.compress(content, 1), MOST_RECORDS + 1, 0, MOST_RECORDS, attributes=1)
    batch = entry_at(bomb[:LARGEST_HEADER], 0, len(bomb))
    assert isinstance(batch, Batch)
    with pytest.raises(CorruptData, match="too many to look at one by one"):
        next(records(batch, bomb, 1 << 30, UNLIMITED))


BATCH = v2_around(record_bytes(Record(7, 0, 0, b"k", b"v"), 7, 0), 1, 7, 7)


@pytest.mark.parametrize(
    ("tail", "sentence"),
    [
        (bytes(17), None),
        (bytes(18), "there are zeros, and no batch: 18 bytes are not read"),
        (bytes(4096), "there are zeros, and no batch: 4096 bytes are not read"),
        (struct.pack(">qiib", 8, 13, 0, 2) + bytes(20), "a size of 13, too small for any batch"),
        (struct.pack(">qiib", 8, -9, 0, 2) + bytes(20), "a size of -9, too small for any batch"),
        (struct.pack(">qiib", 8, 20, 0, 2) + bytes(15), "has 32 bytes, too few for a header"),
        (struct.pack(">qiib", 8, 200, 0, 2) + bytes(15), None),
    ],
)
@pytest.mark.parametrize("before", [b"", BATCH])
def test_where_the_tool_dies_the_same_is_printed_and_said(
    tmp_path: Path, before: bytes, tail: bytes, sentence: str | None
) -> None:
    """A preallocated log whose broker lost power is zeros: whoever asks for the exit code takes it for a sound one."""
    (tmp_path / f"{0:020}.log").write_bytes(before + tail)
    name = f"{0:020}.log"
    (reported,) = by_the_tool(tmp_path, [name]).values()
    answer = dumped(tmp_path, name, options_of([]))
    assert (answer.text, bool(answer.problems)) == (reported.text, reported.crashed)
    assert (sentence is None) == (not answer.problems)
    assert sentence is None or sentence in answer.problems[0]


def test_invalid_crcs_are_reported_once_and_are_no_reason_to_fail(tmp_path: Path) -> None:
    """As with the tool, whose lines say `isvalid: false` and whose exit code is 0."""
    flipped = BATCH[:-1] + bytes([BATCH[-1] ^ 1])
    for number, content in enumerate((BATCH + flipped, flipped + BATCH + flipped)):
        (tmp_path / f"{number:020}.log").write_bytes(content)
    findings, problems = Findings(), list[str]()
    findings.report = problems.append
    for number in range(2):
        b"".join(dump(source_of(tmp_path, f"{number:020}.log"), DumpOptions(), findings, WHOLE))
    assert findings.problems == 0
    assert [each.partition(": ")[2] for each in problems] == [
        f"the batch at position {len(BATCH)} has a wrong CRC.",
        "2 batches have a wrong CRC, the first at position 0.",
    ]


@pytest.mark.parametrize("flags", [[], ["--deep-iteration"]], ids=["plain", "deep"])
def test_a_codec_that_is_unknown_ends_the_tool_whether_records_are_read_or_not(
    tmp_path: Path, flags: list[str]
) -> None:
    """It dies while it prints the name of the codec; a script must not take the log for a sound one."""
    name = f"{0:020}.log"
    (tmp_path / name).write_bytes(BATCH + v2_around(b"", 1, 8, 8, attributes=5) + BATCH)
    (reported,) = by_the_tool(tmp_path, [name], *flags).values()
    answer = dumped(tmp_path, name, options_of(flags))
    assert reported.crashed
    assert answer.text.startswith(reported.text)
    assert ["there is no codec 5" in each for each in answer.problems] == [True]
