"""Uploads that are lost, or that lost one of their files: what they had is there, or is an error."""

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkafs.view.tree import Root
from tests.log.tier import lives, naive
from tests.log.tier.lives import FOLDER, Past
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

WHOLE = "t-0/by-offset/0...jsonl"


class Case:
    """A partition that only a tier has, and the records of each offset by the naive model."""

    def __init__(self, made: Past, place: Path, has_metadata: bool) -> None:
        self._place = place
        self.tier = made.write_tier(place / "tier")
        self._disk = made.write_disk(place / "disk", has_local=False, has_metadata=has_metadata)
        self.uploads = naive.uploads_in(self.tier / FOLDER)
        self._lineage = naive.newest_lineage(self.uploads)
        self.wanted = naive.log_of(self.uploads, self._lineage, 0, [])

    def without(self, lost: naive.NaiveUpload) -> dict[int, naive.Batch]:
        """The batch of each offset that other uploads have."""
        return naive.log_of([each for each in self.uploads if each is not lost], self._lineage, 0, [])

    @contextmanager
    def tree_without(self, files: Iterable[Path]) -> Iterator[Root]:
        """The tree while these files of the tier are gone."""
        contents = {file: file.read_bytes() for file in files}
        for file in contents:
            file.unlink()
        yield tree(self._disk, tiered=source_of(self._place, self.tier))
        for file, data in contents.items():
            file.write_bytes(data)


@pytest.mark.parametrize("past", PASTS, ids=lambda each: each.__name__)
def test_a_lost_partitions_upload_that_only_the_metadata_know_is_an_error(tmp_path, past):
    """Regression: a lost last upload that began a new epoch counted for another life's, and the log ended before it."""
    case = Case(past(), tmp_path, has_metadata=True)
    for lost in case.uploads:
        there = case.without(lost)
        gone = case.wanted.keys() - there.keys()
        with case.tree_without(case.tier.rglob(f"*{lost.segment_id}*")) as root:
            if gone:
                assert code_of(root, WHOLE) == EIO
                assert json.loads(cat(root, "t-0/info.json"))["problems"]
            else:
                assert [*lines(cat(root, WHOLE))] == [*case.wanted]
            for offset in (*sorted(gone)[::9], *sorted(there)[::9]):
                path = f"t-0/by-offset/{offset}.jsonl"
                if offset in gone:
                    assert code_of(root, path) == EIO, (lost, path)
                else:
                    assert lines(cat(root, path)) == {offset: f"{there[offset].epoch}:{offset}"}


@pytest.mark.parametrize("past", PASTS if os.environ.get("KAFKAFS_REVIVE") else [empty_epoch, cut, contained])
def test_an_upload_that_lost_one_file_is_there_or_an_error(tmp_path, past):
    """Regression: it counted for a copy that a crash had cut, though the file is there that is copied last. At the end
    of a partition that only the tier has, its records were gone with exit code 0."""
    case = Case(past(), tmp_path, has_metadata=False)
    for harmed in case.uploads:
        others = ("index", "timeindex", "leader_epoch_checkpoint") if harmed is case.uploads[-1] else ()
        for kind in ("log", *others):
            gone = set() if kind.endswith("index") else case.wanted.keys() - case.without(harmed).keys()
            (file,) = case.tier.rglob(f"*{harmed.segment_id}.{kind}")
            with case.tree_without([file]) as root:
                if gone:
                    assert code_of(root, WHOLE) == EIO, file
                    assert json.loads(cat(root, "t-0/info.json"))["problems"]
                    assert code_of(root, f"t-0/by-offset/{min(gone)}.jsonl") == EIO, file
                    for offset in (min(gone), max(gone)):
                        time = lives.FIRST_MS + 1000 * offset
                        for name in (f"{time}.jsonl", f"{time}...jsonl", f"{time}..{time + 1}.jsonl"):
                            assert code_of(root, f"t-0/by-time/{name}") == EIO, (file, name)
                else:
                    assert [*lines(cat(root, WHOLE))] == [*case.wanted], file
                for offset in sorted(case.wanted.keys() - gone)[::25]:
                    values = lines(cat(root, f"t-0/by-offset/{offset}.jsonl"))
                    assert values == {offset: f"{case.wanted[offset].epoch}:{offset}"}, file


@pytest.mark.parametrize("past", [restarted, cut])
def test_a_lost_upload_is_an_error_if_another_one_lost_its_epochs(tmp_path, past):
    """Regression: the metadata topic notes an upload's own epochs alone. They were taken for the whole lineage, and all
    that was lost below them counted for deleted."""
    case = Case(past(), tmp_path, has_metadata=True)
    for lost, blank in itertools.permutations(case.uploads, 2):
        files = [*case.tier.rglob(f"*{lost.segment_id}.*"), *case.tier.rglob(f"*{blank.segment_id}.leader*")]
        with case.tree_without(files) as root:
            if case.wanted.keys() - case.without(lost).keys():
                assert code_of(root, WHOLE) == EIO, (lost.base, blank.base)
            else:
                assert [*lines(cat(root, WHOLE))] == [*case.wanted], (lost.base, blank.base)
