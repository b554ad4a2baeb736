"""Lines of several sources into one text, always the one with the smallest time among those that come next."""

import cython

from kafkafs.format.native.machine import Int, Span, copy_bytes, load_i64, native, room, span, store_64


@native
def _line_of(heads: Span, source: Int) -> Int:
    """The number of the line that comes next of a source: a row of `heads` is that, and the number behind its last."""
    return load_i64(heads, source * 16)


@native
def _is_before(heads: Span, times: Span, one: Int, other: Int) -> Int:
    """Whether a source's next line goes before that of another."""
    time: Int = load_i64(times, _line_of(heads, one) * 8)
    other_time: Int = load_i64(times, _line_of(heads, other) * 8)
    return time < other_time or (time == other_time and one < other)


@native
def _sink(heap: Span, count: Int, heads: Span, times: Span) -> None:
    """Brings the first source of the heap to its place, now that its next line is another."""
    source: Int = load_i64(heap, 0)
    at: Int = 0
    while 2 * at + 1 < count:
        child: Int = 2 * at + 1
        least: Int = load_i64(heap, child * 8)
        if child + 1 < count:
            right: Int = load_i64(heap, child * 8 + 8)
            if _is_before(heads, times, right, least):
                child += 1
                least = right
        if _is_before(heads, times, source, least):
            break
        store_64(heap, at * 8, least)
        at = child
    store_64(heap, at * 8, source)


def merge_lines(
    queue: object, count: Int, table: object, stamps: object, bounds: object, source: object, target: object
) -> int:
    """Kernel: the lines of `count` sources as one text, until one of them has no line any more or the next does not fit
    into `target`. Answers how many bytes were written.

    Lines have numbers: line i lies between bounds[i] and bounds[i + 1] of `source` and has the time stamps[i]. `table`
    has for each source which one comes next, which is moved, and where they end. `queue` is a heap of the sources that
    have one; at the end the first of it is the source that has none, or whose line did not fit.
    """
    heap, heads, out = room(queue), room(table), room(target)
    times, places, data = span(stamps), span(bounds), span(source)
    to: Int = 0
    with cython.nogil:
        while True:
            first: Int = load_i64(heap, 0)
            line: Int = _line_of(heads, first)
            at: Int = load_i64(places, line * 8)
            size: Int = load_i64(places, line * 8 + 8) - at
            if size > out.nbytes - to:
                break
            copy_bytes(out, to, data, at, size)
            to += size
            store_64(heads, first * 16, line + 1)
            if line + 1 >= load_i64(heads, first * 16 + 8):
                break
            _sink(heap, count, heads, times)
    return to
