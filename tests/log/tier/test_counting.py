"""Which uploads make a log: against a naive look at each offset, on logs that lived several lives."""

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.log.tier.counting import Piece, contradicts, good_until, pieces
from kafkafs.log.tier.opening import Epochs, Upload


def upload(base: int, end: int, epochs: Epochs, name: str = "") -> Upload:
    return Upload(base, name or f"{base}-{end}", {}, 1, end, epochs)


def counted(found: list[Piece]) -> list[tuple[str, int, int | None]]:
    """The pieces; a gap has the id "gap"."""
    return [
        ("gap" if "a gap" in piece.upload.trouble else piece.upload.segment_id, piece.upload.base_offset, piece.stop)
        for piece in found
    ]


def test_a_former_lives_uploads_count_up_to_where_the_new_one_parted():
    """A disk lost its tail between two lives: a consumer reads 0..999 of the first and 1000.. of the second."""
    lineage = ((0, 0), (6, 1000))
    uploads = [
        upload(0, 899, ((0, 0),)), upload(900, 1199, ((0, 900),)), upload(1200, 1499, ((0, 1200),)),
        upload(900, 1099, ((0, 900), (6, 1000)), "new"), upload(1100, 1399, ((6, 1100),)),
    ]  # fmt: skip
    assert counted(pieces(uploads, lineage, 1400)) == [("0-899", 0, 900), ("new", 900, 1100), ("1100-1399", 1100, 1400)]
    without = [each for each in uploads if each.segment_id != "new"]
    assert counted(pieces(without, lineage, 1400)) == [
        ("0-899", 0, 900),
        ("900-1199", 900, 1000),
        ("gap", 1000, 1100),
        ("1100-1399", 1100, 1400),
    ]


def test_local_segments_win():
    uploads = [upload(0, 99, ((0, 0),)), upload(100, 199, ((0, 100),)), upload(200, 299, ((0, 200),))]
    assert counted(pieces(uploads, ((0, 0),), 150)) == [("0-99", 0, 100), ("100-199", 100, 150)]
    assert counted(pieces(uploads, ((0, 0),), 0)) == []
    assert counted(pieces(uploads, ((0, 0),), None))[-1] == ("200-299", 200, 300)


def test_the_first_entry_of_a_checkpoint_is_cut_to_the_log_start():
    assert good_until(upload(640, 959, ((0, 640),)), ((0, 700),)) == 960
    assert good_until(upload(0, 99, ((0, 0),)), ((3, 700),)) == 100, "below the log start; nothing tells"


def test_what_is_not_reported_is_settled_by_its_neighbours():
    """Of names alone an upload's end is not known; of two tries at one segment either is right."""
    bare = [Upload(0, "a", {}), Upload(0, "b", {}), Upload(50, "c", {})]
    assert counted(pieces(bare, ((0, 0),), 80)) == [("a", 0, 50), ("c", 50, 80)]
    piece = pieces(bare, ((0, 0), (1, 40)), 80)[0]
    assert contradicts(piece, upload(0, 49, ((0, 0),)), ((0, 0), (1, 40)))
    assert not contradicts(piece, upload(0, 49, ((0, 0), (1, 40))), ((0, 0), (1, 40)))


def test_an_upload_whose_end_is_not_known_swallows_none_behind_it():
    """Regression: a broker was started again, so the checkpoint has an epoch at the log's end."""
    lineage = ((0, 0), (8, 3600))
    bare = [Upload(base, str(base), {}, 1, None, ((0, 0),)) for base in (0, 320, 640)]
    assert counted(pieces(bare, lineage, 960)) == [("0", 0, 320), ("320", 320, 640), ("640", 640, 960)]
    assert counted(pieces(bare, lineage, None)) == [("0", 0, 320), ("320", 320, 640), ("640", 640, None)]
    assert not contradicts(pieces(bare, (), 960)[0], bare[0], lineage)


def test_an_upload_has_the_epoch_of_the_lineage_at_each_offset():
    """Two epochs of its own are in the lineage, and one between them is not."""
    lost = upload(0, 99, ((0, 0), (3, 40), (5, 60)))
    assert good_until(lost, ((0, 0), (5, 60))) == 40
    assert good_until(lost, ((5, 60),)) == 100, "below the log start"
    assert good_until(lost, ((0, 0), (3, 40), (4, 60), (5, 80))) == 60


