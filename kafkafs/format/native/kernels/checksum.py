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


def crc32c(at: int, size: int) -> int:
    """Kernel: see `crc32c_of`."""
    return crc32c_of(at, size)
