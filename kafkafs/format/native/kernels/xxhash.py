"""XXH32, the checksum of the LZ4 frame format."""

from kafkafs.format.native.kernels.machine import called, inlined, load_u8, load_u32

_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_ALL = 0xFFFFFFFF


@inlined
def _turned(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _ALL


@inlined
def _round(lane: int, word: int) -> int:
    return _turned(lane + word * _PRIME_2 & _ALL, 13) * _PRIME_1 & _ALL


@called
def xxh32(at: int, size: int) -> int:
    """The hash of `size` bytes with seed 0."""
    end = at + size
    value = _PRIME_5
    if size >= 16:
        one, two, three, four = _PRIME_1 + _PRIME_2 & _ALL, _PRIME_2, 0, -_PRIME_1 & _ALL
        while end - at >= 16:
            one, two = _round(one, load_u32(at)), _round(two, load_u32(at + 4))
            three, four = _round(three, load_u32(at + 8)), _round(four, load_u32(at + 12))
            at += 16
        value = _turned(one, 1) + _turned(two, 7) + _turned(three, 12) + _turned(four, 18)
    value = value + size & _ALL
    while end - at >= 4:
        value = _turned(value + load_u32(at) * _PRIME_3 & _ALL, 17) * _PRIME_4 & _ALL
        at += 4
    while at < end:
        value = _turned(value + load_u8(at) * _PRIME_5 & _ALL, 11) * _PRIME_1 & _ALL
        at += 1
    value = (value ^ value >> 15) * _PRIME_2 & _ALL
    value = (value ^ value >> 13) * _PRIME_3 & _ALL
    return value ^ value >> 16
