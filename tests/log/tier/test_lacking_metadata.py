"""Copies of the metadata topic that lack records, and tiers that lack what the metadata topic has."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafkafs.log.read_options import TierSource
from kafkafs.view.tree import Root
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, write_partition
from tests.log.tier import naive
from tests.log.tier.lives import FOLDER, Past, reported
from tests.log.tier.test_lives import EIO, code_of, lines, restarted
from tests.view.trees import cat, tree

METADATA = "__remote_log_metadata-0"
Messages = list[list[bytes]]


def write_metadata(disk: Path, messages: Sequence[Sequence[bytes]], first: int = 0) -> Path:
    """A batch for each upload."""
    batches, offset = [], first
    for group in messages:
        records = tuple(Record(offset + number, 1, 0, None, each) for number, each in enumerate(group))
        batches.append(Made(v2_batch(records), records))
        offset += len(group)
    shutil.rmtree(disk / METADATA, ignore_errors=True)
    return write_partition(disk, {first: batches}, METADATA) / f"{first:020}.log"


def numbers(root: Root) -> list[int]:
    return [*lines(cat(root, "t-0/by-offset/0...jsonl"))]


def damaged(disk: Path, messages: Messages) -> None:
    log = write_metadata(disk, messages)
    data = bytearray(log.read_bytes())
    data[sum(len(each.data) for each in naive.batches_in(bytes(data))[:2]) + 70] ^= 0x55
    log.write_bytes(data)


HARMS: dict[str, Callable[[Path, Messages], object]] = {
    "a damaged batch": damaged,
    "an end": lambda disk, messages: write_metadata(disk, messages[:3]),
    "an end, in the midst of an upload": lambda disk, messages: write_metadata(disk, [*messages[:3], messages[3][:1]]),
    "a beginning": lambda disk, messages: write_metadata(disk, messages[2:], 4),
    "a beginning, in the midst of one": lambda disk, messages: write_metadata(
        disk, [messages[1][1:], *messages[2:]], 3
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_uploads_of_which_records_are_lost_count_as_without_the_topic(tmp_path, harm):
    """Regression: a partition that only the tier has ended before them, or began behind them, with exit code 0."""
    made = restarted()
    source = TierSource(str(made.write_tier(tmp_path / "tier")))
    for has_local, end in ((True, 170), (False, 150)):
        disk = made.write_disk(tmp_path / f"disk{has_local}", has_local, has_metadata=False)
        HARMS[harm](disk, [reported(each) for each in made.uploads])
        root = tree(disk, tiered=source)
        assert numbers(root) == [*range(end)]
        assert json.loads(cat(root, "t-0/info.json"))["problems"] == []


def test_what_the_topic_calls_unfinished_or_deleted_never_shows(tmp_path):
    made = restarted()
    source = TierSource(str(made.write_tier(tmp_path / "tier")))
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    *messages, last = [reported(each) for each in made.uploads]
    write_metadata(disk, [*messages, last[:1]])
    assert numbers(tree(disk, tiered=source)) == [*range(120)]
    write_metadata(disk, [last[:1], *messages[2:]], 9)
    assert numbers(tree(disk, tiered=source)) == [*range(120)], "its end is not what the copy lacks"


def test_a_finished_upload_counts_above_one_that_the_topic_does_not_mention(tmp_path):
    """Uploads of a life that the disk has lost, records about them too, have the same offsets."""
    made, other = restarted(), Past()
    for _ in made.uploads:
        other.append(0, 30)
        other.roll()
    tier = made.write_tier(tmp_path / "tier")
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=True)
    wanted = lines(cat(tree(disk, tiered=TierSource(str(tier))), "t-0/by-offset/0...jsonl"))
    for file in other.write_tier(tmp_path / "other").rglob("0*"):
        shutil.copy(file, tier / FOLDER / (file.name[:21] + "A" + file.name[22:]))
    assert lines(cat(tree(disk, tiered=TierSource(str(tier))), "t-0/by-offset/0...jsonl")) == wanted


def test_a_finished_upload_without_its_last_file_counts(tmp_path):
    """Regression: it counted for gone, though its log is there with the size that was noted."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    for file in tier.rglob("*.snapshot"):
        file.unlink()
    for has_local, end in ((True, 170), (False, 150)):
        disk = made.write_disk(tmp_path / f"disk{has_local}", has_local, has_metadata=True)
        assert numbers(tree(disk, tiered=TierSource(str(tier)))) == [*range(end)]


def test_a_partition_of_which_nothing_is_left_but_metadata_is_an_error(tmp_path):
    """Regression: it did not exist. So a topic was exported without it, with exit code 0."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    (tier / FOLDER).rename(tier / f"u-0-{'A' * 22}")
    root = tree(made.write_disk(tmp_path / "disk", False, True), tiered=TierSource(str(tier)))
    assert "t-0" in [each.name for each in root.entries()]
    assert code_of(root, "t-0/by-offset/0...jsonl") == EIO


def test_a_partition_of_the_topic_that_comes_later_is_read(tmp_path):
    """Regression: the partitions of the metadata topic were listed once, when somebody first asked."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    root = tree(disk, tiered=TierSource(str(tier)), names_fresh_s=0.0, log_fresh_s=0.0)
    assert numbers(root) == [*range(150)]
    *messages, last = [reported(each) for each in made.uploads]
    write_metadata(disk, [*messages, last[:1]])
    assert numbers(tree(disk, tiered=TierSource(str(tier)), names_fresh_s=0.0)) == [*range(120)]
