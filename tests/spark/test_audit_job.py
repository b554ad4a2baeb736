"""The audit: no finding on what brokers leave behind, and a finding for each planted fault."""

import json
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkafs.format.batch import parse_batch
from kafkafs.format.kernels import crc32c
from kafkafs.revive.job import revive
from kafkafs.revive.plan import Choices
from kafkafs.sample import unpack
from kafkafs.spark.audit.audit_job import AuditReport, clean_of, joined
from kafkafs.spark.audit.findings import Finding
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.segment_units import segments_of
from tests.kafka.dataset import Dataset
from tests.kafka.writer import Record, Topic, Writer, create, transactional
from tests.log.making import NO_REGULAR_FILE, made, write_partition

LATEST = Dataset("4.3.1", "stopped")
FIRST = "00000000000000000000"


def look(*paths: Path) -> list[Finding]:
    """The findings, without Spark: one unit after the other."""
    units, clean = segments_of(paths), clean_of(paths)
    return joined(AuditReport(), paths, units, [check_segment(unit, clean) for unit in units]).findings


def test_nothing_is_wrong_with_what_brokers_write(dataset: Dataset):
    assert look(dataset.path) == []


def test_nothing_is_wrong_with_the_sample(tmp_path):
    assert look(unpack(tmp_path)) == []


@dataclass(frozen=True)
class Fault:
    """A change to one file of a copy, and the kind of finding that it must give."""

    partition: str
    file: str
    kind: str
    plant: Callable[[Path], object]


def flip(position: int) -> Callable[[Path], object]:
    def plant(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[position] ^= 0x40
        file.write_bytes(data)

    return plant


def cut(count: int) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes()[:-count])


def put(position: int, form: str, *values: int) -> Callable[[Path], object]:
    def plant(file: Path) -> None:
        data = bytearray(file.read_bytes())
        struct.pack_into(form, data, position, *values)
        file.write_bytes(data)

    return plant


def entry(slot: int, form: str, field: int, change: int) -> Callable[[Path], object]:
    """One field of an index entry, changed by a little."""

    def plant(file: Path) -> None:
        data, size = bytearray(file.read_bytes()), struct.calcsize(form)
        at = (slot % (len(data) // size)) * size
        values = list(struct.unpack_from(form, data, at))
        values[field] += change
        struct.pack_into(form, data, at, *values)
        file.write_bytes(data)

    return plant


def without(first: int, stop: int, size: int) -> Callable[[Path], object]:
    """An index without some of its entries."""

    def plant(file: Path) -> None:
        data = file.read_bytes()
        file.write_bytes(data[: first * size] + data[stop * size :])

    return plant


def header(batch: int, field: int, mask: int = 1) -> Callable[[Path], object]:
    """A flipped bit in a header field of a batch."""

    def plant(file: Path) -> None:
        data = bytearray(file.read_bytes())
        positions, position = [], 0
        while found := parse_batch(bytes(data[position : position + 100]), 0, position):
            positions.append(position)
            position = found.end
        data[positions[batch] + field] ^= mask
        file.write_bytes(data)

    return plant


def beside(name: str) -> Callable[[Path], object]:
    return lambda file: (file.parent / name).write_text("x")


def segment_removed(file: Path) -> None:
    for each in file.parent.glob(f"{file.stem}.*"):
        each.unlink()


TRANSACTION = ">hqqqq"


def text(content: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(content)


def count_raised(file: Path) -> None:
    """The first batch states more records than it has room for, with a CRC that holds."""
    data = bytearray(file.read_bytes())
    batch = parse_batch(bytes(data), 0, 0)
    assert batch is not None
    struct.pack_into(">i", data, 57, 10_000)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21 : batch.size])))
    file.write_bytes(data)


