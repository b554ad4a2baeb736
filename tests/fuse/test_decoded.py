"""`.decoded.jsonl` through a real mount, in its sandbox: whatever decoding needs was imported before."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mount
from tests.kafka import registered
from tests.mounting import Mounted, run


@pytest.fixture(scope="module")
def mounted(mount_for_module: Mount) -> Mounted:
    return mount_for_module(registered.data())


@pytest.mark.parametrize("topic", sorted({case.topic for case in registered.cases()}))
def test_each_topic_is_decoded(mounted: Mounted, topic: str) -> None:
    """What works in a process that may do all may fail in one that can open no file."""
    cases = [case for case in registered.cases() if case.topic == topic]
    lines = run("cat", mounted / f"{topic}-0/by-offset/0...decoded.jsonl").stdout.splitlines()
    points = [run("cat", mounted / f"{topic}-0/by-offset/{n}.decoded.jsonl").stdout for n in range(len(cases))]
    assert b"".join(points).splitlines() == lines
    for case, line in zip(cases, lines, strict=True):
        reported = json.loads(line)
        assert [reported.get(name) for name in case.shown if not name.endswith("Error")] == [
            shown for name, shown in case.shown.items() if not name.endswith("Error")
        ]


@pytest.mark.parametrize("name", ["0.decoded.jsonl", "0...decoded.jsonl"])
def test_points_and_ranges_have_their_true_size(mounted: Mounted, name: str) -> None:
    path = mounted / "paid-0/by-offset" / name
    assert path.stat().st_size == len(Path(path).read_bytes()) > 0


def test_names_that_are_none(mounted: Mounted) -> None:
    for name in ("0.decoded", "0.decoded.follow.jsonl", "0..5.decoded.follow.jsonl", "0.jsonl.decoded"):
        assert not (mounted / "paid-0/by-offset" / name).exists()


def test_the_log_names_no_bug(mounted: Mounted) -> None:
    assert "bug" not in mounted.log
    assert "Traceback" not in mounted.log
