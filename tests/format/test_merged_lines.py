"""Lines of several partitions as one text: against `heapq.merge`, lines that no share has room for among them."""

import heapq
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import merged_lines
from kafkafs.format.batch import walk
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

SHARE = 4096
LONG = b"x" * (2 * SHARE)
"""A value whose line is longer than a partition's share of memory."""

values = st.sampled_from([None, b"", b"v", b"w" * 300, LONG])
partitions = st.lists(  # some without a record: a span that holds markers of transactions alone
    st.lists(st.tuples(st.integers(0, 5), values), max_size=6).map(
        lambda made: [Record(10 + offset, time, 0, None, value) for offset, (time, value) in enumerate(made)]
    ),
    min_size=1,
    max_size=4,
)


def found(records: Sequence[Record]) -> Iterator[Records]:
    """What decoding gives of a batch of them; nothing of none."""
    if not records:
        return
    batch = v2_batch(records)
    for piece in decode(batch, 0, walk(batch, 0).rows, 1 << 30):
        assert isinstance(piece, Records)
        yield piece


@given(partitions)
def test_the_smallest_time_comes_next_and_places_are_where_to_go_on(parts):
    """Also from the end of any piece, by its places: a stream that is read on begins anew there."""
    timed = [
        [(record.timestamp, b"".join(JsonLines("t", number).pieces(next(found([record]))))) for record in part]
        for number, part in enumerate(parts)
    ]
    whole = b"".join(line for _, line in heapq.merge(*timed, key=lambda line: line[0]))
    sources = [(JsonLines("t", number), found(part)) for number, part in enumerate(parts)]
    merged = merged_lines.MergedLines(sources, [10] * len(parts), SHARE)
    made = b""
    for is_end, piece in merged.pieces():
        made += piece
        assert whole.startswith(made)
        if is_end:
            given_out = sum(place - 10 for place in merged.places)
            assert made.count(b"\n") == given_out
    assert made == whole