FAULTS = {
    "crc": Fault("long-index-0", f"{FIRST}.log", "crc", flip(1000)),
    "crc in the last batch": Fault("binary-0", f"{FIRST}.log", "crc", flip(-3)),
    "crc in a closed segment": Fault("segments-0", "00000000000000000100.log", "crc", flip(150)),
    "cut in a closed segment": Fault("segments-0", "00000000000000000100.log", "cut-batch", cut(7)),
    "cut at the end": Fault("binary-0", f"{FIRST}.log", "invalid-tail", cut(5)),
    "size": Fault("long-index-0", f"{FIRST}.log", "crc", put(8, ">i", 200)),
    "base offset": Fault("segments-0", "00000000000000000100.log", "offset-order", put(0, ">q", 500)),
    "garbage": Fault("long-index-0", f"{FIRST}.log", "not-a-batch", put(8, ">i", 3)),
    "leader epoch": Fault("segments-0", "00000000000000000100.log", "leader-epoch-checkpoint", put(12, ">i", 7)),
    "records stated": Fault("long-index-0", f"{FIRST}.log", "record-count", count_raised),
    "empty log": Fault("segments-0", "00000000000000000100.log", "empty-log", text("")),
    "no log": Fault("segments-0", "00000000000000000100.log", "missing-log", Path.unlink),
    "index offset": Fault("long-index-0", f"{FIRST}.index", "offset-index-entry", put(80, ">i", 12)),
    "index position": Fault("long-index-0", f"{FIRST}.index", "offset-index-entry", flip(87)),
    "first index entry": Fault("long-index-0", f"{FIRST}.index", "offset-index-entry", flip(3)),
    "last index entry": Fault("long-index-0", f"{FIRST}.index", "offset-index-entry", flip(-1)),
    "index length": Fault("segments-0", "00000000000000000100.index", "index-length", cut(3)),
    "index padded": Fault("segments-0", "00000000000000000100.index", "index-padding",
                          lambda file: file.write_bytes(file.read_bytes() + bytes(800))),
    "no index": Fault("segments-0", "00000000000000000100.index", "missing-index", Path.unlink),
    "no time index": Fault("segments-0", "00000000000000000100.timeindex", "missing-index", Path.unlink),
    "index emptied": Fault("transactions-0", f"{FIRST}.index", "offset-index-sparse", text("")),
    "time": Fault("long-index-0", f"{FIRST}.timeindex", "time-index-entry", flip(12 * 40 + 7)),
    "time index offset": Fault("long-index-0", f"{FIRST}.timeindex", "time-index-entry", flip(12 * 40 + 11)),
    "time index emptied": Fault("segments-0", "00000000000000000100.timeindex", "time-index-end", text("")),
    "time index shortened": Fault("long-index-0", f"{FIRST}.timeindex", "time-index-end", cut(12)),
    "aborted producer": Fault("transactions-0", f"{FIRST}.txnindex", "transaction-index-entry", flip(9)),
    "aborted offset": Fault("transactions-0", f"{FIRST}.txnindex", "transaction-index-entry", flip(25)),
    "aborted first": Fault("transactions-0", f"{FIRST}.txnindex", "transaction-index-entry", put(10, ">q", 10**6)),
    "aborts lost": Fault("transactions-0", f"{FIRST}.txnindex", "transaction-index-missing", Path.unlink),
    "aborts cut": Fault("transactions-0", f"{FIRST}.txnindex", "transaction-index-missing", cut(34)),
    "aborted first, by one": Fault(
        "transactions-0", f"{FIRST}.txnindex", "transaction-index-entry", entry(-1, TRANSACTION, 2, 1)
    ),
    "aborted first of an earlier segment": Fault(
        "transactions-spread-0", "*.txnindex", "transaction-index-entry", entry(-1, TRANSACTION, 2, -1)
    ),
    "last stable offset": Fault(
        "transactions-0", f"{FIRST}.txnindex", "transaction-index-entry", entry(-1, TRANSACTION, 4, -1)
    ),
    "aborts lost that began earlier": Fault(
        "transactions-spread-0", "*.txnindex", "transaction-index-missing", Path.unlink
    ),
    "time index offset, by one": Fault(
        "segments-0", "00000000000000000100.timeindex", "time-index-entry", entry(0, ">qi", 1, -1)
    ),
    "index entries lost": Fault("long-index-0", f"{FIRST}.index", "offset-index-sparse", without(20, 40, 8)),
    "last index entries lost": Fault("long-index-0", f"{FIRST}.index", "offset-index-sparse", without(20, 9999, 8)),
    "time entries lost": Fault("long-index-0", f"{FIRST}.timeindex", "time-index-sparse", without(20, 40, 12)),
    "base offset of the last batch": Fault("binary-0", f"{FIRST}.log", "checkpoint-offset", header(-1, 7, 0x40)),
    "segment lost": Fault("segments-0", "00000000000000000100.log", "missing-offsets", segment_removed),
    "foreign file": Fault("segments-0", "00000000000000000100.log", "foreign", beside("notes.txt")),
    "segment name": Fault("segments-0", "00000000000000000100.log", "foreign", beside("100.log")),
    "epochs emptied": Fault("segments-0", "leader-epoch-checkpoint", "leader-epoch-checkpoint", text("")),
    "another topic's id": Fault("partitions-1", "partition.metadata", "topic-id",
                                text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")),
    "identity": Fault("", "meta.properties", "properties", text("?")),
    "not flushed": Fault("", "recovery-point-offset-checkpoint", "checkpoint-offset", text("0\n1\nsegments 0 7\n")),
    "snapshot": Fault("transactions-0", "*.snapshot", "snapshot", flip(-1)),
    "epochs": Fault("segments-0", "leader-epoch-checkpoint", "leader-epoch-checkpoint", text("0\n1\n5 0\n")),
    "epochs torn": Fault("segments-0", "leader-epoch-checkpoint", "leader-epoch-checkpoint", text("0\n3\n5 0\n")),
    "topic id": Fault("segments-0", "partition.metadata", "partition-metadata", text("version: 0\ntopic_id: ?")),
    "checkpoint": Fault("", "replication-offset-checkpoint", "checkpoint", text("0\nx\n")),
    "high watermark": Fault("", "replication-offset-checkpoint", "checkpoint-offset", text("0\n1\nsegments 0 9999\n")),
    "log start": Fault("", "log-start-offset-checkpoint", "checkpoint-offset", text("0\n1\nsegments 0 9999\n")),
    "recovery point": Fault("", "recovery-point-offset-checkpoint", "checkpoint-offset", text("0\n1\nsegments 0 -4\n")),
}  # fmt: skip


SIBLINGS = ("partitions-0", "partitions-2", "partitions-3", "partitions-4")
ELSEWHERE = ("leader-epoch-checkpoint", "missing-offsets", "foreign", "checkpoint-offset")
"""Findings that are told of another file than the one that was changed."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, tmp_path):
    fault = FAULTS[name]
    data = LATEST.copy_to(tmp_path / "data", fault.partition or "segments-0", *SIBLINGS)
    file = sorted((data / fault.partition).glob(fault.file))[-1]
    fault.plant(file)
    findings = look(data)
    assert fault.kind in {finding.kind for finding in findings}
    assert all(finding.file.startswith(fault.partition) or finding.kind == "checkpoint-offset" for finding in findings)
    assert any(finding.file.endswith(file.name) or fault.kind in ELSEWHERE for finding in findings)
    topic, _, number = fault.partition.rpartition("-")
    assert all((each.topic, each.partition) == (topic, int(number)) for each in findings if number)


def test_segments_that_compaction_emptied_are_no_loss_where_no_checkpoint_tells_of_it(tmp_path):
    """A copy without the cleaner's checkpoint: KAFKA-12889 leaves such a segment each 2^31 offsets."""
    kept = made(6_443_250_000, [1_700_000_000_000])
    directory = write_partition(tmp_path, {0: [], 2_148_249_632: [], 4_295_766_494: [], kept.base: [kept]})
    assert look(tmp_path) == []
    (directory / f"{2_148_249_632:020}.timeindex").write_bytes(struct.pack(">qi", 1_600_000_000_000, 5))
    assert [each.kind for each in look(tmp_path) if each.severity == "data loss"] == ["empty-log"]


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
@pytest.mark.parametrize("make", NO_REGULAR_FILE)
def test_what_is_no_regular_file_in_an_index_s_place_ends_no_audit(make, kind, tmp_path):
    """Regression: of a FIFO there, "the segment 0 of t-0 changes again and again while it is read", and exit code 2."""
    directory = write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    (directory / f"{FIRST}.{kind}").unlink(missing_ok=True)
    make(directory / f"{FIRST}.{kind}")
    assert {each.kind for each in look(tmp_path)} - {"missing-index"} == {"not-regular"}


@pytest.mark.parametrize("name", ["meta.properties", "log-start-offset-checkpoint", "replication-offset-checkpoint"])
@pytest.mark.parametrize("make", NO_REGULAR_FILE)
def test_what_is_no_regular_file_among_those_of_a_broker_is_found(make, name, tmp_path):
    """Regression: of a FIFO or a link nothing was said, and what stood there counted as absent."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    assert [(found.file, found.kind in ("not-regular", "foreign")) for found in look(tmp_path)] == [(name, True)]


def test_a_transaction_index_of_a_hole_is_one_finding(tmp_path):
    """Regression: each of 493,447 entries was one, in half a minute: as many as 16 MB of zeros have."""
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    with (directory / f"{FIRST}.txnindex").open("wb") as file:
        file.truncate(1 << 33)
    (found,) = look(tmp_path)
    assert (found.kind, found.severity) == ("transaction-index-entry", "rebuildable index")
    assert "more entries than there can be markers" in found.message


def test_a_batch_that_stands_there_twice_owns_no_offset(tmp_path):
    """Regression: "they own the offsets 0 to -1". An index leads to the second one, which is the one too many."""
    write_partition(tmp_path, {0: [made(0, [1]), made(0, [1]), made(1, [2])]})
    found = [(each.kind, each.message[-18:]) for each in look(tmp_path)]
    assert found == [("offset-order", "they own no offset"), ("offset-index-entry", "batch begins there")]


def test_a_directory_that_is_no_partition_is_found(tmp_path):
    (LATEST.copy_to(tmp_path / "data", "binary-0") / "lost+found").mkdir()
    assert [(finding.file, finding.kind) for finding in look(tmp_path / "data")] == [("lost+found", "foreign")]


def test_nothing_is_wrong_with_a_cluster_that_was_revived(tmp_path):
    """Whoever checks the new directory before he starts Kafka from it would be told of two files that revive wrote."""
    revive([unpack(tmp_path)], Choices(to=tmp_path / "new"))
    assert look(tmp_path / "new") == []


def test_a_torn_tail_of_a_log_in_use_is_no_finding(tmp_path):
    """The broker was killed, or writes at this moment: no marker of a clean stop."""
    data = LATEST.copy_to(tmp_path / "data", "binary-0")
    (data / ".kafka_cleanshutdown").unlink()
    (data / "replication-offset-checkpoint").unlink()
    (data / "recovery-point-offset-checkpoint").unlink()
    log = data / "binary-0" / f"{FIRST}.log"
    index, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
    index.write_bytes(index.read_bytes() + bytes(8000))
    times.write_bytes(times.read_bytes() + bytes(12000))
    whole = log.read_bytes()
    for torn in (whole + whole[:40], whole + bytes(4096), whole + whole[:70] + bytes(400)):
        log.write_bytes(torn)
        assert look(data) == []


@pytest.mark.parametrize("size", [0, 9, -1])
def test_a_snapshot_that_is_not_filled_yet_is_no_finding(size, tmp_path):
    """At the log end of a broker that runs, or was killed; elsewhere it has long been written."""
    data = LATEST.copy_to(tmp_path / "data", "transactions-0")
    snapshots = sorted((data / "transactions-0").glob("*.snapshot"))
    assert len(snapshots) > 1
    last = snapshots[-1].read_bytes()
    snapshots[-1].write_bytes(last[:size])
    assert {finding.kind for finding in look(data)} == {"snapshot"}
    (data / ".kafka_cleanshutdown").unlink()
    assert look(data) == []
    flip(-1)(snapshots[0])
    assert {Path(finding.file).name for finding in look(data)} == {snapshots[0].name}
    snapshots[-1].write_bytes(last)
    flip(-1)(snapshots[-1])
    assert len(look(data)) == 2
    snapshots[0].write_bytes(b"")
    assert len(look(data)) == 2


def test_old_entries_behind_a_truncation_are_no_finding(tmp_path):
    """A follower's index keeps, behind its live entries, those of the records that were cut off."""
    live = Dataset("4.3.1", "live")
    data = live.copy_to(tmp_path / "data", "long-index-0")
    log = data / "long-index-0" / f"{FIRST}.log"
    header = parse_batch(log.read_bytes()[: 1 << 16], 0, 0)
    assert header is not None
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (data / name).unlink(missing_ok=True)
    log.write_bytes(log.read_bytes()[: header.size * 600])
    assert look(data) == []


def test_entries_out_of_order_in_a_growing_index_are_a_finding(tmp_path):
    """What a truncation leaves continues what stands before it; this does not."""
    live = Dataset("4.3.1", "live")
    data = live.copy_to(tmp_path / "data", "long-index-0")
    index = data / "long-index-0" / f"{FIRST}.index"
    entries = len(index.read_bytes().rstrip(b"\0")) // 8
    put(entries * 8, ">ii", 3, 70)(index)
    assert {finding.slot for finding in look(data)} >= {entries}


def test_an_abort_that_came_after_the_log_was_read_is_no_finding(tmp_path):
    """The index of a log in use is read after the log, and may name what was written in between."""
    live = Dataset("4.3.1", "live")
    data = live.copy_to(tmp_path / "data", "transactions-0")
    last = max((data / "transactions-0").glob("*.log"))
    end = live.offsets("transactions").latest
    index = last.with_suffix(".txnindex")
    before = index.read_bytes() if index.exists() else b""
    index.write_bytes(before + struct.pack(TRANSACTION, 0, 1, end, end + 2, end + 3))
    assert look(data) == []
    index.write_bytes(before + struct.pack(TRANSACTION, 0, 1, end - 2, end - 1, end))
    assert {finding.kind for finding in look(data)} == {"transaction-index-entry"}


def test_nothing_is_wrong_while_a_broker_writes(running_broker):
    """Looks in the midst of appends, rolls, aborts and checkpoints, and of files that have just been made."""
    node = running_broker("4.3.1")
    settings = {"segment.bytes": 1 << 20}
    create(node, {"audited": Topic(settings=settings), "audited-transactions": Topic(settings=settings)})
    done = threading.Event()

    def write() -> None:
        plain, transacted = Writer(node, "lz4"), transactional(node, "audited")
        number = 0
        while not done.is_set():
            number += 1
            plain.batch("audited", [Record(bytes([number % 256, each]) * 3000) for each in range(20)])
            transacted.begin()
            transacted.batch("audited-transactions", [Record(b"t" * 9000)] * 5)
            (transacted.abort if number % 2 else transacted.commit)()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            found = []
            while len(list((node.data / "audited-transactions-0").glob("*.log"))) < 3 and not writing.done():
                found += look(node.data)
        finally:
            done.set()
        writing.result(60)
    assert found == []


def test_the_command_reports_and_ends_with_the_right_code(command, capsys, tmp_path):
    data = LATEST.copy_to(tmp_path / "data", "segments-0", "transactions-0")
    flip(150)(data / "segments-0" / "00000000000000000100.log")
    assert command("audit", data) == 1
    found = capsys.readouterr()
    (line,) = found.out.splitlines()
    row = json.loads(line)
    assert (row["file"], row["kind"], row["offset"]) == ("segments-0/00000000000000000100.log", "crc", 101)
    assert "1 findings (1 crc)" in found.err
    assert command("audit", tmp_path / "nowhere") == 2
    nowhere = capsys.readouterr()
    assert (nowhere.out, nowhere.err.count("\n")) == ("", 1)
