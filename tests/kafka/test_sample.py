"""The bundled sample is the worked example: each of its numbers against the bytes, and Kafka's own tool beside them."""

import re
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs import sample
from tests.kafka import jars
from tests.kafka.dumps import TOOL
from tests.kafka.sample import FIRST_OFFSET, worked_example

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
BATCH_HEADER = struct.Struct(">qiibIhiqq")
LARGEST_SAMPLE_BYTES = 200_000
SEGMENT = f"{FIRST_OFFSET:020}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, unpacked."""
    return sample.unpack(tmp_path_factory.mktemp("sample"))


def offset_index(data: Path) -> dict[int, int]:
    """{offset: position}"""
    entries = OFFSET_ENTRY.iter_unpack((data / "test-0" / f"{SEGMENT}.index").read_bytes())
    return {FIRST_OFFSET + relative: position for relative, position in entries}


def time_index(data: Path) -> dict[int, int]:
    """{timestamp: offset}"""
    entries = TIME_ENTRY.iter_unpack((data / "test-0" / f"{SEGMENT}.timeindex").read_bytes())
    return {timestamp_ms: FIRST_OFFSET + relative for timestamp_ms, relative in entries}


def batches(data: Path) -> Iterator[tuple[int, int, int, int]]:
    """(position, first offset, last offset, largest timestamp) of each batch of `test`."""
    log = (data / "test-0" / f"{SEGMENT}.log").read_bytes()
    position = 0
    while position < len(log):
        first, length, _, magic, _, _, delta, _, max_ms = BATCH_HEADER.unpack_from(log, position)
        assert magic == 2
        yield position, first, first + delta, max_ms
        position += 12 + length


def test_the_offset_index_has_the_worked_examples_entries(data: Path) -> None:
    """These four lines are what every explanation of a lookup begins with."""
    assert offset_index(data) == {23228: 4171, 23307: 8279, 23390: 12432, 23479: 16648}


def test_the_time_index_ends_with_the_worked_examples_entries(data: Path) -> None:
    """The broker writes one with every offset entry; the example speaks of the two last."""
    entries = time_index(data)
    assert list(entries) == sorted(entries)
    assert list(entries.items())[-2:] == [(1632390207745, 23388), (1632390208071, 23475)]
    assert len(entries) == len(offset_index(data))


def test_the_named_batches_stand_in_the_log(data: Path) -> None:
    """23388..23390 causes the third entry, 23400..23402 is what a search by time finds."""
    by_first = {first: (position, last, max_ms) for position, first, last, max_ms in batches(data)}
    assert by_first[23388] == (12432, 23390, 1632390207745)
    assert by_first[23400][1:] == (23402, 1632390207806)
    assert by_first[23475] == (16648, 23479, 1632390208071)


def test_a_search_by_offset_starts_at_the_entry_below(data: Path) -> None:
    """23350 lies above 23307 and below 23390: its batch stands between 8279 and the next entry's position."""
    floor, ceiling = _around(offset_index(data), 23350)
    assert (floor, ceiling) == (8279, 12432)
    position = next(position for position, first, last, _ in batches(data) if first <= 23350 <= last)
    assert floor < position < ceiling


def test_a_search_by_time_starts_at_8279_and_ends_before_16648(data: Path) -> None:
    """1632390207806: time entry 23388, whose offset entry is 23307; the time entry above leads to 23479."""
    times, offsets = time_index(data), offset_index(data)
    floor, ceiling = _around(times, 1632390207806)
    assert (floor, ceiling) == (23388, 23475)
    start, end = _around(offsets, floor)[0], _around(offsets, ceiling)[1]
    assert (start, end) == (8279, 16648)
    first_at_or_after = next(
        first for position, first, _, max_ms in batches(data) if position >= start and max_ms >= 1632390207806
    )
    assert first_at_or_after == 23400


def _around(index: dict[int, int], wanted: int) -> tuple[int, int]:
    below = max(key for key in index if key <= wanted)
    above = min(key for key in index if key > wanted)
    return index[below], index[above]


def test_the_plan_is_what_the_broker_wrote(data: Path) -> None:
    """scripts/make-sample has to make this sample again, not another one."""
    planned = [len(batch) for batch in worked_example()]
    assert [last - first + 1 for _, first, last, _ in batches(data)] == planned


def test_kafkas_own_tool_reads_the_same(data: Path) -> None:
    """Numbers that only we can read would prove nothing; the tool also checks index against log."""
    files = ",".join(f"test-0/{SEGMENT}.{kind}" for kind in ("index", "timeindex", "log"))
    done = jars.run(jars.NEWEST, TOOL, "--files", files, cwd=data)
    out = done.stdout.decode()
    assert {int(o): int(p) for o, p in re.findall(r"^offset: (\d+) position: (\d+)$", out, re.M)} == offset_index(data)
    assert {int(t): int(o) for t, o in re.findall(r"^timestamp: (\d+) offset: (\d+)$", out, re.M)} == time_index(data)
    assert "isvalid: false" not in out
    assert "Mismatches" not in done.stderr.decode()


def test_orders_shows_codecs_headers_and_transactions(data: Path) -> None:
    """The second topic is for looking around; a topic of one kind of batch would be soon seen."""
    files = f"orders-0/{0:020}.log,orders-0/{0:020}.txnindex"
    out = jars.run(jars.NEWEST, TOOL, "--files", files, "--print-data-log", cwd=data).stdout.decode()
    assert set(re.findall(r"compresscodec: (\w+)", out)) == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert set(re.findall(r"endTxnMarker: (\w+)", out)) == {"COMMIT", "ABORT"}
    assert "headerKeys: [content-type,trace]" in out
    assert re.search(r"^version: 0 producerId: \d+ firstOffset: ", out, re.M)


def test_the_sample_is_small_and_clean(data: Path) -> None:
    """It is part of every installation."""
    assert sum(file.stat().st_size for file in data.rglob("*")) < LARGEST_SAMPLE_BYTES
    assert (data / ".kafka_cleanshutdown").exists()
    assert (data / "replication-offset-checkpoint").read_text().splitlines()[2:]


def test_unpacking_restores_the_brokers_times(data: Path) -> None:
    """A file's time is data: it dates a range where no timestamp does."""
    with tarfile.open(Path(sample.__file__).with_name(sample.ARCHIVE)) as packed:
        packed_s = packed.getmember(f"{sample.TOP}/test-0/{SEGMENT}.log").mtime
    assert (data / "test-0" / f"{SEGMENT}.log").stat().st_mtime == pytest.approx(packed_s, abs=0.001)
