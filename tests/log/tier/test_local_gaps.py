"""A disk that lost segments in the middle of a tiered log: each offset is answered from the tier, or is an error."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkafs.cli.main import main
from kafkafs.errors import DiskError
from kafkafs.log import tail
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.segment import Segment
from kafkafs.log.tail import Tail
from kafkafs.log.tier import local_gaps
from kafkafs.view.tree import Root
from tests.kafka.buckets import bucket_of
from tests.log.making import Made, write_partition
from tests.log.tier import lives, naive
from tests.log.tier.lives import FIRST_MS, Past
from tests.log.tier.test_lives import EIO, LAYOUTS, code_of, lines, source_of, without
from tests.mounting import KAFKAFS
from tests.view.trees import cat, tree

CLOSED = (60, 90, 120)
"""Closed segments of the disk. The tier has them, too, and those of 0 and 30. The last one, 150, is on no tier."""

HOW = ("all", "log", "emptied", "cut", "zeros")


def past() -> Past:
    made = Past()
    for number, epoch in enumerate((0, 0, 2, 2, 4, 4)):
        made.append(epoch, 30)
        if number < 5:
            made.roll()
    return made


def disk_of(made: Past, place: Path, has_metadata: bool, bases: Iterable[int] = (*CLOSED, 150)) -> Path:
    disk = made.write_disk(place, has_local=True, has_metadata=has_metadata)
    write_partition(disk, {base: made.segment(base) for base in bases})
    return disk


def lose(disk: Path, base: int, how: str) -> None:
    """Takes a segment away, or some of it. The batches of a segment hold five records each."""
    log = disk / f"t-0/{base:020}.log"
    if how == "all":
        for file in log.parent.glob(f"{log.stem}.*"):
            file.unlink()
    elif how == "log":
        log.unlink()
    else:
        data = log.read_bytes()
        kept = b"".join(each.data for each in naive.batches_in(data)[:2])
        log.write_bytes({"emptied": b"", "cut": kept, "zeros": bytes(len(data))}[how])


def assert_as_made(root: Root, made: Past, lacking: Iterable[int] = ()) -> None:
    """Points, times and ranges; those that need what is lacking are errors."""
    lost = {*lacking}
    wanted = {each: f"{naive.batches_in(one.data)[0].epoch}:{each}" for one in made.batches for each in offsets(one)}
    reported = json.loads(cat(root, "t-0/info.json"))
    assert (reported["logStartOffset"], reported["logEndOffset"]) == (0, made.end)
    assert bool(reported["problems"]) or not lost
    assert lost or not any("a gap" in each for each in reported["problems"]), "the tier has them"
    for offset in range(2, made.end, 9):
        for path in (f"by-offset/{offset}.jsonl", f"by-time/{FIRST_MS + 1000 * offset}.jsonl"):
            if offset in lost:
                assert code_of(root, f"t-0/{path}") == EIO, path
            elif not (path.startswith("by-time") and {offset - 5} & lost):  # nobody knows the times of what is lost
                assert lines(cat(root, f"t-0/{path}")) == {offset: wanted[offset]}, path
    for begin, stop in ((0, made.end), (61, 149), (88, 92), (75, 76), (149, 151)):
        path = f"t-0/by-offset/{begin}..{stop}.jsonl"
        if lost & {*range(begin, stop)}:
            assert code_of(root, path) == EIO, path
        else:
            assert lines(cat(root, path)) == {each: wanted[each] for each in range(begin, stop)}, path
    if not lost:
        assert cat(root, "t-0/by-offset/0..") == b"".join(each.data for each in made.batches)


def offsets(made: Made) -> range:
    return range(made.base, made.last + 1)


@pytest.mark.sampled
@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_what_the_disk_lost_comes_from_the_tier(tmp_path, layout, how, has_metadata):
    """Regression: offsets between two segments of the disk were never asked of the tier: 140 of 170, without a word."""
    made = past()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    for number, lost in enumerate(((60,), (90,), (60, 120), CLOSED)):
        disk = disk_of(made, tmp_path / f"disk{number}", has_metadata)
        for base in lost:
            lose(disk, base, how)
        assert_as_made(tree(disk, tiered=source_of(tmp_path, tier)), made)


@pytest.mark.sampled
@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_what_nobody_has_is_an_error(tmp_path, layout, how, has_metadata):
    """An upload is gone, too. The other segments that the disk lost come from the tier."""
    made = past()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    without(3)(tier)
    disk = disk_of(made, tmp_path / "disk", has_metadata)
    for base in (60, 90):
        lose(disk, base, how)
    first = 100 if how == "cut" else 90
    assert_as_made(tree(disk, tiered=source_of(tmp_path, tier)), made, range(first, 120))
    lenient = tree(disk, tiered=source_of(tmp_path, tier), corrupt_skip=True)
    assert [*lines(cat(lenient, "t-0/by-offset/0...jsonl"))] == [*range(first), *range(120, 180)]


@pytest.mark.sampled
@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("bases", [(40, 75, 100, 130, 150), (50, 55, 60, 100, 105, 145, 150), (65, 70, 75, 80, 140)])
@pytest.mark.parametrize("how", ["all", "cut"])
def test_uploads_of_other_borders_double_nothing(tmp_path, has_metadata, bases, how):
    """A follower closed its segments elsewhere than the leader that uploaded: uploads begin and end inside of them."""
    made, followed = past(), past()
    followed.bases = [0, *bases]
    tier = made.write_tier(tmp_path / "tier")
    closed = bases[:-1]
    for number, lost in enumerate((closed[1:2], closed[1::2], closed[::2], closed)):
        disk = disk_of(followed, tmp_path / f"disk{number}", has_metadata, bases)
        for base in lost:
            lose(disk, base, how)
        root = tree(disk, tiered=source_of(tmp_path, tier))
        assert [*lines(cat(root, "t-0/by-offset/0...jsonl"))] == [*range(180)], lost
        assert cat(root, "t-0/by-offset/0..") == b"".join(each.data for each in made.batches), lost


@pytest.mark.parametrize("has_metadata", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_an_end_that_only_the_tier_has_is_named(tmp_path, caplog, layout, has_metadata):
    """The log ends where the disk does, as for a consumer of that broker. A former leader's upload is no such end."""
    made = past()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    source = source_of(tmp_path, tier)
    sentence = "the log ends at offset 120 on the disk, and the tier has offsets up to 149"
    disk = disk_of(made, tmp_path / "disk", has_metadata)
    for base in (120, 150):
        lose(disk, base, "all")
    root = tree(disk, tiered=source)
    assert [*lines(cat(root, "t-0/by-offset/0...jsonl"))] == [*range(120)]
    assert json.loads(cat(root, "t-0/info.json"))["problems"] == [sentence]
    assert caplog.text.count(sentence) == 1
    made.cut(120)
    made.elect(7)
    (disk / "t-0/leader-epoch-checkpoint").write_bytes(lives.checkpoint(made.lineage))
    assert json.loads(cat(tree(disk, tiered=source), "t-0/info.json"))["problems"] == []


