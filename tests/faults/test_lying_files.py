"""Files that claim more than they hold, a few KB on disk and gigabytes by their sizes and counts: a lookup stays cheap.

Whoever may write an index, a snapshot or a plan must not be able to fill the memory of a mount, or of root's command.
"""

import os
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.checkpoints import parse_leader_epochs, parse_offset_checkpoint, parse_partition_metadata
from kafkafs.format.kernels import crc32c
from kafkafs.format.key_index import KEY_PAGE, KEY_PAGE_CRC, KEY_PAGE_ROWS, MAGIC, Header, parse_header
from kafkafs.log.health import segments_health
from kafkafs.log.log import Log
from kafkafs.search.key_indexes import identity
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.index_check import check_offset_index, check_time_index
from kafkafs.spark.audit.log_check import check_log
from kafkafs.spark.reindex_keys import is_there
from kafkafs.spark.segment_units import SegmentLook, SegmentUnit
from tests.dump.dumped import dumped, options_of
from tests.log.making import partition_of, write_partition
from tests.log.reading import reader
from tests.search.test_key_indexes import indexed, segments, write_indexes
from tests.search.test_partition_keys import assert_like_a_dictionary

GIGABYTES = 3 << 30
MOST = 24 << 20
"""Bytes that anything here may take at once: what a small answer takes, with room to spare."""


@contextmanager
def cheap() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def sparse(path: Path, size: int, begin: bytes = b"", end: bytes = b"") -> None:
    """A file of that size with nothing but its beginning and its end on disk."""
    with open(path, "wb") as file:
        file.write(begin)
        file.truncate(size)
        os.pwrite(file.fileno(), end, size - len(end))
    assert path.stat().st_blocks * 512 < 64 << 10


@pytest.fixture
def log(tmp_path: Path) -> Log:
    write_partition(tmp_path / "data", segments(4))
    return partition_of(tmp_path / "data").log()


ROWS = (32 << 20) // 8 * KEY_PAGE_ROWS
"""So many that their fences have 32 MiB of zeros, whose checksum is quickly made."""


def lying_key_index(log: Log, place: Path) -> Path:
    """A key index of the log's first segment that claims a billion rows, as its own checksums confirm."""
    own = identity(log.segments[0])
    header = struct.pack("<8s16sqqIqI", MAGIC, bytes(16), *own, ROWS, crc32c(bytes(32 << 20))).ljust(
        KEY_PAGE_CRC, b"\0"
    )
    page = header + struct.pack("<I", crc32c(header))
    read = parse_header(page)
    assert isinstance(read, Header)
    assert read.rows == ROWS
    write_indexes(log, place)
    file = place / log.name.directory / own.file_name
    sparse(file, read.size, page)
    return file


def test_a_key_index_holds_no_more_keys_than_its_segment_has_offsets(log: Log, tmp_path: Path) -> None:
    """Regression: one lookup read 2 GB of fences, in 23 s."""
    lying_key_index(log, tmp_path / "i")
    keys = indexed(log, tmp_path / "i")
    with cheap():
        assert_like_a_dictionary(keys, reader(log))


def test_a_lying_key_index_is_made_again(log: Log, tmp_path: Path) -> None:
    file, own = lying_key_index(log, tmp_path / "i"), identity(log.segments[0])
    with open(file, "rb") as lying:
        header = parse_header(lying.read(KEY_PAGE))
    assert header is not None
    assert [header.is_of(own, offsets, file.stat().st_size) for offsets in (300, ROWS)] == [False, True]
    with cheap():
        assert not is_there(file, own, 300)
        assert not is_there(file, own, ROWS)  # nor where its log had so many: there are no pages


def test_an_index_has_no_more_entries_than_its_log_batches(log: Log, tmp_path: Path) -> None:
    """The last entry says that all before it are some: they were all read, by `info.json` and by every job."""
    first = tmp_path / "data" / log.name.directory / "00000000000000000000"
    sparse(first.with_suffix(".index"), GIGABYTES // 8 * 8, end=struct.pack(">ii", 299, 1))
    sparse(first.with_suffix(".timeindex"), GIGABYTES // 12 * 12, end=struct.pack(">qi", 1 << 50, 299))
    segment = partition_of(tmp_path / "data").log().segments[0]

    def audited(look: SegmentLook) -> list[Finding]:
        where = CheckedFile(str(tmp_path / "data"), f"t-0/{0:020}.index")
        _, valid = check_log(look, where, False)
        found = check_offset_index(look.segment, where, valid, False)
        return found + check_time_index(look.segment, where, valid, False)

    with cheap():
        assert not segment.indexes.offset_index.is_sound()
        assert not segment.indexes.time_index.is_sound()
        assert len(segment.indexes.offset_index.load()) < 1000
        assert segments_health([segment])[0][:2] == ("damaged", "damaged")
        assert SegmentUnit(tmp_path / "data", "t-0", 0, 0).ask(audited)


def test_a_transaction_index_has_no_more_entries_than_its_log_markers(log: Log, tmp_path: Path) -> None:
    first = tmp_path / "data" / log.name.directory / "00000000000000000000.txnindex"
    sparse(first, GIGABYTES)
    segment = partition_of(tmp_path / "data").log().segments[0]
    with cheap(), pytest.raises(CorruptData, match="more entries than there can be markers"):
        segment.indexes.aborted()


def test_small_files_announce_what_they_hold() -> None:
    """The count stands in front, so it is looked at first; of a hole it is none."""
    many = b"0\n3\n" + b"\n" * (1 << 20)
    hole = b"0\n3\n" + bytes(16 << 20)
    for data in (many, hole, many + bytes(1 << 20)):
        with cheap():
            for parse in (parse_offset_checkpoint, parse_leader_epochs, parse_partition_metadata):
                with pytest.raises(CorruptData):
                    parse(data)


@pytest.mark.parametrize("flags", [[], ["--index-sanity-check"]])
@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex", "snapshot"])
def test_a_dump_takes_no_more_than_a_piece(log: Log, tmp_path: Path, kind: str, flags: list[str]) -> None:
    """A file from a stranger is what `dump` is for."""
    directory = tmp_path / "data" / log.name.directory
    content = {
        "index": (b"", struct.pack(">ii", 5, 1)),
        "timeindex": (b"", struct.pack(">qi", 1 << 50, 5)),
        "txnindex": (b"\1\0", b""),
        "snapshot": (struct.pack(">hIi", 1, 0, 60 << 20), b""),
    }
    size = 64 << 20
    sparse(directory / f"00000000000000000000.{kind}", size, *content[kind])
    sparse(directory / "00000000000000000000.index", size, end=struct.pack(">ii", 5, 1))
    with cheap():
        dumped(directory, f"00000000000000000000.{kind}", options_of(flags))
