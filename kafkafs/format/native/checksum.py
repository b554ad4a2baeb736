"""CRC-32C (Castagnoli), the checksum of format v2: eight bytes a step, three strands at once; CRC-32 of v0 and v1.

A step waits three cycles for the one before it, so long input is cut into three strands of equal length that do not
wait for each other. A strand's register then moves over the bytes behind it: that is linear, so four tables of 256
entries do it, one for each byte of the register.
"""

import cython

from kafkafs.format.native.primitives import *

STRAND = 512
"""Bytes of one of three strands; input is taken in triples of it."""

_ALL = 0xFFFFFFFF
_POLYNOMIAL_C, _POLYNOMIAL = 0x82F63B78, 0xEDB88320  # reflected


def _advanced(register: int, size: int, polynomial: int) -> int:
    """The register after `size` zero bytes, bit by bit."""
    for _ in range(8 * size):
        register = register >> 1 ^ (polynomial if register & 1 else 0)
    return register


def _byte_table(polynomial: int) -> bytes:
    """For each byte: the register after it."""
    return b"".join(_advanced(value, 1, polynomial).to_bytes(4, "little") for value in range(256))


def _strand_tables() -> bytes:
    """For each byte of a register (low first) and each of its 256 values: what STRAND zero bytes make of it."""
    single = [_advanced(1 << bit, STRAND, _POLYNOMIAL_C) for bit in range(32)]
    registers = bytearray()
    for byte in range(4):
        for value in range(256):
            moved = 0
            for bit in range(8):
                if value >> bit & 1:
                    moved ^= single[8 * byte + bit]
            registers += moved.to_bytes(4, "little")
    return bytes(registers)


def _crc32_tables() -> bytes:
    """Eight tables: what a byte, followed by 0 to 7 zero bytes, makes of the register."""
    rows = [[_advanced(value, 1, _POLYNOMIAL) for value in range(256)]]
    for _ in range(7):
        rows.append([rows[0][value & 255] ^ value >> 8 for value in rows[-1]])
    return b"".join(value.to_bytes(4, "little") for row in rows for value in row)


_CRC32C_BYTE, _CRC32C_STRAND, _CRC32 = _byte_table(_POLYNOMIAL_C), _strand_tables(), _crc32_tables()


@inlined
def _past_strand(register: Int) -> Int:
    return (
        load_u32(_CRC32C_STRAND, (register & 255) * 4)
        ^ load_u32(_CRC32C_STRAND, 1024 + (register >> 8 & 255) * 4)
        ^ load_u32(_CRC32C_STRAND, 2048 + (register >> 16 & 255) * 4)
        ^ load_u32(_CRC32C_STRAND, 3072 + (register >> 24 & 255) * 4)
    )


@native
def crc32c_of(data: Span, at: Int, end: Int, before: Int) -> Int:
    """The CRC-32C of bytes with the CRC `before` and then those of [at, end), as an unsigned number."""
    first: Int = before ^ _ALL
    while end - at >= 3 * STRAND:
        second: Int = 0
        third: Int = 0
        for step in range(0, STRAND, 8):
            first = crc_step(first, load_i64(data, at + step), _CRC32C_BYTE)
            second = crc_step(second, load_i64(data, at + STRAND + step), _CRC32C_BYTE)
            third = crc_step(third, load_i64(data, at + 2 * STRAND + step), _CRC32C_BYTE)
        first = _past_strand(_past_strand(first) ^ second) ^ third
        at += 3 * STRAND
    while end - at >= 8:
        first = crc_step(first, load_i64(data, at), _CRC32C_BYTE)
        at += 8
    while at < end:
        first = load_u32(_CRC32C_BYTE, ((first ^ load_u8(data, at)) & 255) * 4) ^ first >> 8
        at += 1
    return first ^ _ALL


@native
def crc32_of(data: Span, at: Int, end: Int) -> Int:
    """The CRC-32 of v0 and v1 over the bytes [at, end): eight table entries for eight bytes."""
    register: Int = _ALL
    while end - at >= 8:
        word = load_i64(data, at) ^ register
        register = 0
        for byte in range(8):
            register ^= load_u32(_CRC32, (7 - byte) * 1024 + (word >> 8 * byte & 255) * 4)
        at += 8
    while at < end:
        register = load_u32(_CRC32, ((register ^ load_u8(data, at)) & 255) * 4) ^ register >> 8
        at += 1
    return register ^ _ALL


def crc32c(buffer: object, before: Int = 0) -> int:
    """Kernel: the CRC-32C of all of a buffer, behind bytes with the CRC `before`, as `zlib.crc32`."""
    data = span(buffer)
    with cython.nogil:
        made = crc32c_of(data, 0, data.nbytes, before)
    return made
