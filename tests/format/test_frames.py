"""Frames: where the blocks are, what a frame that is cut or lies is called, and what Kafka's own reader refuses."""

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.codecs import LZ4, lz4_blocks, snappy_blocks, unpack
from tests.format.packers import lz4_frame, xerial

_NOISE = bytes(range(256)) * 700


def test_blocks_of_lz4_are_found_with_what_they_may_unpack_to():
    """Blocks of 64 KiB, stored or not; a frame that ends within one tells so behind the good ones."""
    frame = memoryview(lz4_frame(_NOISE, stored=True))
    blocks = list(lz4_blocks(frame, 2))
    assert b"".join(block for block, _, _ in blocks) == _NOISE
    assert [(len(block), stored, most) for block, stored, most in blocks[:-1]] == [(65536, True, 65536)] * 2
    cut = lz4_blocks(frame[:-8], 2)
    assert bytes(next(cut)[0]) == _NOISE[:65536]
    with pytest.raises(CorruptData, match="lz4"):
        list(cut)


def test_blocks_of_snappy_are_found():
    """Streams may follow each other; what is no stream is one block; a block must be there."""
    stream = xerial(_NOISE, 1000)
    blocks = list(snappy_blocks(memoryview(stream + stream)))
    assert len(blocks) == 2 * -(-len(_NOISE) // 1000)
    assert list(snappy_blocks(memoryview(stream[1:]))) == [stream[1:]]
    with pytest.raises(CorruptData, match="snappy"):
        list(snappy_blocks(memoryview(stream[:-1])))


@pytest.mark.parametrize("block", [b"\x10\0\1\0\0", b"\x10\0\1\0\x10\7"])
def test_a_block_that_ends_with_a_match_is_refused(block):
    """LZ4's last five bytes are literals. lz4-java, which Kafka reads with, throws on these; Kafka shows no record."""
    frame = lz4_frame(b"")[:7] + len(block).to_bytes(4, "little") + block + bytes(4)
    with pytest.raises(CorruptData, match="its lz4 data is broken"):
        unpack(LZ4, 2, frame, memoryview(bytearray(1 << 16)))


@pytest.mark.parametrize("slack", [0, 1, 20, 65526])
def test_a_block_that_ends_with_five_literals_is_read_into_any_room(slack):
    """So it is by Kafka."""
    block = b"\x10\0\1\0\x50abcde"
    frame = lz4_frame(b"")[:7] + len(block).to_bytes(4, "little") + block + bytes(4)
    room = memoryview(bytearray(10 + slack))
    assert unpack(LZ4, 2, frame, room) == 10
    assert bytes(room[:10]) == bytes(5) + b"abcde"
