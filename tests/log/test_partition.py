"""Looks at a partition by a thread that must not wait: what has not changed is told, what has takes a worker."""

import errno
import os
import time
from typing import NamedTuple

import pytest

from kafkafs.disk import local_directory
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import NotFound, Vanished, WouldBlock
from kafkafs.format.names import HIGH_WATERMARKS, LOG_STARTS
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.look import Look
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from tests.log.making import NAME, made, write_partition, write_start
from tests.log.transactional import data, marker

LONG_AGO = time.time() - 60


def write_high_watermark(root, offset):
    (root / HIGH_WATERMARKS).write_text(f"0\n1\nt 0 {offset}\n")


class LookedAt(NamedTuple):
    directory: DataDirectory
    partition: Partition


@pytest.fixture
def looked_at(tmp_path) -> LookedAt:
    """A partition that was looked at, some time after it was written; each look is as good as none a moment later."""
    write_partition(tmp_path, {0: [made(0, [1] * 9)], 9: [made(9, [1] * 9)]})
    write_start(tmp_path, 4)
    write_high_watermark(tmp_path, 17)
    for directory in (tmp_path / NAME, tmp_path):
        os.utime(directory, (LONG_AGO, LONG_AGO))
    directory = open_data_directory(tmp_path, ReadOptions(log_fresh_s=0.0, names_fresh_s=0.0))
    found = directory.partition(NAME)
    found.log()
    found.visible_segments()
    directory.checkpoints.read()
    return LookedAt(directory, found)


def test_a_look_that_finds_nothing_changed_waits_for_nothing(looked_at):
    log = looked_at.partition.log()
    with non_blocking():
        for _ in range(3):
            assert looked_at.directory.partition(NAME) is looked_at.partition
            assert looked_at.partition.log() is log
            assert looked_at.partition.visible_segments() == log.segments
            assert looked_at.directory.checkpoints.read().start_offsets == {("t", 0): 4}


def test_a_log_has_one_look_and_another_log_another(looked_at, tmp_path):
    """Answers are remembered by the look: a second one of the same log would forget them, and one kept for too
    long would answer for a log that is gone."""
    partition = looked_at.partition
    first = partition.look()
    assert partition.look() is first
    assert partition.log() is first.log
    assert partition.ask(lambda look: look) is first
    append(tmp_path)
    assert partition.look() is not first
    assert partition.log().end_offset > first.log.end_offset


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_look_sees_what_the_options_let_it_see(tmp_path, isolation):
    write_partition(tmp_path, {0: [made(0, [1])]})
    partition = open_data_directory(tmp_path, ReadOptions(isolation=isolation)).partition(NAME)
    assert partition.look().visible.options.isolation == isolation


def test_other_options_see_the_same_log_and_its_transactions(tmp_path, calls):
    """What is open at a log's end takes a scan of the log: one for all that ask."""
    write_partition(tmp_path, {0: [made(0, [1]), data(1, 7)]})
    partition = open_data_directory(tmp_path).partition(NAME)
    committed = ReadOptions(isolation="read_committed")
    scans = calls(partition.transactions, "last_stable_offset")
    assert partition.look_as(committed).visible.visible_end == 1
    assert partition.ask_as(committed, lambda look: (look.log, look.visible.visible_end)) == (partition.log(), 1)
    assert len(scans) == 2
    assert partition.look().visible.visible_end == 2


def test_a_question_under_other_options_is_asked_again(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    partition = open_data_directory(tmp_path).partition(NAME)
    seen: list[Look] = []

    def question(look: Look) -> str:
        seen.append(look)
        if len(seen) < 3:
            raise Vanished("a file is gone")
        return look.visible.options.isolation

    assert partition.ask_as(ReadOptions(isolation="read_committed"), question) == "read_committed"
    assert len(seen) == 3


def append(root):
    with open(root / NAME / f"{9:020d}.log", "ab") as log:
        log.write(made(18, [1] * 9).data)


def cut(root):
    os.truncate(root / NAME / f"{9:020d}.log", 50)


def add_a_file(root):
    (root / NAME / f"{18:020d}.log").touch()


def move_the_start(root):
    write_start(root, 6)


def lose_a_checkpoint(root):
    (root / LOG_STARTS).unlink()


def move_the_high_watermark(root):
    write_high_watermark(root, 18)


CHANGES = append, cut, add_a_file, move_the_start, lose_a_checkpoint, move_the_high_watermark


@pytest.mark.parametrize("change", CHANGES)
def test_a_look_at_what_has_changed_takes_a_worker(looked_at, tmp_path, change):
    before = looked_at.partition.log()
    change(tmp_path)
    with non_blocking(), pytest.raises(WouldBlock):
        looked_at.partition.log()
    after = looked_at.partition.log()
    assert after is not before
    assert looked_at.partition.log() is after


def test_a_partition_that_is_gone_is_not_reported(looked_at, tmp_path):
    (tmp_path / NAME).rename(tmp_path / f"{NAME}.moved")
    with non_blocking():
        with pytest.raises((NotFound, WouldBlock)):
            looked_at.partition.log()
        with pytest.raises(WouldBlock):
            looked_at.directory.names()


def test_who_must_not_wait_waits_for_no_other_look(looked_at):
    with looked_at.partition._lock, non_blocking(), pytest.raises(WouldBlock):
        looked_at.partition.log()
    with looked_at.directory._lock, non_blocking(), pytest.raises(WouldBlock):
        looked_at.directory.names()


def test_an_error_of_the_kernels_takes_a_worker(looked_at, monkeypatch):
    """Who may wait asks again, and tells what it was."""

    def failing(_):
        raise BlockingIOError(errno.EAGAIN, "injected")

    with monkeypatch.context() as patch, non_blocking():
        patch.setattr(os, "fstat", failing)
        for name in (".", NAME):
            with pytest.raises(WouldBlock):
                looked_at.partition.root.stat(name)


def test_attributes_that_somebody_else_must_be_asked_for_take_a_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(local_directory, "is_remote", lambda _: True)
    write_partition(tmp_path, {0: [made(0, [1])]})
    partition = open_data_directory(tmp_path, ReadOptions(log_fresh_s=0.0)).partition(NAME)
    partition.log()
    with non_blocking(), pytest.raises(WouldBlock):
        partition.log()


def test_what_is_known_of_open_transactions_is_the_partitions(tmp_path):
    """One scan for all views, tasks and key indexes; an evicted partition takes it along."""
    write_partition(tmp_path, {0: [data(0, 7), marker(1, 7, commit=True), data(2, 7)]})
    directory = open_data_directory(tmp_path)
    found = directory.partition(NAME)
    assert found.transactions.last_stable_offset(found.log()) == 2
    assert directory.partition(NAME).transactions is found.transactions
    assert open_data_directory(tmp_path).partition(NAME).transactions is not found.transactions
