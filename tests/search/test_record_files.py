"""Which files hold records, and which of them a search of logs leaves out."""

import functools
import os
import shutil

import pytest

from kafkafs.errors import Denied
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.search.record_files import LeftOut, NamedDirectory, left_beside, left_out, record_files, takes
from tests.log.making import made, write_partition
from tests.log.tier import lives
from tests.log.tier.test_lives import one_epoch

UUID = "0123456789abcdef0123456789abcdef"
BATCH = made(0, [1, 2])


@pytest.fixture
def data(tmp_path):
    for name in ("t-0", f"t-0.{UUID}-future", f"gone-1.{UUID}-delete", f"lost-0.{UUID}-stray", "other-0"):
        write_partition(tmp_path, {0: [BATCH], 5: [made(5, [3])]}, name)
    for name in (f"{0:020}.log.deleted", f"{0:020}.index.deleted", f"{9:020}.log.cleaned", f"{5:020}.log.swap"):
        (tmp_path / "t-0" / name).write_bytes(BATCH.data)
    for name in ("x.log", f"{1:020}.log.bak", "00.log.deleted"):
        (tmp_path / "t-0" / name).write_bytes(BATCH.data)
    (tmp_path / "t-0" / f"{7:020}.log").symlink_to("/proc/version")
    return tmp_path


def files(data, topics=ALL_TOPICS):
    reported: list[str] = []
    found = list(record_files([NamedDirectory(open_data_directory(data), "given/")], topics, reported.append))
    assert reported == []
    return found


def test_every_file_with_records_is_found_once_by_its_path(data):
    found = {each.path: (each.is_leftover, each.is_last) for each in files(data)}
    logs = {f"{name}/{base:020}.log" for name in os.listdir(data) if "-" in name for base in (0, 5)}
    beside = {f"t-0/{base:020}.log.{state}" for base, state in ((0, "deleted"), (9, "cleaned"), (5, "swap"))}
    assert found.keys() == {f"given/{each}" for each in logs | beside}
    assert {path for path, (_, is_last) in found.items() if is_last} == {
        f"given/{name}/{5:020}.log" for name in ("t-0", "other-0")
    }
    assert {path for path, (is_leftover, _) in found.items() if not is_leftover} == {
        f"given/{name}/{base:020}.log" for name in ("t-0", "other-0") for base in (0, 5)
    }


def test_a_file_that_got_another_name_is_opened_by_the_old_one_or_is_gone(data):
    first = next(each for each in files(data, TopicChoice(frozenset(["other"]))))
    assert first.open().size == len(BATCH.data)
    (data / first.below).rename(data / f"{first.below}.deleted")
    assert first.open().inode == first.inode
    again = next(each for each in files(data, TopicChoice(frozenset(["other"]))))
    assert again.key[1:] == first.key[1:]


def test_a_topic_whose_directory_name_was_cut_is_taken(data):
    topic = "a" * 240
    write_partition(data, {0: [BATCH]}, f"{'a' * (255 - 42)}-0.{UUID}-delete"[-255:])
    (cut,) = [each.name for each in files(data) if each.name.topic.startswith("aaa")]
    assert takes(TopicChoice(frozenset([topic])), cut) is cut.may_be_cut
    assert not takes(TopicChoice(frozenset(["b" * 240])), cut)


def test_what_a_search_leaves_out_is_counted(data):
    """Markers of directories and endings of logs; no index, no empty file, no swap that is read, no other replica."""
    directory = open_data_directory(data)
    size, more = len(BATCH.data), len(made(5, [3]).data)

    def left(*names, topics=ALL_TOPICS):
        beside = [left_beside(directory.partition(name)) for name in names]
        return functools.reduce(LeftOut.and_more, beside, left_out([directory], topics))

    assert left() == LeftOut(6, 3 * (size + more))
    assert left("t-0", "other-0") == LeftOut(9, 3 * (size + more) + 3 * size)
    assert left("t-0", topics=TopicChoice(frozenset(["t"]))) == LeftOut(5, size + more + 3 * size)
    assert left("other-0", topics=TopicChoice(frozenset(["other"]))) == LeftOut(0, 0)
    (data / "t-0" / f"{0:020}.log.deleted").write_bytes(b"")
    assert left("t-0", topics=TopicChoice(frozenset(["t"]))) == LeftOut(4, size + more + 2 * size)
    (data / "t-0" / f"{5:020}.log").unlink()
    directory = open_data_directory(data)
    assert left("t-0", topics=TopicChoice(frozenset(["t"]))) == LeftOut(3, size + more + size), "the swap file is read"


def test_a_directory_that_may_not_be_read_is_reported(data, monkeypatch):
    reported: list[str] = []
    directory = open_data_directory(data)
    names = directory.names_on_disk()
    assert len(names) == 5

    def denied(*_):
        raise Denied("may not be read")

    monkeypatch.setattr(directory.root, "scan", denied)
    assert (
        list(record_files([NamedDirectory(directory, "given")], TopicChoice(frozenset(["other"])), reported.append))
        == []
    )
    assert reported == ["given/other-0: may not be read"]


@pytest.mark.parametrize("number", range(4))
def test_an_object_whose_size_nothing_tells_is_named_and_the_others_are_searched(tmp_path, number):
    """Regression: a manifest that was cut ended the look at all tiers."""
    tier = lives.in_layout(one_epoch().write_tier(tmp_path / "local"), tmp_path / "tier", "aiven")
    manifest = sorted(tier.rglob("*.rsm-manifest"))[number]
    manifest.write_bytes(b"")
    reported: list[str] = []
    found = record_files(
        [NamedDirectory(open_data_directory(tier), "tier", "tier")], TopicChoice(frozenset(["t"])), reported.append
    )
    bases = [each.remote.base_offset for each in found if each.remote is not None]
    assert bases == [base for base in (0, 30, 60, 90) if base != 30 * number]
    assert [manifest.name in each for each in reported] == [True]


def test_each_partitions_gap_is_reported(tmp_path):
    """Regression: of two partitions whose tier has a gap, the second one's was not told."""
    past = one_epoch()
    del past.uploads[1]
    tier = past.write_tier(tmp_path)
    shutil.copytree(tier / lives.FOLDER, tier / lives.FOLDER.replace("t-0", "t-1"))
    reported: list[str] = []
    found = record_files(
        [NamedDirectory(open_data_directory(tier), "tier", "tier")], TopicChoice(frozenset(["t"])), reported.append
    )
    assert [(each.name.partition, each.remote.base_offset) for each in found if each.remote is not None] == [
        (partition, base) for partition in (0, 1) for base in (0, 30, 60, 90)
    ]
