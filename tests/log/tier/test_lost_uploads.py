"""Uploads that are lost, or that lost one of their files: what they had is there, or is an error."""

import itertools
import json
import os

import pytest

from tests.log.tier import lives, naive
from tests.log.tier.lives import FOLDER
from tests.log.tier.test_lives import (
    EIO,
    PASTS,
    code_of,
    contained,
    cut,
    empty_epoch,
    lines,
    restarted,
    source_of,
)
from tests.view.trees import cat, tree


@pytest.mark.parametrize("past", PASTS, ids=lambda each: each.__name__)
def test_a_lost_partitions_upload_that_only_the_metadata_know_is_an_error(tmp_path, past):
    """Regression: a lost last upload that began a new epoch counted for another life's, and the log ended before it."""
    made = past()
    tier = made.write_tier(tmp_path / "tier")
    uploads = naive.uploads_in(tier / FOLDER)
    lineage = naive.newest_lineage(uploads)
    wanted = naive.log_of(uploads, lineage, 0, [])
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=True)
    for lost in uploads:
        files = {file: file.read_bytes() for file in tier.rglob(f"*{lost.segment_id}*")}
        for file in files:
            file.unlink()
        there = naive.log_of([each for each in uploads if each is not lost], lineage, 0, [])
        root = tree(disk, tiered=source_of(tmp_path, tier))
        gone = wanted.keys() - there.keys()
        whole = "t-0/by-offset/0...jsonl"
        if gone:
            assert code_of(root, whole) == EIO
            assert json.loads(cat(root, "t-0/info.json"))["problems"]
        else:
            assert [*lines(cat(root, whole))] == [*wanted]
        for offset in (*sorted(gone)[::9], *sorted(there)[::9]):
            path = f"t-0/by-offset/{offset}.jsonl"
            if offset in gone:
                assert code_of(root, path) == EIO, (lost, path)
            else:
                assert lines(cat(root, path)) == {offset: f"{there[offset].epoch}:{offset}"}
        for file, data in files.items():
            file.write_bytes(data)


@pytest.mark.parametrize("past", PASTS if os.environ.get("KAFKAFS_REVIVE") else [empty_epoch, cut, contained])
def test_an_upload_that_lost_one_file_is_there_or_an_error(tmp_path, past):
    """Regression: it counted for a copy that a crash had cut, though the file is there that is copied last. At the end
    of a partition that only the tier has, its records were gone with exit code 0."""
    made = past()
    tier = made.write_tier(tmp_path / "tier")
    uploads = naive.uploads_in(tier / FOLDER)
    lineage = naive.newest_lineage(uploads)
    wanted = naive.log_of(uploads, lineage, 0, [])
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    for harmed in uploads:
        there = naive.log_of([each for each in uploads if each is not harmed], lineage, 0, [])
        others = ("index", "timeindex", "leader_epoch_checkpoint") if harmed is uploads[-1] else ()
        for kind in ("log", *others):
            (file,) = tier.rglob(f"*{harmed.segment_id}.{kind}")
            data = file.read_bytes()
            file.unlink()
            root = tree(disk, tiered=source_of(tmp_path, tier))
            gone = set() if kind.endswith("index") else wanted.keys() - there.keys()
            if gone:
                assert code_of(root, "t-0/by-offset/0...jsonl") == EIO, file
                assert json.loads(cat(root, "t-0/info.json"))["problems"]
                assert code_of(root, f"t-0/by-offset/{min(gone)}.jsonl") == EIO, file
                for offset in (min(gone), max(gone)):
                    time = lives.FIRST_MS + 1000 * offset
                    for name in (f"{time}.jsonl", f"{time}...jsonl", f"{time}..{time + 1}.jsonl"):
                        assert code_of(root, f"t-0/by-time/{name}") == EIO, (file, name)
            else:
                assert [*lines(cat(root, "t-0/by-offset/0...jsonl"))] == [*wanted], file
            for offset in sorted(wanted.keys() - gone)[::25]:
                values = lines(cat(root, f"t-0/by-offset/{offset}.jsonl"))
                assert values == {offset: f"{wanted[offset].epoch}:{offset}"}, file
            file.write_bytes(data)


@pytest.mark.parametrize("past", [restarted, cut])
def test_a_lost_upload_is_an_error_if_another_one_lost_its_epochs(tmp_path, past):
    """Regression: the metadata topic notes an upload's own epochs alone. They were taken for the whole lineage, and all
    that was lost below them counted for deleted."""
    made = past()
    tier = made.write_tier(tmp_path / "tier")
    uploads = naive.uploads_in(tier / FOLDER)
    lineage = naive.newest_lineage(uploads)
    wanted = naive.log_of(uploads, lineage, 0, [])
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=True)
    for lost, blank in itertools.permutations(uploads, 2):
        there = naive.log_of([each for each in uploads if each is not lost], lineage, 0, [])
        files = [*tier.rglob(f"*{lost.segment_id}.*"), *tier.rglob(f"*{blank.segment_id}.leader*")]
        contents = {file: file.read_bytes() for file in files}
        for file in files:
            file.unlink()
        root, whole = tree(disk, tiered=source_of(tmp_path, tier)), "t-0/by-offset/0...jsonl"
        if wanted.keys() - there.keys():
            assert code_of(root, whole) == EIO, (lost.base, blank.base)
        else:
            assert [*lines(cat(root, whole))] == [*wanted], (lost.base, blank.base)
        for file, data in contents.items():
            file.write_bytes(data)
