"""Which log begins in a remote tier, by what a broker leaves on its disk."""

from pathlib import Path

import pytest

from kafkafs.errors import StoreError, WouldBlock
from kafkafs.log.tiered import tiered_start
from tests.log.making import made, partition_of, write_partition, write_start


def start_of(data: Path) -> int | None:
    partition = partition_of(data)
    return tiered_start(partition.log(), partition.root)


@pytest.mark.parametrize(
    ("checkpoint", "epochs", "cache", "start"),
    [
        (0, "0\n2\n0 0\n1 900\n", True, 0),
        (700, "0\n2\n0 650\n1 900\n", False, 700),
        (0, None, True, 0),
        (0, "0\n0\n", True, 0),
        (0, "garbage", True, 0),
        (None, "0\n2\n0 0\n1 900\n", True, None),  # a tiered partition is always listed
        (1000, "0\n1\n0 0\n", True, None),
        (1003, "0\n1\n0 0\n", True, None),
        (500, "0\n1\n1 1000\n", True, None),  # retention has just deleted segments, and was not written down yet
        (0, None, False, None),
        (-1, None, True, None),
    ],
)
def test_a_checkpoint_below_the_first_segment_tells_of_a_tier(
    tmp_path: Path, checkpoint: int | None, epochs: str | None, cache: bool, start: int | None
) -> None:
    directory = write_partition(tmp_path, {1000: [made(1000, [1] * 5)], 1005: [made(1005, [2] * 5)]})
    if checkpoint is not None:
        write_start(tmp_path, checkpoint)
    if epochs is not None:
        (directory / "leader-epoch-checkpoint").write_text(epochs)
    if cache:
        (tmp_path / "remote-log-index-cache").mkdir()
    assert start_of(tmp_path) == start


def test_without_a_segment_there_is_no_telling(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    write_partition(tmp_path, {})
    write_start(tmp_path, 0)
    assert start_of(tmp_path) is None


@pytest.mark.parametrize("refusal", [StoreError, WouldBlock])
def test_a_question_that_has_no_answer_yet_is_none_about_a_tier(tmp_path, monkeypatch, refusal):
    """Regression: after a failure of a store a tiered log counted as one that has lost its start."""
    write_partition(tmp_path, {1000: [made(1000, [1] * 5)]})
    write_start(tmp_path, 0)
    (tmp_path / "remote-log-index-cache").mkdir()
    partition = partition_of(tmp_path)
    log = partition.log()

    def refuse(*_: object) -> None:
        raise refusal("injected")

    monkeypatch.setattr(partition.root, "stat", refuse)
    with pytest.raises(refusal):
        tiered_start(log, partition.root)
