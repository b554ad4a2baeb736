"""What Kafka's clients put around snappy blocks and LZ4 blocks, which another hand's library makes."""

import struct

import cramjam
import xxhash


def xerial(data: bytes, block: int = 32 << 10) -> bytes:
    """snappy-java's stream."""
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), block):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        out += struct.pack(">i", len(packed)) + packed
    return out


def bare_snappy(data: bytes) -> bytes:
    """What sarama and old librdkafka write."""
    return bytes(cramjam.snappy.compress_raw(data))


def lz4_frame(
    data: bytes, *, sums: bool = False, content_sum: bool = False, content_size: bool = False, code: int = 4,
    stored: bool = False, kafka_v0: bool = False,
) -> bytes:  # fmt: skip
    """An LZ4 frame with what Kafka reads of it, byte by byte."""
    flags = 0x60 | 0x10 * sums | 0x08 * content_size | 0x04 * content_sum
    header = bytes([flags, code << 4]) + (struct.pack("<Q", len(data)) if content_size else b"")
    magic = b"\x04\x22\x4d\x18"
    check = xxhash.xxh32_intdigest((magic if kafka_v0 else b"") + header) >> 8 & 255
    out, size = magic + header + bytes([check]), 1 << 8 + 2 * code
    for at in range(0, len(data), size):
        block = data[at : at + size]
        packed = block if stored else bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) >= len(block):
            packed = block
        out += struct.pack("<I", len(packed) | 0x80000000 * (packed is block)) + packed
        out += struct.pack("<I", xxhash.xxh32_intdigest(packed)) * sums
    return out + bytes(4) + b"????" * content_sum
