"""SipHash-1-3 with 128 bits of output (Aumasson and Bernstein, 2012): nobody finds collisions without its key.

The authors' reference code, `siphash.c`, is the source: one round a word, three at the end, and once more for the
second half.
"""

from kafkafs.format.native.kernels.machine import called, inlined, load_i64, load_u8, shift_right

_INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LONG, _FIRST_HALF, _SECOND_HALF = 0xEE, 0xEE, 0xDD


@inlined
def _turned(value: int, by: int) -> int:
    return value << by | shift_right(value, 64 - by)


@inlined
def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a += b
    c += d
    b = _turned(b, 13) ^ a
    d = _turned(d, 16) ^ c
    a = _turned(a, 32) + d
    c += b
    d = _turned(d, 21) ^ a
    b = _turned(b, 17) ^ c
    return a, b, _turned(c, 32), d


@called
def siphash(at: int, size: int, key_0: int, key_1: int) -> tuple[int, int]:
    """The two halves of the hash of `size` bytes at address `at`."""
    a, b = _INITIAL[0] ^ key_0, _INITIAL[1] ^ key_1 ^ _LONG
    c, d = _INITIAL[2] ^ key_0, _INITIAL[3] ^ key_1
    end, last = at + (size & -8), size << 56
    while at < end:
        word = load_i64(at)
        a, b, c, d = _round(a, b, c, d ^ word)
        a ^= word
        at += 8
    for place in range(size & 7):
        last |= load_u8(at + place) << 8 * place
    a, b, c, d = _round(a, b, c, d ^ last)
    a, c = a ^ last, c ^ _FIRST_HALF
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    first = a ^ b ^ c ^ d
    b ^= _SECOND_HALF
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return first, a ^ b ^ c ^ d
