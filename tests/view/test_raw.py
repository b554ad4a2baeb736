"""Raw points and ranges: any read over any number of files, and what the attributes say."""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from kafkafs.errors import Vanished
from kafkafs.view import raw
from kafkafs.view.node import Content, FileNode, PagesWhileOpen
from kafkafs.view.raw import RawContent
from tests.kafka.dataset import Dataset
from tests.log.making import made, spread, write_partition, write_start
from tests.mounting import wait_until
from tests.view.trees import assert_random_access, cat, node, opened, read, tree

BATCHES = [made(number * 3, [1000 + number] * 3, size=number * 97 % 500) for number in range(120)]


def test_reads_cross_files_wherever_they_begin(tmp_path):
    """`cp` and `dd` ask for 128 KiB at a time and know nothing of segments."""
    write_partition(tmp_path, spread(BATCHES, 7))
    root, whole = tree(tmp_path), b"".join(batch.data for batch in BATCHES)
    content = opened(root, "t-0/by-offset/0..360")
    assert content.size == len(whole)
    assert_random_access(content, whole)
    assert_random_access(opened(root, "t-0/by-offset/0.."), whole)


def test_any_range_is_the_batches_that_overlap_it(tmp_path):
    """Against a list, for ranges of all kinds, with a log start inside a batch."""
    write_partition(tmp_path, spread(BATCHES, 7))
    write_start(tmp_path, 25)
    root, chance = tree(tmp_path), random.Random(4)
    for _ in range(150):
        start, end = sorted(chance.choices(range(370), k=2))
        lowest = max(start, 25)
        want = b"".join(batch.data for batch in BATCHES if batch.last >= lowest and batch.base < end and lowest < end)
        path = f"t-0/by-offset/{start}..{end}"
        assert cat(root, path) == want, path
        assert node(root, path).attributes().size == len(want)


@pytest.mark.parametrize("topic", ["v0-gzip", "v1-snappy", "codec-zstd"])
def test_attributes_tell_what_a_batch_holds(topic):
    """Old compressed messages state their last offset only; the attributes tell the first one and the count too."""
    data = Dataset("2.8.0", "stopped")
    root, offsets = tree(data.path), [record.offset for record in data.records(topic)]
    for offset in offsets[::25]:
        reported = cast(FileNode, node(root, f"{topic}-0/by-offset/{offset}")).xattrs()
        base, last = (int(reported[f"user.kafkafs.{name}"]) for name in ("base_offset", "last_offset"))
        assert base <= offset <= last
        assert int(reported["user.kafkafs.records"]) == len([each for each in offsets if base <= each <= last])
        assert reported["user.kafkafs.offset"] == str(offset).encode()
        assert reported["user.kafkafs.codec"].decode() == topic.split("-")[1]
        for suffix in (".jsonl", ".key", ".value", ".batches.jsonl", ".explain"):
            assert cast(FileNode, node(root, f"{topic}-0/by-offset/{offset}{suffix}")).xattrs() == reported, suffix


def test_a_point_keeps_its_bytes_while_it_is_open(tmp_path):
    """An open file answers from the file it was opened on, whatever becomes of the name."""
    directory = write_partition(tmp_path, spread(BATCHES, 60))
    root = tree(tmp_path)
    point, range_ = opened(root, "t-0/by-offset/5"), opened(root, "t-0/by-offset/0..100")
    for file in directory.glob(f"{0:020}*"):
        file.unlink()
    assert bytes(point.read(0, 1 << 20)) == BATCHES[1].data
    assert bytes(range_.read(0, 1 << 20)) == b"".join(batch.data for batch in BATCHES[:34])
    point.close()
    assert bytes(point.read(0, 10)) == b""


@pytest.mark.parametrize(
    ("name", "kept"),
    [("5", True), ("359", True), ("-1", False), ("latest", False), ("earliest", False), ("0..359", True),
     ("0..360", True), ("0..999", True), ("0..", False), ("-5..-2", False), ("0..-2", False), ("earliest..9", False),
     ("0..end", False)],
)  # fmt: skip
def test_only_what_means_the_same_offsets_for_good_is_kept_by_the_kernel(tmp_path, name, kept, monkeypatch):
    """Regression: with `cache=keep`, `-1` was the last batch of long ago, as long as sizes and times were alike."""
    write_partition(tmp_path, spread(BATCHES, 7))
    assert not is_kept(opened(tree(tmp_path, cache_keep=True), f"t-0/by-offset/{name}"))  # it has just been written
    monkeypatch.setattr(raw, "SETTLED_NS", 0)
    assert is_kept(opened(tree(tmp_path, cache_keep=True), f"t-0/by-offset/{name}")) is kept
    assert not is_kept(opened(tree(tmp_path), f"t-0/by-offset/{name}"))


