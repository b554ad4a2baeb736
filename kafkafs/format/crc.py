"""The two checksums of a log: CRC-32C for format v2 (the kernel's), CRC-32 for v0 and v1 (zlib's)."""

import zlib

from kafkafs.format import kernels

Bytes = bytes | bytearray | memoryview


def crc32c(data: Bytes) -> int:
    """CRC-32C (Castagnoli) of the whole buffer, unsigned; 0 for an empty one."""
    return kernels.crc32c(data)


def crc32(data: Bytes) -> int:
    """CRC-32 (IEEE 802.3, as in zlib) of the whole buffer, unsigned; 0 for an empty one."""
    return zlib.crc32(data)
