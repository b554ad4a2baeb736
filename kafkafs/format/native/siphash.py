"""SipHash-1-3 with 128 bits of output: nobody finds collisions without its key.

Source: Aumasson and Bernstein, 2012; their reference code, `siphash.c`.
"""

from kafkafs.format.native.primitives import *

_INITIAL_A, _INITIAL_B, _INITIAL_C = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261
_INITIAL_D = 0x7465646279746573
_LONG, _FIRST_HALF, _SECOND_HALF = 0xEE, 0xEE, 0xDD


@inlined
def _turned(value: Word, by: Int) -> Word:
    return (value << by | value >> 64 - by) & ALL


@inlined
def _round(a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    a = (a + b) & ALL
    c = (c + d) & ALL
    b = _turned(b, 13) ^ a
    d = _turned(d, 16) ^ c
    a = (_turned(a, 32) + d) & ALL
    c = (c + b) & ALL
    d = _turned(d, 21) ^ a
    b = _turned(b, 17) ^ c
    return a, b, _turned(c, 32), d


@native
def siphash(data: Span, at: Int, size: Int, key_0: Word, key_1: Word) -> tuple[Word, Word]:
    """The two halves of the hash of `size` bytes at `at`."""
    a: Word = _INITIAL_A ^ key_0
    b: Word = _INITIAL_B ^ key_1 ^ _LONG
    c: Word = _INITIAL_C ^ key_0
    d: Word = _INITIAL_D ^ key_1
    word: Word = 0
    last: Word = (size << 56) & ALL
    end = at + (size & -8)
    while at < end:
        word = load_i64(data, at) & ALL
        a, b, c, d = _round(a, b, c, d ^ word)
        a ^= word
        at += 8
    for place in range(size & 7):
        last |= load_u8(data, at + place) << 8 * place
    a, b, c, d = _round(a, b, c, d ^ last)
    a ^= last
    c ^= _FIRST_HALF
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    first: Word = a ^ b ^ c ^ d
    b ^= _SECOND_HALF
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return first, a ^ b ^ c ^ d
