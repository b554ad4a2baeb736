"""A partition that only a tier has, whose last upload lost its end: no answer is short without an error."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.places import Between
from kafkafs.log.read_options import ReadOptions
from tests.log.tier import lives
from tests.log.tier.test_lives import EIO, code_of, lines, one_epoch, source_of
from tests.view.trees import cat, tree

END = 120


def without_indexes(log: Path) -> None:
    for kind in ("index", "timeindex"):
        log.with_suffix(f".{kind}").unlink(missing_ok=True)


def cut_inside(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-30])
    without_indexes(log)


def gone_with_an_index(log: Path) -> None:
    log.unlink()
    log.with_suffix(".index").unlink()


def gone_with_all_indexes(log: Path) -> None:
    log.unlink()
    without_indexes(log)


def bad_manifest(log: Path) -> None:
    log.with_suffix(".rsm-manifest").write_bytes(b"{")


CASES: dict[str, tuple[str, Callable[[Path], None], int, int | None]] = {
    "cut inside a batch, without indexes": ("local", cut_inside, 115, 116),
    "gone with its offset index": ("local", gone_with_an_index, 90, END),
    "gone with both indexes": ("local", gone_with_all_indexes, 90, None),
    "a manifest that cannot be read": ("aiven", bad_manifest, 90, None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_may_be_behind_the_end_is_an_error(tmp_path, case):
    """Regression: of an upload that nothing tells the end of, one offset was an error, and a range behind it was empty
    with exit code 0. A log that ended in the midst of a batch ended there. A log that was lost with its offset index
    was reported as a bug."""
    layout, harm, kept, end = CASES[case]
    tier = lives.in_layout(one_epoch().write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    harm(sorted(tier.rglob("*.log"))[-1])
    disk = one_epoch().write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    source = source_of(tmp_path, tier)
    root = tree(disk, tiered=source)
    info = json.loads(cat(root, "t-0/info.json"))
    assert (info["logEndOffset"], info["latestOffset"], info["maxTimestamp"]) == (end, None, None)
    assert info["problems"]
    assert [*lines(cat(root, f"t-0/by-offset/0..{kept}.jsonl"))] == [*range(kept)]
    for path in ("0...jsonl", f"{kept}.jsonl", f"{kept}...jsonl", "118.jsonl", "118...jsonl", "118..120.jsonl",
                 "118..", "150.jsonl", "150...jsonl", "latest.jsonl", "-2...jsonl"):  # fmt: skip
        assert code_of(root, f"t-0/by-offset/{path}") == EIO, path
    for path in ("0...jsonl", f"{lives.FIRST_MS + 119_000}.jsonl", f"{lives.FIRST_MS + 119_000}...jsonl"):
        assert code_of(root, f"t-0/by-time/{path}") == EIO, path
    look = open_data_directory(disk, ReadOptions(tiered=source)).partition("t-0").look()
    with pytest.raises(KafkafsError):
        Between(from_offset=150).offsets(look)
    lenient = tree(disk, tiered=source, corrupt_skip=True)
    assert [*lines(cat(lenient, "t-0/by-offset/0...jsonl"))] == [*range(kept)]
    assert cat(lenient, "t-0/by-offset/150...jsonl") == b""
