"""Transaction indexes against what happened: none is wrong as a broker writes it, and each that is changed is."""

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.transaction_index import ABORTED_SIZE
from kafkafs.log.transaction_events import Event, EventKind
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.transaction_check import SegmentTransactions, check_transactions

Entry = tuple[int, int, int, int, int]  # version, producer, first, last, last stable offset
FIELDS = range(5)


def packed(entries: list[Entry]) -> bytes:
    """An index file."""
    return b"".join(struct.pack(">hqqqq", *each) for each in entries)


def segment(base: int, events: list[Event], entries: list[Entry], **how: object) -> SegmentTransactions:
    """A segment of a partition."""
    where = CheckedFile("/data", f"t-0/{base:020}.txnindex")
    fields: dict[str, object] = {"growing_from": None, "damaged": False} | how
    return SegmentTransactions(where, base, events=events, index=packed(entries), **fields)  # type: ignore[arg-type]


def found(*segments: SegmentTransactions | None, begun: dict[int, int] | None = None) -> list[Finding]:
    """What is wrong with these."""
    return list(check_transactions(segments, begun))


_steps = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["begin", "begin", "commit", "abort", "roll"])), max_size=25
)

_steps_with_an_abort = _steps.map(lambda steps: [*steps, (1, "begin"), (1, "abort")])


def written(steps: list[tuple[int, str]]) -> list[tuple[int, list[Event], list[Entry]]]:
    """What a broker makes of it, a segment each: slow and obvious, as ProducerStateManager and TransactionIndex do."""
    segments: list[tuple[int, list[Event], list[Entry]]] = [(0, [], [])]
    began: dict[int, int] = {}
    for offset, (producer, word) in enumerate(steps):
        _, events, entries = segments[-1]
        kind: EventKind
        match word:
            case "roll":
                if events:
                    segments.append((offset, [], []))
                continue
            case "begin":
                began.setdefault(producer, offset)
                kind = "begin"
            case "commit":
                began.pop(producer, None)
                kind = "commit"
            case _:
                first = began.pop(producer, None)
                kind = "abort"
                if first is not None:
                    stable = min([*began.values(), offset + 1])
                    entries.append((0, producer, first, offset, stable))
        events.append(Event(offset, producer, kind))
    return segments


@given(_steps)
def test_nothing_is_wrong_with_what_a_broker_writes(steps):
    """Transactions interleave, and reach from one segment into the next."""
    assert found(*(segment(*each) for each in written(steps)), begun={}) == []


@given(_steps_with_an_abort, st.data())
def test_each_changed_field_is_found(steps, data):
    """An index that names another range hides committed records, or shows aborted ones."""
    segments = written(steps)
    places = [(number, slot) for number, each in enumerate(segments) for slot in range(len(each[2]))]
    number, slot = data.draw(st.sampled_from(places))
    field, change = data.draw(st.sampled_from(FIELDS)), data.draw(st.sampled_from([-1, 1, 1000]))
    entries = segments[number][2]
    changed = list(entries[slot])
    changed[field] += change
    entries[slot] = tuple(changed)
    assert found(*(segment(*each) for each in segments), begun={})


@given(_steps_with_an_abort, st.data())
def test_each_lost_entry_is_found(steps, data):
    """A consumer that trusts the index is handed what was aborted."""
    segments = written(steps)
    places = [(number, slot) for number, each in enumerate(segments) for slot in range(len(each[2]))]
    number, slot = data.draw(st.sampled_from(places))
    lost = segments[number][2].pop(slot)
    (finding,) = found(*(segment(*each) for each in segments), begun={})
    assert (finding.kind, finding.offset) == ("transaction-index-missing", lost[3])
    assert finding.file == f"t-0/{segments[number][0]:020}.txnindex"


BEGUN, ABORTED = Event(10, 7, "begin"), Event(12, 7, "abort")
TRUE: Entry = (0, 7, 10, 12, 13)


def test_a_transaction_that_began_before_the_first_segment_counts_if_that_is_known():
    """Its first offset is the snapshot's; without one, or compacted, only the marker can be held against an entry."""
    entry: Entry = (0, 7, 3, 12, 13)
    assert found(segment(10, [ABORTED], [entry]), begun={7: 3}) == []
    assert [each.kind for each in found(segment(10, [ABORTED], [entry]), begun={7: 4})] == ["transaction-index-entry"]
    for first in (3, 4, 10):
        assert found(segment(10, [ABORTED], [(0, 7, first, 12, 13)]), begun=None) == []
    assert [each.kind for each in found(segment(10, [ABORTED], []), begun={7: 3})] == ["transaction-index-missing"]
    assert found(segment(10, [ABORTED], []), begun=None) == []
    assert found(segment(10, [BEGUN, ABORTED], [entry]), begun=None) == []  # it may have gone on in this segment


@pytest.mark.parametrize("gap", ["not read", "damaged"])
def test_behind_what_was_not_read_only_markers_are_known(gap):
    """A begin may have stood in it."""
    before = None if gap == "not read" else segment(0, [BEGUN], [], damaged=True)
    behind = segment(11, [ABORTED], [(0, 7, 4, 12, 5)])
    assert found(before, behind, begun={}) == []
    wrong = replace(behind, index=packed([(0, 8, 4, 12, 5)]))
    assert "of producer 7" in found(before, wrong, begun={})[0].message
    earlier = segment(0, [Event(1, 7, "begin")], [])
    assert found(earlier, before, segment(11, [ABORTED], []), begun={}) == []  # it may have ended there


def test_in_a_damaged_segment_a_marker_may_be_what_is_missing():
    entry: Entry = (0, 7, 10, 12, 13)
    assert found(segment(10, [BEGUN], [entry], damaged=True), begun={}) == []
    (finding,) = found(segment(10, [BEGUN], [entry]), begun={})
    assert (finding.slot, finding.offset, finding.position) == (0, 12, 0)
    assert "no abort marker" in finding.message


def test_entries_come_one_behind_the_other():
    """And none stands before its own segment."""
    events = [BEGUN, ABORTED, Event(13, 7, "begin"), Event(14, 7, "abort")]
    entries = [TRUE, (0, 7, 13, 14, 15)]
    assert found(segment(10, events, entries), begun={}) == []
    (finding,) = found(segment(10, events, entries[::-1]), begun={})
    assert (finding.slot, finding.position) == (1, ABORTED_SIZE)
    assert "does not come after the entry before it" in finding.message
    assert (
        "does not come after the entry before it" in found(segment(10, [BEGUN], [(0, 7, 5, 9, 5)]), begun={})[0].message
    )


def test_beside_a_broker_the_end_may_be_ahead_or_behind():
    """The index is read after the log and written before it is answered: what is of this moment is no finding."""
    ahead: Entry = (0, 7, 14, 20, 21)
    events = [BEGUN, ABORTED]
    assert found(segment(10, events, [TRUE, ahead], growing_from=13), begun={}) == []
    assert len(found(segment(10, events, [TRUE, ahead]), begun={})) == 1
    assert found(segment(10, events, [], growing_from=13), begun={}) == []
    assert len(found(segment(10, events, [], growing_from=14), begun={})) == 1
    cut = replace(segment(10, events, [], growing_from=14), index=packed([TRUE])[:-1])
    assert found(cut, begun={}) == []
    assert [each.kind for each in found(replace(cut, growing_from=None), begun={})] == [
        "index-length", "transaction-index-missing",
    ]  # fmt: skip
