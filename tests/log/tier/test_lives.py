"""A tiered log after several lives, in every combination: with the metadata topic or not, with the partition's
directory or not, in every layout. Each offset is what a naive model that reads every object whole says."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafkafs.errors import ERRNO, KafkafsError
from kafkafs.log.read_options import TierSource
from kafkafs.view.tree import Root
from tests.log.tier import lives, naive
from tests.log.tier.lives import FOLDER, Past, key
from tests.view.trees import cat, opened, tree

EIO = 5


def one_epoch() -> Past:
    past = Past()
    for _ in range(4):
        past.append(0, 30)
        past.roll()
    past.append(0, 10)
    return past


def restarted() -> Past:
    """Each start is an epoch; the last one begins at the end and has no record."""
    past = Past()
    for epoch in (0, 0, 2, 4, 4):
        past.append(epoch, 30)
        past.roll()
    past.append(4, 20)
    past.elect(6)
    return past


def two_in_a_segment() -> Past:
    past = Past()
    past.append(0, 30)
    past.roll()
    past.append(0, 15)
    past.append(2, 15)
    past.roll()
    past.append(2, 30)
    past.roll()
    past.append(5, 10)
    return past


def empty_epoch() -> Past:
    """Epochs without a record, at the end of a segment and of the log, and one more start."""
    past = Past()
    past.append(0, 30)
    past.elect(3)
    past.roll()
    past.elect(4)
    past.append(7, 30)
    past.roll()
    past.append(7, 10)
    past.elect(9)
    return past


def cut() -> Past:
    """A disk lost its tail: uploads of the former life reach beyond, and begin beyond."""
    past = Past()
    past.append(0, 30)
    past.roll()
    past.append(0, 40)
    past.roll()
    past.append(0, 30)
    past.roll()
    past.cut(50)
    past.append(6, 20)
    past.roll()
    past.append(6, 45)
    past.roll()
    past.append(6, 10)
    return past


def cut_at_a_border() -> Past:
    """The new life begins where a segment did, and its segments have other borders than the former's."""
    past = Past()
    for _ in range(4):
        past.append(0, 30)
        past.roll()
    past.cut(60)
    past.append(3, 45)
    past.roll()
    past.append(3, 45)
    past.roll()
    past.append(3, 10)
    return past


def cut_twice() -> Past:
    """The second life was lost as well, with its epoch: only its uploads have that."""
    past = cut()
    past.cut(50)
    past.append(9, 35)
    past.roll()
    past.append(9, 35)
    past.roll()
    past.append(9, 5)
    return past


def contained() -> Past:
    """A former leader of the same lineage rolled more often, and uploaded some segments, too."""
    past = Past()
    past.append(0, 30)
    past.roll()
    past.append(0, 60)
    past.roll()
    past.append(0, 30)
    past.roll()
    for base, stop in ((40, 60), (60, 70), (80, 100)):
        batches = tuple(each for each in past.batches if base <= each.base < stop)
        past.uploads.append(lives.Uploaded(len(past.uploads), base, batches, past.uploads[0].epochs, stop))
    past.append(0, 10)
    return past


def started_inside() -> Past:
    """The log start lies inside a remote segment, and inside a batch."""
    past = restarted()
    past.start_at(43)
    return past


def cut_and_started_inside() -> Past:
    past = cut()
    past.start_at(52)
    return past


PASTS: list[Callable[[], Past]] = [
    one_epoch, restarted, two_in_a_segment, empty_epoch, cut, cut_at_a_border, cut_twice, contained, started_inside,
    cut_and_started_inside,
]  # fmt: skip
LAYOUTS = ("local", "aiven", "aiven zstd", "aiven encrypted")
COMBINATIONS = [
    pytest.param(past, layout, id=f"{past.__name__}-{layout}")
    for past in PASTS
    for layout in LAYOUTS
    if layout == "local" or past is cut or (past, layout) == (cut_twice, "aiven") or os.environ.get("KAFKAFS_REVIVE")
]
"""Layouts differ in how bytes are stored, and in who tells ends and epochs: `scripts/soak revive` tries all."""


def source_of(place: Path, tier: Path) -> TierSource:
    (place / "k1.pem").write_bytes(key().pem)
    return TierSource(str(tier), (("k1", place / "k1.pem"),))


