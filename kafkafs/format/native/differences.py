"""Records of two replicas side by side. See `kafkafs.log.divergence`."""

import cython

from kafkafs.format.native.primitives import *


@inlined
def _same_field(data: Span, at: Int, size: Int, other: Span, other_at: Int, other_size: Int) -> Int:
    """True if two records agree in a field. Null has the size -1."""
    if size != other_size:
        return 0
    return 1 if size <= 0 or same_bytes(data, at, other, other_at, size) else 0


@native
def _same(one: Record, data: Span, batches: Span, other: Record, other_data: Span, other_batches: Span) -> Int:
    if one.timestamp != other.timestamp or one.header_count != other.header_count:
        return 0
    if batch_at(batches, one.batch).leader_epoch != batch_at(other_batches, other.batch).leader_epoch:
        return 0
    if not _same_field(data, one.key_at, one.key_size, other_data, other.key_at, other.key_size):
        return 0
    if not _same_field(data, one.value_at, one.value_size, other_data, other.value_at, other.value_size):
        return 0
    return _same_field(data, one.headers_at, one.headers_size, other_data, other.headers_at, other.headers_size)


def unlike_record(
    one: object, one_count: Int, one_data: object, one_batches: object, other: object, other_count: Int,
    other_data: object, other_batches: object,
) -> int:  # fmt: skip
    """Kernel: the number in `one` of the first record that `other` holds otherwise at that offset; -1 for none.

    Both come in the order of offsets. Records that only one side has are passed over.
    """
    rows, data, batches = span(one), span(one_data), span(one_batches)
    beside, beside_data, beside_batches = span(other), span(other_data), span(other_batches)
    index: Int = 0
    at: Int = 0
    found: Int = -1
    with cython.nogil:
        while index < one_count and at < other_count:
            record, twin = record_at(rows, index), record_at(beside, at)
            if record.offset < twin.offset:
                index += 1
            elif twin.offset < record.offset:
                at += 1
            elif _same(record, data, batches, twin, beside_data, beside_batches):
                index += 1
                at += 1
            else:
                found = index
                break
    return found
