"""The part of a text that is in memory, against the whole text."""

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.kept_text import KeptText


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 300), st.integers(1, 90), st.integers(-1, 300))
def test_what_is_kept_is_a_part_of_the_text(pieces, offset, size, forgotten):
    """A cut has all that is kept of the bytes asked for, and what is forgotten is never cut."""
    kept, whole = KeptText(small=16), b"".join(pieces)
    for piece in pieces:
        kept.add(memoryview(piece))
    kept.forget(forgotten)
    assert (kept.end, kept.size) == (len(whole), len(whole) - kept.start)
    assert kept.start <= max(forgotten, 0)
    if offset >= kept.start:
        assert bytes(kept.cut(offset, size) or b"") == whole[offset : offset + size]
    if kept.has(offset, size):
        assert len(kept.cut(offset, size) or b"") == size
    other = kept.copy()
    other.add(b"more")
    assert (kept.end, other.end) == (len(whole), len(whole) + 4)
    kept.clear(7)
    assert (kept.start, kept.end, kept.size, kept.has(7, 0)) == (7, 7, 0, False)