def expected(past: Past, tier: Path, has_local: bool) -> dict[int, naive.Batch]:
    uploads = naive.uploads_in(tier / FOLDER)
    local = [naive.batches_in(each.data)[0] for each in past.segment(past.bases[-1])] if has_local else []
    lineage = past.lineage if has_local else naive.newest_lineage(uploads)
    return naive.log_of(uploads, lineage, past.start if has_local else 0, local)


def lines(text: bytes) -> dict[int, str]:
    """The values by offset; each offset once, in order."""
    found = [(each["offset"], each["value"]) for each in map(json.loads, text.splitlines())]
    assert [offset for offset, _ in found] == sorted({offset for offset, _ in found})
    return dict(found)


def assert_as(wanted: dict[int, naive.Batch], root: Root) -> None:
    """Every range and point is what the model says, and gaps in it are errors."""
    values = {offset: f"{batch.epoch}:{offset}" for offset, batch in wanted.items()}
    first, end = min(wanted), max(wanted) + 1
    reported = json.loads(cat(root, "t-0/info.json"))
    assert (reported["logStartOffset"], reported["logEndOffset"]) == (first, end)
    gaps = sorted(set(range(first, end)) - wanted.keys())
    assert bool(reported["problems"]) == bool(gaps), reported["problems"]
    if not gaps:
        assert lines(cat(root, "t-0/by-offset/0...jsonl")) == values
        raw = cat(root, "t-0/by-offset/0..")
        assert raw == b"".join(batch.data for batch in dict.fromkeys(wanted[each] for each in sorted(wanted)))
        for begin, behind in ((first + 7, end - 3), (31, 77), (first, 52)):
            path = f"t-0/by-offset/{begin}..{behind}.jsonl"
            assert lines(cat(root, path)) == {
                each: value for each, value in values.items() if begin <= each < behind
            }, path
    for offset in range(first, end, 7):
        path = f"t-0/by-offset/{offset}.jsonl"
        if offset in values:
            assert lines(cat(root, path)) == {offset: values[offset]}
        else:
            assert code_of(root, path) == EIO, path


def code_of(root: Root, path: str) -> int:
    try:
        content, at = opened(root, path), 0
        while part := content.read(at, 1 << 16):
            at += len(part)
    except KafkafsError as error:
        return ERRNO[type(error)]
    return 0


@pytest.mark.parametrize(("past", "layout"), COMBINATIONS)
def test_every_offset_is_as_the_model_says(tmp_path, past, layout):
    """With the metadata topic on the disk, and without it. A mount that lives, and looks again, says the same."""
    made = past()
    local_tier = made.write_tier(tmp_path / "local")
    source = source_of(tmp_path, lives.in_layout(local_tier, tmp_path / "tier", layout))
    for number, has_metadata in enumerate((True, False)):
        disk = made.write_disk(tmp_path / f"disk{number}", has_local=True, has_metadata=has_metadata)
        root = tree(disk, tiered=source)
        assert_as(expected(made, local_tier, True), root)


@pytest.mark.parametrize(("past", "layout"), [each for each in COMBINATIONS if "encrypted" not in str(each.id)])
def test_a_tier_alone_is_as_the_model_says(tmp_path, past, layout):
    made = past()
    local_tier = made.write_tier(tmp_path / "local")
    assert_as(expected(made, local_tier, False), tree(lives.in_layout(local_tier, tmp_path / "tier", layout)))


@pytest.mark.sampled
@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
@pytest.mark.parametrize("past", [restarted, cut, cut_twice], ids=lambda each: each.__name__)
def test_a_partition_whose_directory_is_lost_is_as_the_model_says(tmp_path, past, layout, has_metadata):
    """With the topic id that the tier has, and the lineage of the newest upload."""
    made = past()
    local_tier = made.write_tier(tmp_path / "local")
    tier = lives.in_layout(local_tier, tmp_path / "tier", layout)
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=has_metadata)
    root = tree(disk, tiered=source_of(tmp_path, tier))
    assert "t-0" in [each.name for each in root.entries()]
    assert_as(expected(made, local_tier, False), root)
    reported = json.loads(cat(root, "t-0/info.json"))
    assert reported["topicId"] == lives.TOPIC_ID
    assert [(each["epoch"], each["startOffset"]) for each in reported["leaderEpochs"]] == naive.newest_lineage(
        naive.uploads_in(local_tier / FOLDER)
    )


