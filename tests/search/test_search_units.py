"""The window of a partition: cut so that each record is searched once, and what is selected of it."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.format.times import FromEnd
from kafkafs.log.partition import Partition
from kafkafs.log.places import Between
from kafkafs.log.segment import Segment
from kafkafs.search.search_units import UNITS, Searched, UnitSizes, selected
from kafkafs.search.selection import Pattern, Selection
from tests.kafka.dataset import Dataset, Record
from tests.log.making import made, partition_of, spread, write_partition
from tests.log.old_clients import each_offset_once, log_of_old_clients
from tests.log.reading import rows_of

EVERYTHING = Between()


def offsets_of(
    partition: Partition, selection: Selection, window: Between = EVERYTHING, sizes: UnitSizes = UNITS
) -> tuple[list[int], list[str]]:
    """The offsets that are selected, and what could not be read."""
    problems: list[str] = []
    every = Searched(partition, window, sizes).units()
    pieces = (piece for unit in every for piece in selected(unit, selection, problems.append))
    found = [row.offset for piece in pieces for row in rows_of(piece)]
    return found, problems


def plainly(records: tuple[Record, ...], stands: Callable[[bytes], bool]) -> list[int]:
    return [
        each.offset for each in records if any(stands(field) for field in (each.key, each.value) if field is not None)
    ]


@pytest.mark.parametrize("text", ["value", "1", "a.*1", "(?i)KEY|VALUE", "^$", r"\d\d+$", "\u00e9|x", "[^0-9]{5}"])
def test_every_log_of_real_brokers(stopped: Dataset, text: str) -> None:
    """All formats and codecs; text where it is UTF-8, else bytes."""
    as_text, as_bytes, selection = re.compile(text), re.compile(text.encode()), Selection(Pattern(text))

    def stands(field: bytes) -> bool:
        try:
            return as_text.search(field.decode()) is not None
        except UnicodeDecodeError:
            return as_bytes.search(field) is not None

    for name in stopped.partitions(internal=True):
        partition = partition_of(stopped.path, name.directory)
        assert offsets_of(partition, selection) == (plainly(stopped.records(*name), stands), []), name


@pytest.mark.parametrize("text", ["value", "1", "x", "%d", "."])
def test_fixed_strings_in_real_logs(stopped: Dataset, text: str) -> None:
    """Most of them are decided without decoding."""
    selection = Selection(Pattern(text, fixed=True))
    inverted = Selection(Pattern(text, fixed=True), inverted=True)
    for name in stopped.partitions():
        partition, records = partition_of(stopped.path, name.directory), stopped.records(*name)
        wanted = plainly(records, lambda field: text.encode() in field)
        assert offsets_of(partition, selection)[0] == wanted
        assert offsets_of(partition, inverted)[0] == sorted({each.offset for each in records} - set(wanted))


def test_units_tile_the_window(tmp_path):
    """However a log is cut, each record is searched once."""
    sizes = UnitSizes(300, 1000)
    write_partition(tmp_path, spread([made(number * 3, [number * 10] * 3) for number in range(60)], 20))
    partition, everything = partition_of(tmp_path), Selection(Pattern(""))
    assert len(list(Searched(partition, Between(), sizes).units())) > 10
    assert offsets_of(partition, everything, sizes=sizes)[0] == list(range(180))
    assert offsets_of(partition, everything, Between(7, 100), sizes)[0] == list(range(7, 100))
    assert offsets_of(partition, everything, Between(from_time=100, to_time=200))[0] == list(range(30, 60))
    assert offsets_of(partition, everything, Between(from_time=10_000))[0] == []
    assert offsets_of(partition, everything, Between(from_time=200, to_time=100))[0] == []


def test_a_window_is_of_one_moment(tmp_path, monkeypatch):
    """Regression: after all units the log was looked at anew, and a gap before what counts back from a newer record was
    not told of."""
    batches = [made(number, [1000 * number]) for number in range(5)]
    directory = write_partition(tmp_path, spread(batches, 1))
    monkeypatch.setattr(Segment, "is_readable", lambda segment: segment.base_offset != 2)
    partition = partition_of(tmp_path)
    searched = Searched(partition, Between(from_time=FromEnd(3000), to_time=FromEnd(500)))
    with open(directory / f"{4:020}.log", "ab") as log:
        log.write(made(5, [1_000_000]).data)
    partition.look_again()
    assert [unit.start for unit in searched.units()] == [1, 3]
    assert searched.unreadable() == [f"{2:020}.log"]


def test_what_is_corrupt_is_reported_and_the_rest_is_searched(tmp_path):
    path = write_partition(tmp_path, {0: [made(number, [number]) for number in range(10)]}) / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found, problems = offsets_of(partition_of(tmp_path), Selection(Pattern("v")))
    assert found == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert len(problems) == 1


def test_headers_of_a_name(stopped: Dataset):
    """Only the values of those headers count."""
    selection = Selection(Pattern("."), key=False, value=False, headers=(b"empty",))
    for name in stopped.partitions():
        wanted = [each.offset for each in stopped.records(*name)
                  if any(key == "empty" and value for key, value in each.headers)]  # fmt: skip
        assert offsets_of(partition_of(stopped.path, name.directory), selection)[0] == wanted


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_old_clients_give_each_offset_once(tmp_path: Path, seed: int) -> None:
    """Also where the batch that has it first has no match, and where a unit begins behind that one's header."""
    batches = log_of_old_clients(random.Random(seed), 60)
    write_partition(tmp_path, spread(batches, 15))
    partition, truth = partition_of(tmp_path), list(each_offset_once(batches))
    for text in ("record 0", "batch 1", "k3"):
        wanted = [row.offset for row in truth if text.encode() in (row.key or b"") + b"|" + (row.value or b"")]
        assert offsets_of(partition, Selection(Pattern(text))) == (wanted, [])
    for start in range(batches[-1].last + 1):
        found, _ = offsets_of(partition, Selection(Pattern("record 1")), Between(from_offset=start))
        assert found == [row.offset for row in truth if row.offset >= start and b"record 1" in (row.value or b"")]
