"""Whose files these are: a daemon of root becomes that user, who should be able to read them and little else."""

import os
from pathlib import Path

import pytest

from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.log.data_directory import DEFAULT_OPTIONS, DataDirectory, open_data_directory
from kafkafs.view.ownership import Owner, mode_of_copies, owner_of
from tests.log.making import made, write_partition
from tests.nobody import takes_root

KAFKA, GROUP, OTHER = 2001, 2002, 2003


def owner(data: Path) -> Owner:
    return owner_of([open_data_directory(data)])


def given(data: Path, uid: int = KAFKA, gid: int = GROUP) -> Path:
    """All of it belongs to one user, as a broker leaves it."""
    for path in (data, *data.rglob("*")):
        os.chown(path, uid, gid)
    return data


@pytest.fixture
def data(open_path):
    data = open_path / "data"
    write_partition(data, {0: [made(0, [1])], 1: [made(1, [2])]})
    write_partition(data, {0: [made(0, [1])]}, "t-1")
    return data


def test_a_directory_of_this_user(data):
    assert owner(data) == Owner(os.geteuid(), data.stat().st_gid, True)


@takes_root
def test_the_one_who_has_most_of_it(data):
    """A file that root has put there changes nothing but that its owner alone may not do."""
    given(data)
    assert owner(data) == Owner(KAFKA, GROUP, True)
    log = next((data / "t-0").glob("*.log"))
    os.chown(log, 0, 0)
    log.chmod(0o644)
    assert owner(data) == Owner(KAFKA, GROUP, True)
    log.chmod(0o600)
    assert owner(data) == Owner(KAFKA, GROUP, False)
    os.chown(log, 0, GROUP)
    log.chmod(0o640)
    assert owner(data) == Owner(KAFKA, GROUP, True)


@takes_root
@pytest.mark.parametrize(("mode", "alone"), [(0o700, True), (0o400, False), (0o100, False), (0o077, False)])
def test_a_directory_takes_searching_and_listing(data, mode, alone):
    given(data)
    (data / "t-1").chmod(mode)
    assert owner(data) == Owner(KAFKA, GROUP, alone)


@takes_root
def test_the_group_is_that_of_this_users_files(data):
    """Most files of another user's may be of another group."""
    given(data)
    for path in (data / "t-0").iterdir():
        os.chown(path, KAFKA, GROUP)
    for path in (data, data / "t-0", data / "t-1"):
        os.chown(path, KAFKA, OTHER)
    for path in (data / "t-1").iterdir():
        os.chown(path, OTHER, OTHER)
    assert (owner(data).uid, owner(data).gid) == (KAFKA, GROUP)


@takes_root
def test_rebuilt_indexes_and_further_directories_count_too(data, tmp_path_factory):
    given(data)
    indexes = tmp_path_factory.mktemp("indexes")
    write_partition(indexes, {0: [made(0, [1])]})
    rebuilt = DataDirectory(data, DEFAULT_OPTIONS, LocalDirectory(str(indexes)))
    for bits, alone in ((0o755, True), (0o700, False)):
        for path in (indexes, *indexes.rglob("*")):
            path.chmod(bits)
        assert owner_of([rebuilt]) == Owner(KAFKA, GROUP, alone)
    second = tmp_path_factory.mktemp("second")
    write_partition(second, {base: [made(base, [1])] for base in range(20)})
    given(second, OTHER)
    assert owner_of([open_data_directory(data), open_data_directory(second)]).uid == OTHER


@takes_root
def test_what_is_no_regular_file_and_what_vanishes_is_passed_over(data):
    given(data)
    os.mkfifo(data / "t-0" / "pipe", 0o000)
    (data / "t-0" / "link").symlink_to("/etc/shadow")
    opened = open_data_directory(data)
    opened.names()
    for path in (data / "t-1").iterdir():
        path.unlink()
    (data / "t-1").rmdir()
    assert owner_of([opened]) == Owner(KAFKA, GROUP, True)


def test_no_more_is_looked_at_than_is_needed_to_tell(data, calls):
    opened = open_data_directory(data)
    opened.names()
    looked = calls(LocalDirectory, "stat")
    owner_of([opened], most=2)
    assert [name for _, *names in looked for name in names if name != "."] in (["t-0"], ["t-1"])


MODES = [
    ({}, 0o644), ({"t-0": 0o600}, 0o600), ({"t-0": 0o640}, 0o640), ({"t-1": 0o600}, 0o600), ({"t-0": 0o604}, 0o604),
    ({"t-0": 0o640, "t-1": 0o604}, 0o600),
]  # fmt: skip


@pytest.mark.parametrize(("modes", "granted"), MODES)
def test_copies_are_shown_to_nobody_who_may_not_read_each_log(data, modes, granted):
    """Regression: an export of files of mode 0600 had mode 0644."""
    for name, mode in modes.items():
        max((data / name).glob("*.log")).chmod(mode)
    assert mode_of_copies([open_data_directory(data)], lambda _: True) == granted
    assert mode_of_copies([open_data_directory(data)], lambda topic: topic != "t") == 0o644


@pytest.mark.parametrize("closed", ["", "t-0"])
@pytest.mark.parametrize(("mode", "granted"), [(0o700, 0o600), (0o750, 0o640), (0o755, 0o644), (0o711, 0o644)])
def test_directories_above_logs_count_too(data, closed, mode, granted):
    (data / closed).chmod(mode)
    assert mode_of_copies([open_data_directory(data)], lambda _: True) == granted


def test_a_directory_above_the_data_directory_counts_too(data):
    data.parent.chmod(0o700)
    assert mode_of_copies([open_data_directory(data)], lambda _: True) == 0o600


@takes_root
def test_the_group_of_this_process_is_none_of_the_logs(data):
    """Members of another group get what others have."""
    given(data)
    for log in data.rglob("*.log"):
        log.chmod(0o640)
    assert mode_of_copies([open_data_directory(data)], lambda _: True) == 0o600
