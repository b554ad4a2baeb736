"""SipHash-1-3, against the algorithm written out plainly."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.key_index import hashed

_ALL = 2**64 - 1


def turned(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _ALL


def siphash(data: bytes, seed: bytes) -> tuple[int, int]:
    """As in the paper, with one round a word and three at the end; the output of 128 bits of the reference code."""
    k0, k1 = struct.unpack("<QQ", seed)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def mix() -> None:
        v[0] = v[0] + v[1] & _ALL
        v[1] = turned(v[1], 13) ^ v[0]
        v[0] = turned(v[0], 32)
        v[2] = v[2] + v[3] & _ALL
        v[3] = turned(v[3], 16) ^ v[2]
        v[0] = v[0] + v[3] & _ALL
        v[3] = turned(v[3], 21) ^ v[0]
        v[2] = v[2] + v[1] & _ALL
        v[1] = turned(v[1], 17) ^ v[2]
        v[2] = turned(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        mix()
        v[0] ^= word
    halves = []
    for place, final in ((2, 0xEE), (1, 0xDD)):
        v[place] ^= final
        for _ in range(3):
            mix()
        halves.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return halves[0], halves[1]


@given(st.binary(max_size=300), st.binary(min_size=16, max_size=16))
def test_every_length_and_seed(data, seed):
    """Indexes are read by other releases and, as the layout is published, by other programs."""
    assert hashed(data, seed) == siphash(data, seed)[0] >> 33