@pytest.mark.usefixtures("hasty")
def test_a_bucket_is_asked_for_what_the_disk_lost(tmp_path):
    """A local offset needs no answer of the store; a lost one does."""
    made = past()
    made.write_tier(tmp_path / "tier")
    disk = disk_of(made, tmp_path / "disk", has_metadata=False)
    lose(disk, 90, "all")
    with bucket_of(tmp_path) as store:
        source = TierSource(store.address("tier", opened=True))
        assert_as_made(tree(disk, tiered=source), made)
        root = tree(disk, tiered=source)
    for offset in (60, 89, 120, 179):
        assert [*lines(cat(root, f"t-0/by-offset/{offset}.jsonl"))] == [offset]
    assert code_of(root, "t-0/by-offset/90.jsonl") == EIO


def test_a_log_that_could_not_be_read_for_a_moment_is_looked_at_again(tmp_path, monkeypatch):
    """A segment whose end is not known yet may have a gap behind it."""
    made = past()
    disk = disk_of(made, tmp_path / "disk", has_metadata=False)
    lose(disk, 90, "cut")
    source = source_of(tmp_path, made.write_tier(tmp_path / "tier"))
    partition = open_data_directory(disk, ReadOptions(tiered=source)).partition("t-0")
    refused = iter([DiskError("the disk does not answer")] * 3)

    def find_tail(segment: Segment, known: Tail | None) -> Tail:
        for error in refused:
            raise error
        return tail.find_tail(segment, known)

    monkeypatch.setattr(local_gaps, "find_tail", find_tail)
    looks = [[each.base_offset for each in partition.segments() if each.object is not None] for _ in range(3)]
    assert looks == [[0, 30], [0, 30, 90], [0, 30, 90]]


@pytest.mark.parametrize("lost_upload", [None, 3])
def test_jobs_count_each_record_once_or_fail(tmp_path, lost_upload):
    made = past()
    tier = made.write_tier(tmp_path / "tier")
    disk = disk_of(made, tmp_path / "disk", has_metadata=False)
    lose(disk, 90, "cut")
    if lost_upload is not None:
        without(lost_upload)(tier)
    out = tmp_path / "out"
    words = ("export", disk, "--to", out, "--tiered", tier, "--engine", "local", "--topics", "t")
    done = subprocess.run([KAFKAFS, *words], capture_output=True, text=True, timeout=120, check=False)
    if lost_upload is not None:
        assert (done.returncode, "offsets 100 to 119 are in no upload" in done.stderr) == (1, True), done.stderr
    else:
        found = [pq.read_table(file)["offset"].to_pylist() for file in out.rglob("*.parquet")]
        assert (done.returncode, sorted(each for part in found for each in part)) == (0, [*range(180)]), done.stderr


@pytest.mark.parametrize("has_upload", [True, False])
def test_an_audit_calls_no_log_lost_that_the_tier_has(tmp_path, capsys, has_upload):
    """Regression: "data loss", though each record was answered."""
    made = past()
    tier, disk = made.write_tier(tmp_path / "tier"), disk_of(made, tmp_path / "disk", has_metadata=False)
    lose(disk, 60, "log")
    if not has_upload:
        without(2)(tier)
    assert main(["audit", "--engine", "local", "--tiered", str(tier), str(disk)]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [(each["kind"], each["severity"]) for each in found if each["file"].endswith("060.log")]
    assert sorted(found) == [("missing-log", "note"), *([] if has_upload else [("unreadable", "data loss")])]
