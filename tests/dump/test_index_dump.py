"""Indexes against their logs, where no real broker's data goes."""

import json
import struct
from pathlib import Path

import pytest

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.index_dump import FieldLines
from kafkafs.format.kernels import crc32c
from tests.counting import counted
from tests.dump.dumped import Dumped, by_the_tool, dumped, source_of
from tests.format.batch_maker import v2_around

BATCH = v2_around(b"", 0, 0, 4, max_timestamp=1000)


def make(place: Path, *entries: tuple[int, int], log: bytes | None = BATCH * 3, padding: int = 0) -> None:
    """`0.index` with these entries and, unless it is None, `0.log`."""
    (place / "0.index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries) + bytes(padding))
    if log is not None:
        (place / "0.log").write_bytes(log)


def make_time_index(place: Path, *entries: tuple[int, int], padding: int = 0) -> None:
    (place / "0.timeindex").write_bytes(b"".join(struct.pack(">qi", *entry) for entry in entries) + bytes(padding))


def shown(place: Path, suffix: str = "index", **options: bool) -> Dumped:
    return dumped(place, f"0.{suffix}", DumpOptions(**options))  # type: ignore[arg-type]


def test_an_entry_that_leads_to_no_batch_is_listed_and_reported(tmp_path: Path) -> None:
    """Stale entries after a truncation lead behind the log's end; Kafka's tool ends there."""
    make(tmp_path, (4, 0), (9, -5), (14, 10**6), (19, len(BATCH) * 3 - 10))
    answer = shown(tmp_path)
    assert answer.text.splitlines()[2:] == [
        "offset: 9 position: -5",
        "offset: 14 position: 1000000",
        "offset: 19 position: 173",
    ]
    assert answer.report == [f"Mismatches in :{tmp_path / '0.index'}"] + [
        f"  Index offset: {offset}, log offset: -1" for offset in (19, 14, 9)
    ]


def test_an_index_without_its_log_is_still_listed(tmp_path: Path) -> None:
    """Somebody sent the index alone."""
    make(tmp_path, (4, 0), log=None)
    make_time_index(tmp_path, (1000, 4))
    for suffix, line in (("index", "offset: 4 position: 0"), ("timeindex", "timestamp: 1000 offset: 4")):
        answer = shown(tmp_path, suffix)
        assert answer.text == f"Dumping 0.{suffix}\n{line}\n"
        assert "there is no 0.log beside it" in answer.problems[0]


def test_a_list_ends_where_the_padding_begins(tmp_path: Path) -> None:
    """The preallocated rest of a growing segment's index, of ten megabytes."""
    make(tmp_path, (4, 0), padding=8000)
    make_time_index(tmp_path, (1000, 4), padding=12000)
    assert shown(tmp_path).text.splitlines()[1:] == ["offset: 4 position: 0"]
    assert shown(tmp_path, "timeindex").text.splitlines()[1:] == ["timestamp: 1000 offset: 4"]


def test_padding_alone_is_an_entry_for_the_tool_and_for_us(tmp_path: Path) -> None:
    """Unless the log is empty too: there the tool ends with an exception."""
    make(tmp_path, padding=80)
    assert shown(tmp_path).text.splitlines()[1:] == ["offset: 0 position: 0"]
    make(tmp_path, padding=80, log=b"")
    assert shown(tmp_path).text.splitlines()[1:] == ["0.index is empty."]


def test_sanity_is_the_brokers_check_to_which_padding_is_entries(tmp_path: Path) -> None:
    """4.3.1's tool passes a padded offset index, and ends in an exception at a padded time index: what it printed
    until then is all that may stand there."""
    make(tmp_path, (4, 0), padding=80)
    make_time_index(tmp_path, (1000, 4), padding=120)
    assert shown(tmp_path, index_sanity_check=True).text == "Dumping 0.index\n0.index passed sanity check.\n"
    answer = shown(tmp_path, "timeindex", index_sanity_check=True)
    assert answer.text == "Dumping 0.timeindex\n"
    assert "its last entry (or zeros behind it) is before its first" in answer.problems[0]


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_sane_index_has_whole_entries(tmp_path: Path, suffix: str) -> None:
    """A byte too many is the end of the check, none at all is not."""
    make(tmp_path, (4, 0))
    make_time_index(tmp_path, (1000, 4))
    whole = shown(tmp_path, suffix, index_sanity_check=True)
    assert whole.text == f"Dumping 0.{suffix}\n0.{suffix} passed sanity check.\n"
    (tmp_path / f"0.{suffix}").write_bytes((tmp_path / f"0.{suffix}").read_bytes() + b"\0")
    answer = shown(tmp_path, suffix, index_sanity_check=True)
    assert "are not a whole number of entries" in answer.problems[0]
    assert answer.text == f"Dumping 0.{suffix}\n"


def test_an_index_that_ends_below_its_base_is_not_sane(tmp_path: Path) -> None:
    """Written for another segment, or torn."""
    make(tmp_path, (4, 0), (-3, 70))
    assert (
        "its last entry (or zeros behind it) is before its first"
        in shown(tmp_path, index_sanity_check=True).problems[0]
    )
    make_time_index(tmp_path, (1000, 4), (900, 9))
    assert (
        "its last entry (or zeros behind it) is before its first"
        in shown(tmp_path, "timeindex", index_sanity_check=True).problems[0]
    )


def test_times_are_compared_with_the_records(tmp_path: Path) -> None:
    """The header's largest timestamp may lie; a batch without records has none."""
    make(tmp_path, (4, 0))
    make_time_index(tmp_path, (1000, 4), (900, 4), (1200, 3), (1300, 99))
    path = tmp_path / "0.timeindex"
    assert shown(tmp_path, "timeindex").report == [
        f"Found timestamp mismatch in :{path}",
        "  Index timestamp: 1000, log timestamp: -1",
        "  Index timestamp: 900, log timestamp: -1",
        f"Found out of order timestamp in :{path}",
        "  Index timestamp: 900, Previously indexed timestamp: 1000",
        f"The following indexed offsets are not found in :{path}",
        "Indexed offset: 3, found log offset: 4",
        "Indexed offset: 99, found log offset: -1",
    ]


def test_verifying_lists_nothing(tmp_path: Path) -> None:
    """Only what is wrong is told."""
    make(tmp_path, (4, 0), (7, len(BATCH)))
    answer = shown(tmp_path, verify_index_only=True)
    assert answer.text == "Dumping 0.index\n"
    assert answer.report[1:] == ["  Index offset: 7, log offset: 4"]


ENTRY = struct.Struct(">qhiqiqiq")


def snapshot(*producers: tuple[int, ...]) -> bytes:
    body = struct.pack(">i", len(producers)) + b"".join(ENTRY.pack(*producer) for producer in producers)
    return struct.pack(">hI", 1, crc32c(body)) + body


def test_a_producer_without_a_batch_has_a_short_line(tmp_path: Path) -> None:
    """It has an open transaction only, or none."""
    (tmp_path / "0.snapshot").write_bytes(snapshot((7, 0, -1, -1, 0, -1, -1, 55), (8, 2, 5, 0, 9, 77, 3, -1)))
    assert dumped(tmp_path, "0.snapshot", DumpOptions()).text.splitlines()[1:] == [
        "producerId: 7 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong[55] lastTimestamp: -1",
        "producerId: 8 producerEpoch: 2 coordinatorEpoch: 3 currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 77"
        " firstSequence: 2147483644 lastSequence: 5 lastOffset: 0 offsetDelta: 9 timestamp: 77",
    ]


def test_a_torn_snapshot_shows_nothing_and_says_why(tmp_path: Path) -> None:
    """Kafka writes it in place, deletes it when it is torn, and builds it anew."""
    whole = snapshot((7, 0, -1, -1, 0, -1, -1, 55))
    for broken in (b"", whole[:5], whole[:-1], whole[:-1] + b"\x01", b"\0\x02" + whole[2:]):
        (tmp_path / "0.snapshot").write_bytes(broken)
        answer = dumped(tmp_path, "0.snapshot", DumpOptions())
        assert answer.text == "Dumping 0.snapshot\n"
        assert len(answer.problems) == 1


def test_a_cut_entry_of_a_transaction_index_does_not_count(tmp_path: Path) -> None:
    """It was being written."""
    entry = struct.pack(">hqqqq", 0, 4242, 110, 113, 114)
    (tmp_path / "0.txnindex").write_bytes(entry + entry[:33])
    assert dumped(tmp_path, "0.txnindex", DumpOptions()).text == (
        "Dumping 0.txnindex\nversion: 0 producerId: 4242 firstOffset: 110 lastOffset: 113 lastStableOffset: 114\n"
    )


def test_a_version_from_the_future_ends_the_list(tmp_path: Path) -> None:
    """Its fields may mean something else. Kafka's tool shows nothing at all then."""
    known, unknown = struct.pack(">hqqqq", 0, 1, 2, 3, 4), struct.pack(">hqqqq", 256, 1, 2, 3, 4)
    (tmp_path / "0.txnindex").write_bytes(known + unknown + known)
    answer = dumped(tmp_path, "0.txnindex", DumpOptions())
    assert len(answer.text.splitlines()) == 2
    assert "version 256" in answer.problems[0]


@pytest.mark.parametrize("version", [1, 255, -1])
def test_a_version_that_older_tools_list_is_listed_and_reported(tmp_path: Path, version: int) -> None:
    """4.4.0's ends there."""
    (tmp_path / "0.txnindex").write_bytes(struct.pack(">hqqqq", version, 1, 2, 3, 4) * 2)
    answer = dumped(tmp_path, "0.txnindex", DumpOptions())
    (reported,) = by_the_tool(tmp_path, ["0.txnindex"]).values()
    assert reported.crashed
    assert answer.text.count(" lastOffset: 3 ") == 2
    assert [f"version {version}," in each for each in answer.problems] == [True]


def test_a_line_of_text_names_each_number(tmp_path: Path) -> None:
    """As Kafka's tool does."""
    fields = FieldLines(source_of(tmp_path, "0.index"), DumpOptions(), ("offset", "position"))
    assert fields.line(5, -1) == "offset: 5 position: -1\n"


def test_a_line_of_json_says_of_which_file_it_is(tmp_path: Path) -> None:
    """Whatever the file is called."""
    name = '100%s "quoted" \udcff.index'
    fields = FieldLines(source_of(tmp_path, name), DumpOptions(json=True), ("offset",))
    assert json.loads(fields.line(5)) == {"file": '100%s "quoted" \N{REPLACEMENT CHARACTER}.index', "offset": 5}


def test_without_its_offset_index_a_segment_is_read_once(tmp_path: Path) -> None:
    """Regression: from its start for each entry; a gigabyte with a quarter of a million of them took for ever."""
    log = b"".join(v2_around(b"", 0, at, at + 4, max_timestamp=1000 + at) for at in range(0, 1000, 5))
    (tmp_path / "0.log").write_bytes(log)
    times = [(1000 + at, at + 4) for at in range(0, 1000, 5)]
    make_time_index(tmp_path, *times, (5000, 7), (6000, 999), (7000, 1001))
    answer, read = counted(shown, tmp_path, "timeindex")
    assert read < 20 * len(log)
    assert [line for line in answer.report if line.startswith("Indexed")] == [
        "Indexed offset: 7, found log offset: 9",
        "Indexed offset: 1001, found log offset: -1",
    ]


@pytest.mark.parametrize(
    ("position", "tail", "reason"),
    [
        (0, b"", None),
        (0, bytes(16), None),
        (0, bytes(40), "there are zeros, and no batch"),
        (0, struct.pack(">qiib", 15, 8, 0, 2) + bytes(50), "a size of 8, too small"),
        (-7, b"", "leads to position -7"),
        (10**6, b"", "leads to position 1000000"),
    ],
)
def test_a_search_for_a_time_that_ends_the_tool_is_a_problem(
    tmp_path: Path, position: int, tail: bytes, reason: str | None
) -> None:
    """One is told, however many entries lead there."""
    name = f"{0:020}"
    (tmp_path / f"{name}.log").write_bytes(BATCH + tail)
    (tmp_path / f"{name}.index").write_bytes(struct.pack(">ii", 5, position))
    (tmp_path / f"{name}.timeindex").write_bytes(struct.pack(">qiqi", 2000, 7, 3000, 9))
    (reported,) = by_the_tool(tmp_path, [f"{name}.timeindex"]).values()
    answer = dumped(tmp_path, f"{name}.timeindex", DumpOptions())
    assert answer.text.startswith(reported.text)
    assert reported.crashed == (reason is not None)
    assert [(reason or "") in problem for problem in answer.problems] == [True] * reported.crashed


def test_a_time_index_without_its_log_is_not_sane(tmp_path: Path) -> None:
    """Kafka's tool opens the log before it checks the index."""
    make_time_index(tmp_path, (1000, 4))
    assert "there is no 0.log beside it" in shown(tmp_path, "timeindex", index_sanity_check=True).problems[0]
