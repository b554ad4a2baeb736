"""CRC-32C (Castagnoli), the checksum of format v2: eight bytes a step, three strands at once.

A step waits three cycles for the one before it, so long input is cut into three strands of equal length that do not
wait for each other. A strand's register then moves over the bytes behind it: that is linear, so four tables of 256
entries do it, one for each byte of the register.
"""

from kafkafs.format.native.kernels.machine import (
    called,
    constant,
    crc_step,
    inlined,
    load_i64,
    load_u8,
    load_u32,
    shift_right,
)

STRAND = 512
"""Bytes of one of three strands; input is taken in triples of it."""

_POLYNOMIAL = 0x82F63B78  # reflected


def _advanced(register: int, size: int) -> int:
    """The register after `size` zero bytes, bit by bit."""
    for _ in range(8 * size):
        register = register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)
    return register


def _strand_tables() -> bytes:
    """For each byte of a register (low first) and each of its 256 values: what STRAND zero bytes make of it."""
    single = [_advanced(1 << bit, STRAND) for bit in range(32)]
    table = bytearray()
    for byte in range(4):
        for value in range(256):
            moved = 0
            for bit in range(8):
                if value >> bit & 1:
                    moved ^= single[8 * byte + bit]
            table += moved.to_bytes(4, "little")
    return bytes(table)


_byte_table = constant("crc32c_byte", b"".join(_advanced(value, 1).to_bytes(4, "little") for value in range(256)))
_strand_table = constant("crc32c_strand", _strand_tables())


@inlined
def _past_strand(register: int) -> int:
    table = _strand_table()
    moved: int = (
        load_u32(table + (register & 255) * 4)
        ^ load_u32(table + 1024 + (register >> 8 & 255) * 4)
        ^ load_u32(table + 2048 + (register >> 16 & 255) * 4)
        ^ load_u32(table + 3072 + (register >> 24 & 255) * 4)
    )
    return moved


@called
def crc32c_of(at: int, size: int) -> int:
    """The CRC-32C of `size` bytes at address `at`, as an unsigned number."""
    end = at + size
    first = 0xFFFFFFFF
    while end - at >= 3 * STRAND:
        second = third = 0
        for step in range(0, STRAND, 8):
            first = crc_step(first, load_i64(at + step))
            second = crc_step(second, load_i64(at + STRAND + step))
            third = crc_step(third, load_i64(at + 2 * STRAND + step))
        first = _past_strand(_past_strand(first) ^ second) ^ third
        at += 3 * STRAND
    while end - at >= 8:
        first = crc_step(first, load_i64(at))
        at += 8
    while at < end:
        first = load_u32(_byte_table() + ((first ^ load_u8(at)) & 255) * 4) ^ shift_right(first, 8)
        at += 1
    return first ^ 0xFFFFFFFF


def _crc32_tables() -> bytes:
    """Eight tables: what a byte, followed by 0 to 7 zero bytes, makes of the register (IEEE polynomial, reflected)."""
    rows = [[0] * 256]
    for value in range(256):
        register = value
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
        rows[0][value] = register
    for _ in range(7):
        rows.append([rows[0][value & 255] ^ value >> 8 for value in rows[-1]])
    return b"".join(value.to_bytes(4, "little") for row in rows for value in row)


_crc32_table = constant("crc32_tables", _crc32_tables())


@called
def crc32_of(at: int, size: int) -> int:
    """The CRC-32 of v0 and v1 over `size` bytes at address `at`: eight table entries for eight bytes."""
    table, end, register = _crc32_table(), at + size, 0xFFFFFFFF
    while end - at >= 8:
        word = load_i64(at) ^ register
        register = 0
        for byte in range(8):
            register ^= load_u32(table + (7 - byte) * 1024 + (word >> 8 * byte & 255) * 4)
        at += 8
    while at < end:
        register = load_u32(table + ((register ^ load_u8(at)) & 255) * 4) ^ register >> 8
        at += 1
    return register ^ 0xFFFFFFFF