def without(number: int) -> Callable[[Path], tuple[int, int]]:
    """Takes an upload away, whichever layout it has; the offsets that are lost."""

    def harm(tier: Path) -> tuple[int, int]:
        logs = sorted(tier.rglob("t-*/*.log" if any(tier.glob(FOLDER)) else "t-*/0/*.log"))
        for file in logs[number].parent.glob(f"{logs[number].stem}.*"):
            file.unlink()
        return 30 * number, 30 * number + 30

    return harm


def cut_short(tier: Path) -> tuple[int, int]:
    """Cuts an object at a batch border. A manifest tells how long it has to be: all of it is refused then."""
    log = sorted(tier.rglob("*.log"))[1]
    data = log.read_bytes()
    batches = naive.batches_in(data)
    kept = b"".join(each.data for each in batches[:3]) if batches else data[: len(data) // 2]
    log.write_bytes(kept)
    return (45 if any(tier.glob(FOLDER)) else 30), 60


def holed(tier: Path) -> tuple[int, int]:
    """Takes a batch out of the middle of an object; the offsets that are lost."""
    log = sorted(tier.rglob("*.log"))[1]
    batches = naive.batches_in(log.read_bytes())
    log.write_bytes(b"".join(each.data for each in (*batches[:2], *batches[3:])))
    return (40 if any(tier.glob(FOLDER)) else 30), (45 if any(tier.glob(FOLDER)) else 60)


HARMS = {"first": without(0), "second": without(1), "last": without(3), "cut": cut_short}


@pytest.mark.sampled
@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
@pytest.mark.parametrize("harm", HARMS)
def test_a_gap_is_an_error_in_every_view(tmp_path, harm, layout, has_metadata):
    """In points, ranges, times, and in `problems`; the rest answers. With `corrupt=skip` a range goes on behind it."""
    made = one_epoch()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    first, stop = HARMS[harm](tier)
    if has_metadata and harm == "cut":
        first = 30  # it knows how long the object was
    disk, source = made.write_disk(tmp_path / "disk", True, has_metadata), source_of(tmp_path, tier)
    assert_gap(tree(disk, tiered=source), made, first, stop)
    lenient = tree(disk, tiered=source, corrupt_skip=True)
    kept = [each for each in range(made.end) if not first <= each < stop]
    assert [*lines(cat(lenient, "t-0/by-offset/0...jsonl"))] == kept
    assert [*lines(cat(lenient, f"t-0/by-offset/{first}.jsonl"))] == [stop]
    assert [*lines(cat(lenient, f"t-0/by-time/{lives.FIRST_MS + 1000 * first}.jsonl"))] == [stop]


def assert_gap(root: Root, made: Past, first: int, stop: int) -> None:
    ms = lives.FIRST_MS
    inside = (first, first + 4, stop - 1)
    for path in (
        *(f"by-offset/{each}{suffix}" for each in inside for suffix in ("", ".jsonl", ".value", ".batches.jsonl")),
        *(f"by-time/{ms + 1000 * each}{suffix}" for each in inside for suffix in ("", ".jsonl", ".value")),
        *(f"by-offset/{begin}..{behind}{suffix}"
          for begin, behind in ((0, made.end), (first, stop), (first + 1, first + 2), (stop - 1, stop + 1))
          for suffix in ("", ".jsonl", ".batches.jsonl")),
        f"by-time/{ms}..{ms + 1000 * stop}.jsonl", f"by-time/{ms + 1000 * first}..{ms + 1000 * stop}",
    ):  # fmt: skip
        assert code_of(root, f"t-0/{path}") == EIO, path
    behind = stop // 5 * 5 + 5
    for offset in {max(first - 1, 0), stop, behind, made.end - 1} - {0 if not first else -1}:
        assert [*lines(cat(root, f"t-0/by-offset/{offset}.jsonl"))] == [offset]
        if offset != stop:
            assert [*lines(cat(root, f"t-0/by-time/{ms + 1000 * offset}.jsonl"))] == [offset], offset
    for begin, end in ((0, first), (stop, made.end)):
        assert [*lines(cat(root, f"t-0/by-offset/{begin}..{end}.jsonl"))] == [*range(begin, end)]
    problems = json.loads(cat(root, "t-0/info.json"))["problems"]
    assert len(problems) == 1, problems


@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_a_hole_in_an_object_is_an_error(tmp_path, layout, has_metadata):
    made = one_epoch()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    first, stop = holed(tier)
    if has_metadata:
        first, stop = 30, 60
    root = tree(made.write_disk(tmp_path / "disk", True, has_metadata), tiered=source_of(tmp_path, tier))
    for path in (f"{first + 1}.jsonl", f"{first + 1}", "0...jsonl", f"{first}..{stop}"):
        assert code_of(root, f"t-0/by-offset/{path}") == EIO, path
    for offset in (first - 1, stop, stop + 9):
        assert [*lines(cat(root, f"t-0/by-offset/{offset}.jsonl"))] == [offset]


@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[:3])
def test_a_topic_that_was_compacted_before_it_was_tiered_has_sound_holes(tmp_path, layout, has_metadata):
    """The size that was noted proves it, or the index. Where nothing does, the end of an object may have been cut."""
    made = one_epoch()
    kept = [each for each in made.batches if each.base not in (35, 40, 90)]
    made.uploads = [replace(each, batches=tuple(one for one in each.batches if one in kept)) for each in made.uploads]
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    root = tree(made.write_disk(tmp_path / "disk", True, has_metadata), tiered=source_of(tmp_path, tier))
    offsets = [offset for each in kept for offset in range(each.base, each.last + 1)]
    assert [*lines(cat(root, "t-0/by-offset/0...jsonl"))] == offsets
    assert [*lines(cat(root, "t-0/by-offset/36.jsonl"))] == [45]
    assert json.loads(cat(root, "t-0/info.json"))["problems"] == []


