"""Decoding: true batches of every shape give their records, untrue ones a refusal, and nothing else ever happens."""

import gzip

import pytest
import zstandard

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import walk
from kafkafs.format.records import PIECE, Records, Refusal, decode
from tests.format.batch_maker import record_bytes, v2_around, v2_batch
from tests.format.decoding import LIMIT, decoded, unpacked
from tests.format.golden import BATCHES, COMMIT, V1_GZIP, V1_NONE, V2, V2_GZIP, V2_NONE, Record


@pytest.mark.parametrize("name", BATCHES)
def test_kafkas_own_bytes_give_kafkas_records(name):
    """Golden vectors of each format, made by Kafka's classes."""
    data, want = BATCHES[name]
    found, made = decoded(data)
    assert (found.stop, found.at, found.missing) == ("end", len(data), 0)
    assert found.rows["valid"].all()
    assert made == list(want)


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_cut_anywhere_is_no_batch_yet(name):
    """Beside a live broker the newest batch is often half there; that is a result, not a fault."""
    data, _ = BATCHES[name]
    for cut in range(len(data)):
        found, made = decoded(data[:cut])
        assert found.stop == ("end" if found.at == cut else "cut")
        assert found.at + found.missing <= len(data)
        assert all(isinstance(record, Record) for record in made)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", BATCHES)
def test_no_bit_flip_gives_anything_but_records_or_a_refusal(name, verify):
    """Disks and cables flip bits. With CRCs none gets through; without, structure alone must hold."""
    data, want = BATCHES[name]
    outside_crc = 17 if data[16] == 2 else 12
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        _, made = decoded(bytes(flipped), verify=verify)
        if verify and bit // 8 >= outside_crc:
            assert made != list(want)
        assert all(isinstance(item, Record) or type(item.error) in (CorruptData, TooLarge) for item in made)


def test_a_bad_batch_leaves_its_neighbours_alone():
    """`corrupt=skip` goes on behind it, and a range hands out all that stands before it."""
    bad = V2_NONE[:-1] + b"\x01"
    _, made = decoded(V1_NONE + bad + V2_GZIP + bad + bad + COMMIT)
    assert [item.batch for item in made if isinstance(item, Refusal)] == [3, 5, 6]
    assert len([item for item in made if isinstance(item, Record)]) == 3 + 3 + 1


def test_any_selection_of_batches_can_be_decoded():
    """Readers leave out control batches and aborted ones; the column `batch` counts in what they pass."""
    data = V2_NONE + COMMIT + V1_GZIP + V2_GZIP
    rows = walk(data, 5000).rows
    assert rows["position"].tolist() == [5000, 5097, 5175, 5286]
    pieces = [piece for piece in decode(data, 5000, rows[[0, 3]], LIMIT) if isinstance(piece, Records)]
    assert [record for piece in pieces for record in unpacked(piece)] == list(V2 + V2)
    assert [row for piece in pieces for row in piece.rows["batch"].tolist()] == [0, 0, 0, 1, 1, 1]


def test_records_between_offsets_are_a_view():
    """A range begins and ends inside batches."""
    (piece,) = decode(V2_NONE, 0, walk(V2_NONE, 0).rows, LIMIT)
    assert isinstance(piece, Records)
    assert unpacked(piece.between(101, 102)) == [V2[1]]
    assert unpacked(piece.between(0, 101)) == [V2[0]]
    assert len(piece.between(103, 500)) == 0


def values(made: list[Record | Refusal]) -> list[bytes | None]:
    return [record.value for record in made if isinstance(record, Record)]


def test_records_behind_the_last_offset_of_the_header_are_there():
    """Old clients left its delta at 0; Kafka's consumer gets them."""
    records = [Record(at, 0, 0, b"k", b"v%d" % at) for at in range(3)]
    content = b"".join(record_bytes(record, 0, 0) for record in records)
    healthy = v2_batch([Record(5, 0, 0, b"k", b"v5")])
    for pack, codec in ((bytes, 0), (gzip.compress, 1), (zstandard.compress, 4)):
        odd = v2_around(pack(content), 3, last=0, attributes=codec)
        _, made = decoded(healthy + odd + healthy)
        assert values(made) == [b"v5", b"v0", b"v1", b"v2", b"v5"]


@pytest.mark.parametrize("codec", range(8))
@pytest.mark.parametrize("content", [b"", b"\1\2\3", bytes(range(256)) * 12])
def test_a_batch_of_no_records_holds_nothing_that_could_be_lost(codec, content):
    """Compaction and old clients leave them with the codec that they had."""
    healthy = v2_batch([Record(5, 0, 0, b"k", b"v5")])
    empty = v2_around(content, 0, base=6, last=9, attributes=codec)
    assert values(decoded(healthy + empty + healthy)[1]) == [b"v5", b"v5"]
    assert list(decode(empty, 0, walk(empty, 0).rows, limit=1000)) == []


@pytest.mark.parametrize("count", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7])
def test_a_batch_of_any_number_of_records_comes_whole(count):
    """Large batches come in pieces, after all of them has been looked at."""
    want = [Record(2 * i, i, 0, None, b"%d" % i) for i in range(count)]
    data = v2_batch(want) if want else v2_around(b"", 0, 7, 9)
    _, made = decoded(data + V2_NONE, limit=1 << 24)
    assert made == want + list(V2)


def test_an_uncompressed_batch_over_the_limit_is_too_large():
    """`-o max_batch=` is about what a batch holds, packed or not."""
    data = v2_batch([Record(0, 0, 0, None, b"x" * 1000)])
    (refusal,) = decoded(data, limit=999)[1]
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, TooLarge)


def test_rows_of_other_data_are_refused_before_anything_is_read():
    """A row tells where its batch lies; with the wrong buffer that would be somebody else's memory."""
    rows = walk(V2_NONE + V2_GZIP, 1000).rows
    for data, position in ((V2_NONE, 1000), (V2_NONE + V2_GZIP, 1001), (V2_NONE + V2_GZIP, 0)):
        with pytest.raises(ValueError, match="other data"):
            list(decode(data, position, rows, LIMIT))
