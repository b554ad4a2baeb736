"""A part of a log by offsets or times: the same lines that the whole dump has, found without reading the rest."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.dump.dump_options import WHOLE, DumpOptions
from kafkafs.dump.dump_source import Source
from kafkafs.dump.file_dump import is_log
from kafkafs.dump.seeking import offset_at, window_of
from tests.dump.dumped import dumped, source_of
from tests.kafka.dataset import Dataset

OPTIONS = DumpOptions(print_data_log=True)
RECORD = re.compile(r"\| offset: (\d+) \w+: (-?\d+) .*")
PARTITIONS = ("segments-0", "disorder-0", "codec-zstd-0", "compacted-0", "transactions-0")


def logs(dataset: Dataset, partition: str) -> Iterator[Source]:
    for file in sorted((dataset.path / partition).iterdir()):
        if is_log(file.name):
            yield source_of(dataset.path, f"{partition}/{file.name}")


def records(dataset: Dataset, partition: str, start: int | None = None, stop: int | None = None) -> list[str]:
    """The lines of the records in [start, stop), over all logs of the partition."""
    lines: list[str] = []
    for source in logs(dataset, partition):
        window = WHOLE if start is None and stop is None else window_of(source, start, stop)
        lines += dumped(dataset.path, source.path, OPTIONS, window).text.splitlines()
    return [line for line in lines if RECORD.match(line)]


def number(line: str, group: int) -> int:
    match = RECORD.match(line)
    assert match
    return int(match[group])


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_window_of_offsets_has_the_lines_of_the_whole_dump(stopped: Dataset, partition: str) -> None:
    """Seeking must not change what is shown."""
    whole = records(stopped, partition)
    offsets = [number(line, 1) for line in whole]
    for at in range(0, len(offsets), max(1, len(offsets) // 12)):
        start, stop = offsets[at], offsets[min(at + 7, len(offsets) - 1)]
        wanted = [line for line in whole if start <= number(line, 1) < stop]
        assert records(stopped, partition, start, stop) == wanted
    assert records(stopped, partition, offsets[-1] + 1, None) == []


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_time_leads_to_the_first_record_that_is_not_earlier(stopped: Dataset, partition: str) -> None:
    """As in by-time/: first in offset order, whatever the order of the times."""
    whole = [(number(line, 1), number(line, 2)) for line in records(stopped, partition)]
    times = sorted({time_ms for _, time_ms in whole})
    for time_ms in [0, times[-1] + 1, *times[:: max(1, len(times) // 12)], *(time_ms - 1 for time_ms in times[-3:])]:
        first = next((offset for offset, stamp in whole if stamp >= time_ms), None)
        assert offset_at(list(logs(stopped, partition)), time_ms, OPTIONS) == first


@pytest.mark.parametrize("index", [b"", b"\xff" * 800, bytes(800), bytes(range(240)) * 8])
def test_a_wrong_index_costs_time_and_nothing_else(stopped: Dataset, tmp_path: Path, index: bytes) -> None:
    """What an index says is checked against the log."""
    stopped.copy_to(tmp_path, "segments-0")
    for file in (tmp_path / "segments-0").glob("*index"):
        file.write_bytes(index)
    source = source_of(tmp_path, "segments-0/00000000000000000000.log")
    whole = [line for line in dumped(tmp_path, source.path, OPTIONS).text.splitlines() if RECORD.match(line)]
    for line in whole:
        offset, time_ms = number(line, 1), number(line, 2)
        shown = dumped(tmp_path, source.path, OPTIONS, window_of(source, offset, offset + 1)).text
        assert shown.splitlines()[-1] == line
        assert offset_at([source], time_ms, OPTIONS) == offset


def test_nothing_is_said_of_a_log_outside_the_window(stopped: Dataset) -> None:
    """A partition of a thousand segments would otherwise give a thousand headings."""
    source = next(logs(stopped, "segments-0"))
    assert dumped(stopped.path, source.path, OPTIONS, window_of(source, 10**9, None)).text == ""


def test_the_front_of_a_log_is_not_read(stopped: Dataset) -> None:
    """That is what the flags are for."""
    source = source_of(stopped.path, "long-index-0/00000000000000000000.log")
    assert window_of(source, 2400, None).position > source.data.size // 2
