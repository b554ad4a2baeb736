"""Codecs: what Kafka's clients write is unpacked, bombs cost nothing, and broken bytes and frames are one error."""

import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.codecs import GZIP, LZ4, SNAPPY, ZSTD, decompress, lz4_blocks, measure, snappy_blocks, unpack
from tests.format.bombs import bombs
from tests.format.packers import bare_snappy, lz4_frame, xerial

LIMIT = 1 << 24


def zstd_frame(data: bytes) -> bytes:
    """A frame by a streaming encoder, which does not know the size before."""
    packer = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip.compress),
    "snappy": (SNAPPY, xerial),
    "snappy, small blocks": (SNAPPY, lambda data: xerial(data, 100)),
    "snappy, bare": (SNAPPY, bare_snappy),
    "lz4": (LZ4, lz4_frame),
    "lz4, all options": (LZ4, lambda data: lz4_frame(data, sums=True, content_sum=True, content_size=True, code=7)),
    "lz4, stored": (LZ4, lambda data: lz4_frame(data, stored=True, code=5)),
    "zstd": (ZSTD, zstd_frame),
    "zstd, size stated": (ZSTD, zstandard.ZstdCompressor().compress),
}
TEXT = b"".join(b'{"id":%d,"user":"u%d"}' % (i, i * 7919 % 1000) for i in range(4000))


CONTENTS = {
    "nothing": b"",
    "a byte": b"x",
    "short": TEXT[:1000],
    "text": TEXT,
    "noise": os.urandom(70_000),
    "zeros": bytes(5 << 20),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", PACKERS)
def test_what_a_client_packs_is_unpacked(name, content):
    """Each frame that a client of Kafka writes, of any size, with its sizes and bounds exact to the byte."""
    codec, pack = PACKERS[name]
    packed, size = pack(content), len(content)
    assert bytes(decompress(codec, 2, packed, LIMIT)) == content
    assert measure(codec, 2, packed, size) == size
    exact = memoryview(bytearray(size))
    assert unpack(codec, 2, packed, exact) == size
    assert exact == content
    if size:
        assert unpack(codec, 2, packed, memoryview(bytearray(size - 1))) is None
        for question in (measure, decompress):
            with pytest.raises(TooLarge):
                question(codec, 2, packed, size - 1)


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4))
def test_streams_one_behind_the_other_are_one(parts):
    """Java's readers go on with a member, frame or stream that follows; LZ4's stops at its first end."""
    whole = b"".join(parts)
    assert bytes(decompress(GZIP, 2, b"".join(map(gzip.compress, parts)), LIMIT)) == whole
    assert bytes(decompress(ZSTD, 2, b"".join(map(zstd_frame, parts)), LIMIT)) == whole
    assert bytes(decompress(SNAPPY, 2, b"".join(map(xerial, parts)), LIMIT)) == whole
    assert bytes(decompress(LZ4, 2, b"".join(map(lz4_frame, parts)), LIMIT)) == parts[0]


def test_gzip_ignores_what_follows_and_is_no_member():
    """As Java's GZIPInputStream does."""
    assert bytes(decompress(GZIP, 2, gzip.compress(b"abc") + b"\0\0garbage", LIMIT)) == b"abc"


def test_lz4_of_v0_has_its_own_header_checksum_and_nobody_looks():
    """Kafka 0.8 summed the magic bytes too; strict libraries refuse all its data."""
    packed = lz4_frame(TEXT, kafka_v0=True)
    assert packed[6] == 0x1A
    assert bytes(decompress(LZ4, 0, packed, LIMIT)) == TEXT
    for magic in (1, 2):
        with pytest.raises(CorruptData):
            decompress(LZ4, magic, packed, LIMIT)


def test_the_checksum_of_an_lz4_block_counts():
    """It stands over the packed bytes."""
    packed = bytearray(lz4_frame(TEXT, sums=True, stored=True))
    packed[20] ^= 1
    with pytest.raises(CorruptData):
        decompress(LZ4, 2, bytes(packed), LIMIT)


