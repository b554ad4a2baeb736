"""Lines of several sources into one text, always the one with the smallest time among those that come next."""

import cython

from kafkafs.format.native.primitives import *

NEW_LINE = 10
ENTRY = 16  # bytes of an entry of the heap: the time of a source's next line, and the source
HEAD = 24  # bytes of what is known of a source: the number of its next line, where that begins, where its text ends


@native
def _copy_line(out: Span, to: Int, data: Span, at: Int, end: Int) -> Int:
    """Copies a line, 16 bytes at a time: how many bytes it has; 0 where there is no room for it."""
    size: Int = 0
    while at + size < end and out.nbytes - to - size >= 16:
        copy_16(out, to + size, data, at + size)
        found: Int = equal_16(data, at + size, NEW_LINE)
        if found:
            return size + trailing_zeros(found) + 1
        size += 16
    return 0


@native
def _sink(heap: Span, count: Int, time: Int) -> None:
    """Brings the first source of a heap to its place, now that its next line has another time."""
    source: Int = load_i64(heap, 8)
    at: Int = 0
    while 2 * at + 1 < count:
        child: Int = 2 * at + 1
        least: Int = load_i64(heap, child * ENTRY)
        if child + 1 < count:
            right: Int = load_i64(heap, (child + 1) * ENTRY)
            if right < least or (
                right == least and load_i64(heap, (child + 1) * ENTRY + 8) < load_i64(heap, child * ENTRY + 8)
            ):
                child += 1
                least = right
        if time < least or (time == least and source < load_i64(heap, child * ENTRY + 8)):
            break
        store_64(heap, at * ENTRY, least)
        store_64(heap, at * ENTRY + 8, load_i64(heap, child * ENTRY + 8))
        at = child
    store_64(heap, at * ENTRY, time)
    store_64(heap, at * ENTRY + 8, source)


def merge_lines(queue: object, count: Int, head_table: object, stamps: object, source: object, target: object) -> int:
    """Kernel: the lines of `count` sources as one text, until one of them has no more text or there is no room for the
    next line in `target`. Answers how many bytes were written.

    `head_table` has what is known of each source, which moves; its text, in `source`, ends with a line, and 16 bytes
    follow it. Line i has the time stamps[i]. `queue` is a heap of sources, but for the first of it, which may have come
    there from anywhere, or have got new lines. At the end the first is the one meant above.
    """
    heap, heads, out = room(queue), room(head_table), room(target)
    times, data = span(stamps), span(source)
    to: Int = 0
    with cython.nogil:
        while True:
            _sink(heap, count, load_i64(times, load_i64(heads, load_i64(heap, 8) * HEAD) * 8))
            head: Int = load_i64(heap, 8) * HEAD
            line: Int = load_i64(heads, head) + 1
            at: Int = load_i64(heads, head + 8)
            end: Int = load_i64(heads, head + 16)
            size: Int = _copy_line(out, to, data, at, end)
            if size == 0:
                break
            to += size
            store_64(heads, head, line)
            store_64(heads, head + 8, at + size)
            if at + size >= end:
                break
    return to