def test_a_gap_is_a_piece():
    """Between uploads, before the first one and behind the last; below the log start nothing is missed."""
    uploads = [upload(100, 199, ((0, 0),)), upload(300, 399, ((0, 0),))]
    assert counted(pieces(uploads, ((0, 0),), 500, 0)) == [
        ("gap", 0, 100), ("100-199", 100, 200), ("gap", 200, 300), ("300-399", 300, 400), ("gap", 400, 500),
    ]  # fmt: skip
    assert counted(pieces(uploads, ((0, 150),), 400)) == [
        ("100-199", 100, 200), ("gap", 200, 300), ("300-399", 300, 400),
    ]  # fmt: skip
    assert counted(pieces(uploads, ((0, 0),), 400, 250)) == [("gap", 250, 300), ("300-399", 300, 400)]
    assert counted(pieces(uploads, (), None)) == [("100-199", 100, 200), ("gap", 200, 300), ("300-399", 300, 400)]
    assert counted(pieces(uploads, ((0, 350),), None)) == [("100-199", 100, 200), ("300-399", 300, 400)]
    assert counted(pieces([], ((0, 0),), 400, 0)) == [("gap", 0, 400)]


def test_uploads_below_the_log_start_are_no_part_of_the_log():
    """They are not deleted yet. Regression: `problems` and `audit` named damage in them."""
    uploads = [upload(base, base + 99, ((0, 0),)) for base in (0, 100, 200)]
    names = ["0-99", "100-199", "200-299"]
    for start, first in ((None, 0), (0, 0), (99, 0), (100, 1), (150, 1), (299, 2)):
        for local_start in (300, None):
            found = pieces(uploads, ((0, start or 0),), local_start, start)
            assert [name for name, _, _ in counted(found)] == names[first:]
    assert pieces(uploads, ((0, 300),), 300, 300) == []
    assert [name for name, _, _ in counted(pieces(uploads, ((0, 300),), None, 300))] == names[2:]


def test_what_cannot_be_read_counts_for_what_nothing_else_has():
    lost = upload(0, 299, ((0, 0),), "lost")._replace(trouble="it is not in the tier")
    uploads = [lost, upload(100, 199, ((0, 0),))]
    assert counted(pieces(uploads, ((0, 0),), 400)) == [
        ("lost", 0, 100), ("100-199", 100, 200), ("lost", 200, 300), ("gap", 300, 400),
    ]  # fmt: skip
    assert counted(pieces([lost], ((0, 0),), 300)) == [("lost", 0, 300)]
    assert counted(pieces([lost], ((0, 0),), None)) == [("lost", 0, 300)]


@st.composite
def histories(draw):
    """(lineage, uploads, log end): lives that each begin by a cut of the log; all closed segments of each are uploaded,
    or some of them."""
    lineage: list[tuple[int, int]] = []
    end, epoch, uploads = 0, 0, []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, end))
        lineage = [entry for entry in lineage if entry[1] < start]
        lineage.append((epoch, start))
        end = start + draw(st.integers(1, 40))
        base = draw(st.integers(0, start))
        while base < end:
            stop = min(end, base + draw(st.integers(1, 15)))
            if draw(st.booleans()):
                before = [entry for entry in lineage if entry[1] < stop]
                inside = [
                    one
                    for number, one in enumerate(before)
                    if number + 1 == len(before) or before[number + 1][1] > base
                ]
                epochs = tuple((one, max(first, base)) for one, first in inside)
                uploads.append(upload(base, stop - 1, epochs, f"{epoch}:{base}"))
            base = stop
        epoch += draw(st.integers(1, 3))
    return tuple(lineage), uploads, end


def epoch_at(epochs: Epochs, offset: int) -> int | None:
    return next((epoch for epoch, first in reversed(epochs) if first <= offset), None)


@given(histories())
def test_each_offset_is_of_an_upload_that_has_it_in_the_lineage(history):
    """Where any upload has an offset as the log has it, one that has is chosen; where none has, no piece says so."""
    lineage, uploads, end = history
    found = pieces(uploads, lineage, end)
    owner: dict[int, Upload] = {}
    for piece in found:
        assert piece.stop is not None
        if piece.upload.trouble:
            continue
        for offset in range(piece.upload.base_offset, piece.stop):
            assert offset not in owner, "pieces overlap"
            owner[offset] = piece.upload
    for offset in range(end):
        right = {
            each.segment_id
            for each in uploads
            if each.base_offset <= offset <= (each.end_offset or 0)
            and epoch_at(each.epochs or (), offset) == epoch_at(lineage, offset)
        }
        assert (offset in owner) == bool(right), offset
        assert not right or owner[offset].segment_id in right, offset


def test_a_gap_below_an_upload_that_cannot_be_read_is_a_piece():
    """Regression: without a known log start, gaps below the first unreadable upload were passed over."""
    uploads = [
        Upload(0, "a", {}, end_offset=4, epochs=((0, 0),)),
        Upload(30, "b", {}, end_offset=59, epochs=((0, 0),)),
        Upload(60, "c", {}, end_offset=89, epochs=((0, 0),), trouble="lost"),
    ]
    found = pieces(uploads, ((0, 0),), None)
    assert [(each.upload.base_offset, each.stop, bool(each.upload.trouble)) for each in found] == [
        (0, 5, False), (5, 30, True), (30, 60, False), (60, 90, True),
    ]  # fmt: skip