@pytest.mark.parametrize("magic", [0, 1])
def test_the_old_formats_have_no_zstd(magic):
    """Kafka refuses it there."""
    with pytest.raises(CorruptData, match="no codec 4"):
        decompress(ZSTD, magic, zstd_frame(b"x"), LIMIT)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_undefined_codec_is_refused(codec):
    """Three bits hold eight numbers."""
    with pytest.raises(CorruptData, match=f"no codec {codec}"):
        decompress(codec, 2, b"x", LIMIT)


@pytest.mark.parametrize("name", PACKERS)
def test_cut_and_flipped_data_is_bytes_or_one_error(name):
    """What a library raises must never be seen above this layer."""
    codec, pack = PACKERS[name]
    packed = pack(TEXT[:300])
    for cut in range(len(packed)):
        _bytes_or_error(codec, packed[:cut])
    for bit in range(8 * len(packed)):
        flipped = bytearray(packed)
        flipped[bit // 8] ^= 1 << bit % 8
        _bytes_or_error(codec, bytes(flipped))


@given(st.sampled_from([GZIP, SNAPPY, LZ4, ZSTD]), st.sampled_from([0, 1, 2]), st.binary(max_size=60), st.booleans())
def test_any_bytes_are_bytes_or_one_error(codec, magic, data, framed):
    """Random bytes behind a true start, so that they get past the first look."""
    starts = {GZIP: gzip.compress(b"")[:10], SNAPPY: xerial(b""), LZ4: lz4_frame(b"")[:7], ZSTD: zstd_frame(b"ab")[:6]}
    _bytes_or_error(codec, starts[codec] + data if framed else data, magic)


def _bytes_or_error(codec: int, packed: bytes, magic: int = 2) -> None:
    try:
        decompress(codec, magic, packed, LIMIT)
    except (CorruptData, TooLarge):
        return


def test_a_bomb_is_refused_as_too_large():
    """One hostile batch must not end the mount for everybody."""
    for codec, packed in bombs().values():
        with pytest.raises(TooLarge):
            decompress(codec, 2, packed, 256 << 20)


def test_sixteen_bombs_at_once_cost_one_window():
    """Each may ask for 128 MiB to unpack itself; all together must leave the mount and its neighbours alone."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.format.bombs"], capture_output=True, text=True, timeout=300, check=True
    )
    refused, megabytes = map(int, done.stdout.split())
    assert refused == 16
    assert megabytes < 330


def test_a_snappy_block_that_lies_about_its_size_is_corrupt():
    """The stated size is checked against the limit first and against the bytes then."""
    honest = bare_snappy(TEXT[:1000])
    liar = b"\xe9\x07" + honest[2:]  # 1001
    with pytest.raises(CorruptData):
        decompress(SNAPPY, 2, liar, LIMIT)


def test_many_threads_share_nothing():
    """Worker threads unpack at once; a decompressor used by two of them would mix their data."""
    contents = [random.Random(seed).randbytes(3000) * 20 for seed in range(8)]
    jobs = [(codec, pack(content), content) for codec, pack in PACKERS.values() for content in contents] * 4

    def work(job: tuple[int, bytes, bytes]) -> bool:
        codec, packed, content = job
        return bytes(decompress(codec, 2, packed, LIMIT)) == content

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, jobs))


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


def test_memory_that_is_not_there_is_no_fault_of_the_data():
    """Regression: "its zstd data is broken: ... not enough memory", which an audit would have called a loss."""
    program = f"""
import resource, zstandard
from kafkafs.format.codecs import ZSTD, decompress
window = zstandard.ZstdCompressionParameters.from_level(1, window_log=26)
packer = zstandard.ZstdCompressor(compression_params=window).compressobj()
packed = packer.compress(bytes(100 << 20)) + packer.flush()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (32 << 20), -1))
try:
    decompress(ZSTD, 2, packed, {1 << 30})
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("no memory to unpack zstd data\n", "")
