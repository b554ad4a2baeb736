"""Holes in a segment's log, on batches made by hand."""

from pathlib import Path

import pytest

from kafkafs.errors import Lost
from kafkafs.log.batch_runs import BatchRun, Damage, Start
from kafkafs.log.gaps import Holes
from kafkafs.log.segment import Segment
from tests.log.making import Made, log_of, made, write_partition

BATCHES = [made(base, [1] * 5) for base in range(0, 40, 5)]


def segment_of(place: Path, batches: list[Made]) -> Segment:
    write_partition(place, {0: batches, 40: [made(40, [1])]})
    return log_of(place).segments[0]


def walked(segment: Segment, start: Start, needed: int = 0) -> tuple[list[int], str]:
    """The base offsets that come, and why no more do."""
    holes = Holes("it", segment.log(), segment.indexes.offset_index, needed)
    found = list[int]()
    try:
        items = segment.walk(start, segment.log().size)
        for item in holes.check(items, start.first_offset, segment.next_base):
            assert isinstance(item, BatchRun | Damage)
            found += item.rows["base_offset"].tolist() if isinstance(item, BatchRun) else [-1]
    except Lost as error:
        return found, str(error)
    return found, ""


def test_what_is_whole_passes(tmp_path):
    assert walked(segment_of(tmp_path, BATCHES), Start(0, 0)) == ([*range(0, 40, 5)], "")


@pytest.mark.parametrize(
    ("missing", "before", "reported"),
    [
        ([0], [], "0 to 4"), ([15], [0, 5, 10], "15 to 19"), ([30, 35], [*range(0, 30, 5)], "30 to 39"),
        ([35], [*range(0, 35, 5)], "35 to 39"),
    ],
)  # fmt: skip
def test_a_hole_is_an_error_behind_what_stands_before_it(tmp_path, missing, before, reported):
    """The index is that of the whole log: no entry proves that the hole is sound."""
    whole = segment_of(tmp_path, BATCHES)
    log = tmp_path / "t-0" / whole.log_name
    log.write_bytes(b"".join(each.data for each in BATCHES if each.base not in missing))
    segment = log_of(tmp_path).segments[0]
    assert walked(segment, Start(0, 0)) == (before, f"it lacks the offsets {reported}: it was cut")


def test_one_who_passes_over_holes_hears_of_each_and_goes_on(tmp_path):
    whole = segment_of(tmp_path, BATCHES)
    kept = [each for each in BATCHES if each.base not in (0, 15, 35)]
    (tmp_path / "t-0" / whole.log_name).write_bytes(b"".join(each.data for each in kept))
    segment, reported = log_of(tmp_path).segments[0], list[str]()
    file = segment.log()
    holes = Holes("it", file, segment.indexes.offset_index, 0, lambda lost: reported.append(str(lost)))
    items = holes.check(segment.walk(Start(0, 0), file.size), 0, segment.next_base)
    found = [base for item in items if isinstance(item, BatchRun) for base in item.rows["base_offset"].tolist()]
    assert found == [each.base for each in kept]
    assert reported == [f"it lacks the offsets {each}: it was cut" for each in ("0 to 4", "15 to 19", "35 to 39")]


def test_holes_below_what_is_needed_do_not_matter(tmp_path):
    whole = segment_of(tmp_path, BATCHES)
    (tmp_path / "t-0" / whole.log_name).write_bytes(b"".join(each.data for each in BATCHES if each.base != 15))
    segment = log_of(tmp_path).segments[0]
    assert walked(segment, Start(0, 0), needed=20) == ([each for each in range(0, 40, 5) if each != 15], "")


def test_an_index_entry_proves_that_nothing_is_missing_before_it(tmp_path):
    """As compaction leaves it. Behind the last entry nothing proves it."""
    kept = [each for each in BATCHES if each.base not in (0, 15, 20)]
    assert walked(segment_of(tmp_path / "sound", kept), Start(0, 0)) == ([each.base for each in kept], "")
    kept = [each for each in BATCHES if each.base != 35]
    assert walked(segment_of(tmp_path / "end", kept), Start(0, 0))[1] == "it lacks the offsets 35 to 39: it was cut"


def test_a_batch_that_holds_more_than_its_header_states_leaves_no_hole(tmp_path):
    """Old clients left the last offset delta at 0."""
    short = bytearray(BATCHES[2].data)
    short[23:27] = bytes(4)
    from kafkafs.format.kernels import crc32c

    short[17:21] = crc32c(bytes(short[21:])).to_bytes(4)
    batches = [*BATCHES[:2], Made(bytes(short), BATCHES[2].records), *BATCHES[3:]]
    assert walked(segment_of(tmp_path, batches), Start(0, 0)) == ([*range(0, 40, 5)], "")