@pytest.mark.parametrize("harm", ["gone", "emptied", "garbage", "cut"])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_a_lost_partitions_last_upload_that_is_damaged_is_an_error_there_alone(tmp_path, layout, harm):
    """Regression: the log ended before it, or no view of the partition answered. The metadata topic, a manifest or the
    log's own index tell up to where it went."""
    made = one_epoch()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    log = sorted(tier.rglob("*.log"))[-1]
    data = log.read_bytes()
    contents = {"emptied": b"", "garbage": bytes(reversed(data)), "cut": data[: len(data) // 6 * 3]}
    if harm == "gone":
        without(-1)(tier)
    else:
        log.write_bytes(contents[harm])
    for has_metadata in [True] if harm == "gone" else [True, False]:
        disk = made.write_disk(tmp_path / f"disk{has_metadata}", has_local=False, has_metadata=has_metadata)
        root = tree(disk, tiered=source_of(tmp_path, tier))
        reported = json.loads(cat(root, "t-0/info.json"))
        is_kept = layout == "local" and not has_metadata and harm == "cut"
        assert reported["problems"] or harm == "garbage" or is_kept
        assert (reported["logStartOffset"], reported["logEndOffset"]) == (0, 120)
        first = 105 if is_kept else 90
        assert [*lines(cat(root, f"t-0/by-offset/0..{first}.jsonl"))] == [*range(first)]
        for path in ("0...jsonl", f"{first}.jsonl", "119.jsonl", f"{first}..120.jsonl"):
            assert code_of(root, f"t-0/by-offset/{path}") == EIO, path


@pytest.mark.parametrize("checkpoint", ["0\n1\nother 0 0\n", None])
def test_leader_epochs_tell_of_a_tier_where_the_checkpoint_does_not(tmp_path, checkpoint):
    """Regression: a broker writes its checkpoint once a minute. Killed before, the log began at the first local one;
    without a checkpoint, a first upload that is gone was passed over."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    if checkpoint is None:
        (disk / "log-start-offset-checkpoint").unlink()
    else:
        (disk / "log-start-offset-checkpoint").write_text(checkpoint)
    assert_as(expected(made, tier, True), tree(disk, tiered=source_of(tmp_path, tier)))
    without(0)(tier)
    root = tree(disk, tiered=source_of(tmp_path, tier))
    assert json.loads(cat(root, "t-0/info.json"))["problems"]
    for path in ("0.jsonl", "0...jsonl", "29.jsonl"):
        assert code_of(root, f"t-0/by-offset/{path}") == EIO, path
    assert [*lines(cat(root, "t-0/by-offset/30..170.jsonl"))] == [*range(30, 170)]