def is_kept(content: Content) -> bool:
    """Beyond its being open."""
    return not isinstance(content.kept_as, PagesWhileOpen | None)


@pytest.mark.parametrize("name", ["1000", "now..@9999999999", "1000..1005", "0..1005"])
def test_what_a_time_leads_to_is_never_kept_by_the_kernel(tmp_path, name):
    """`now` and `-1h` move by themselves."""
    write_partition(tmp_path, spread(BATCHES, 7))
    assert not is_kept(opened(tree(tmp_path, cache_keep=True), f"t-0/by-time/{name}"))


@pytest.mark.parametrize(
    ("name", "exact", "passes"), [("0..", 1 << 20, True), ("0..", 999, False), ("5", 1 << 20, False)]
)
def test_the_kernel_has_of_small_ranges_what_is_open(tmp_path, name, exact, passes):
    """So that they can be mapped; of larger ones, and of points, it would be in the way."""
    write_partition(tmp_path, spread(BATCHES, 7))
    content = opened(tree(tmp_path, exact=exact), f"t-0/by-offset/{name}")
    assert isinstance(content.kept_as, PagesWhileOpen) is passes


@pytest.mark.parametrize("view", ["0..", "0..end", "0..360", "5", "0...jsonl", "5...batches.jsonl", "5.jsonl", "7.key"])
@pytest.mark.parametrize("goes", [lambda path: path.rename(f"{path}.{'0' * 32}-delete"), shutil.rmtree])
def test_what_is_open_is_read_to_its_end_when_its_topic_is_deleted(tmp_path, view, goes):
    """An open file keeps answering from the files that it was opened on."""
    directory = write_partition(tmp_path, spread(BATCHES, 60))
    root = tree(tmp_path, names_fresh_s=0.0)
    whole, content = cat(root, f"t-0/by-offset/{view}"), opened(root, f"t-0/by-offset/{view}")
    goes(directory)
    assert "t-0" not in {entry.name for entry in root.entries()}
    assert read(content) == whole


def test_an_open_range_of_a_log_that_is_another_one_gives_what_it_had(tmp_path):
    """And then an error, not what the other log has there."""
    directory = write_partition(tmp_path, {0: BATCHES[:9]})
    root = tree(tmp_path, names_fresh_s=0.0)
    whole, content = cat(root, "t-0/by-offset/0.."), opened(root, "t-0/by-offset/0..")
    shutil.rmtree(directory)
    write_partition(tmp_path, {0: [made(0, [5] * 90)]})

    def is_another() -> bool:
        with suppress(Vanished):  # as it says to whoever meets the change
            return cat(root, "t-0/by-offset/0..") != whole
        return False

    wait_until(is_another)
    assert content.read(0, 1 << 20) == whole
    with pytest.raises(Vanished):
        content.read(len(whole), 1)


class _GrownMeanwhile(RawContent):
    """The log grows, and another reader takes that in, right after the given look at a field."""

    countdown = 0
    append: Callable[[], object]

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        left = object.__getattribute__(self, "countdown")
        is_free = not object.__getattribute__(self, "_growing").locked()
        if left and is_free and name in ("_stretch", "size"):
            self.countdown = left - 1
            if left == 1:
                self.append()
                self.grow()
        return found


@pytest.mark.parametrize("fields", range(1, 6))
def test_a_read_beside_another_readers_growth_is_right(tmp_path, fields):
    """Regression: extents and their places were assigned one after the other, and a read between them was an EIO."""
    log = write_partition(tmp_path, {0: [made(0, [1])]}) / f"{0:020}.log"
    content = opened(tree(tmp_path, log_fresh_s=0.0), "t-0/by-offset/0..")
    content.__class__ = _GrownMeanwhile
    assert isinstance(content, _GrownMeanwhile)
    content.append = lambda: log.write_bytes(log.read_bytes() + made(1, [2] * 50).data)
    content.countdown = fields
    got = bytes(content.read(0, 1 << 20))
    assert log.read_bytes().startswith(got)
    assert bytes(content.read(0, 1 << 20)) == log.read_bytes()
