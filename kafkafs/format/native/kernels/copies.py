"""Copies within an unpacking buffer, sixteen bytes at a time where there is room for that."""

from kafkafs.format.native.kernels.machine import (
    copy_16,
    copy_bytes,
    divide,
    inlined,
    load_i64,
    load_u8,
    store_8,
    store_64,
)

_REACH = 32  # bytes that the wide copies may write too much


@inlined
def copy_apart(to: int, source: int, size: int, to_end: int, source_end: int) -> None:
    """Copies `size` bytes that do not overlap their target; may write up to 15 bytes more, below `to_end`."""
    if size <= 16 and to_end - to >= 16 and source_end - source >= 16:
        copy_16(to, source)
    else:
        copy_bytes(to, source, size)


@inlined
def copy_back(to: int, distance: int, size: int, to_end: int) -> None:
    """Repeats what stands `distance` bytes before `to` over `size` bytes, as a match of LZ4 or snappy means it.

    A match may overlap itself: then it is a pattern. May write up to 31 bytes more, below `to_end`.
    """
    done, wide = 0, min(size, to_end - to - _REACH)
    if wide > 0 and distance >= 16:
        while done < wide:
            copy_16(to + done, to + done - distance)
            done += 16
    elif wide > 0 and distance >= 8:
        while done < wide:
            store_64(to + done, load_i64(to + done - distance))
            done += 8
    elif wide > 16:  # write the pattern out, then go on by the least multiple of it that is 16 or more
        while done < 16:
            store_8(to + done, load_u8(to + done - distance))
            done += 1
        distance *= divide(15 + distance, distance)
        while done < wide:
            copy_16(to + done, to + done - distance)
            done += 16
    while done < size:
        store_8(to + done, load_u8(to + done - distance))
        done += 1
