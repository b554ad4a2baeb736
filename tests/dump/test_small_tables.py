"""The small tables: aborted transactions and producers. Real ones are in the recorded dumps."""

import struct
from pathlib import Path

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.format.kernels import crc32c
from tests.dump.dumped import dumped

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
    assert "version 1" in answer.problems[0]
