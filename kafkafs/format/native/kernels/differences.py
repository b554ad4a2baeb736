"""Records of two replicas side by side. See `kafkafs.format.differences`."""

from kafkafs.format.native.kernels.machine import inlined, load_i64, load_u8


@inlined
def same_bytes(one: int, other: int, size: int) -> bool:
    """Whether two runs of bytes are the same."""
    at = 0
    while size - at >= 8:
        if load_i64(one + at) != load_i64(other + at):
            return False
        at += 8
    while at < size:
        if load_u8(one + at) != load_u8(other + at):
            return False
        at += 1
    return True
