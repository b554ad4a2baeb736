"""Contents that are whole in memory: bytes by offset, like a file's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.node import BytesContent, PagesWhileOpen, TextContent


@given(st.binary(max_size=64), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=8))
def test_reads_anywhere_are_those_of_a_file(data, reads):
    """The kernel asks in any order, and past the end."""
    for content in (BytesContent(data), TextContent(data)):
        assert [content.read(at, size) for at, size in reads] == [data[at : at + size] for at, size in reads]


def test_only_bytes_claim_a_size():
    """A text's could not be told by the `stat` before, so that nothing may trust it now: it is a stream."""
    assert BytesContent(b"four").size == 4
    assert TextContent(b"four").size is None


@pytest.mark.parametrize(("kind", "kept_as"), [(BytesContent, PagesWhileOpen(hash(b"text"))), (TextContent, None)])
def test_neither_waits_for_more_and_the_kernel_has_of_bytes_only_what_is_open(kind, kept_as):
    content = kind(b"text")
    assert (content.follows, content.kept_as) == (False, kept_as)
    content.close()
    assert content.read(0, 4) == b""
