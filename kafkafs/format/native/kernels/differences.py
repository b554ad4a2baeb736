"""Records of two replicas side by side. See `kafkafs.format.differences`."""

from kafkafs.format.native.kernels.machine import inlined, load_i32, load_i64, load_u8
from kafkafs.format.native.layout import BATCH_AT, BATCH_ROW, RECORD_AT, RECORD_ROW


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


@inlined
def _same_field(one: int, one_data: int, other: int, other_data: int, place: int, size_place: int) -> bool:
    """Whether two records agree in a field; null has the size -1."""
    size = load_i32(one + size_place)
    if load_i32(other + size_place) != size:
        return False
    return same_bytes(one_data + load_i64(one + place), other_data + load_i64(other + place), size)


@inlined
def _epoch(record: int, batches: int) -> int:
    return load_i32(batches + load_i32(record + RECORD_AT.batch) * BATCH_ROW + BATCH_AT.leader_epoch)


@inlined
def _same(one: int, one_data: int, one_batches: int, other: int, other_data: int, other_batches: int) -> bool:
    if load_i64(one + RECORD_AT.timestamp) != load_i64(other + RECORD_AT.timestamp):
        return False
    if load_i32(one + RECORD_AT.header_count) != load_i32(other + RECORD_AT.header_count):
        return False
    if _epoch(one, one_batches) != _epoch(other, other_batches):
        return False
    if not _same_field(one, one_data, other, other_data, RECORD_AT.key_at, RECORD_AT.key_size):
        return False
    if not _same_field(one, one_data, other, other_data, RECORD_AT.value_at, RECORD_AT.value_size):
        return False
    return _same_field(one, one_data, other, other_data, RECORD_AT.headers_at, RECORD_AT.headers_size)


def unlike_record(
    one: int, one_count: int, one_data: int, one_batches: int, other: int, other_count: int, other_data: int,
    other_batches: int,
) -> int:  # fmt: skip
    """Kernel: the number in `one` of the first record that `other` holds otherwise at that offset; -1 for none.

    Both come in the order of offsets. What only one of them holds is passed over.
    """
    at = index = 0
    while index < one_count and at < other_count:
        record, beside = one + index * RECORD_ROW, other + at * RECORD_ROW
        offset, other_offset = load_i64(record + RECORD_AT.offset), load_i64(beside + RECORD_AT.offset)
        if offset < other_offset:
            index += 1
        elif other_offset < offset:
            at += 1
        elif _same(record, one_data, one_batches, beside, other_data, other_batches):
            index += 1
            at += 1
        else:
            return index
    return -1
