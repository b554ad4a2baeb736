"""`max_batch`: a batch that may not be unpacked is "File too large" wherever its records are wanted, and never none."""

import gzip
import json
from pathlib import Path
from typing import Any, cast

import pytest

from kafkafs.errors import KafkafsError, TooLarge
from kafkafs.view.node import FileNode, LinkNode
from tests.kafka.dataset import Dataset
from tests.log.making import Made, made, write_partition, write_start
from tests.view.trees import cat, node, opened, tree

LIMIT = 1 << 20


def bomb(base: int, *timestamps: int) -> Made:
    return made(base, timestamps, size=3 << 20, codec=1, compress=gzip.compress)


def target(path: Path, name: str) -> str:
    """Where one of the links points to."""
    return cast(LinkNode, node(tree(path, max_batch=LIMIT), f"t-0/{name}")).target()


def offsets(path: Path, name: str, limit: int = LIMIT, **options: Any) -> list[object]:
    """The offsets that a name hands out, and the error's type at the end if there is one."""
    found: list[object] = []
    text = b""
    try:
        content = opened(tree(path, max_batch=limit, **options), f"t-0/{name}")
        while part := bytes(content.read(len(text), 1 << 17)):
            text += part
    except KafkafsError as error:
        found.append(type(error))
    return [json.loads(line)["offset"] for line in text.splitlines()] + found


@pytest.fixture
def around(tmp_path):
    """Timestamps 1, 2 (too large) and 3 at offsets 0 to 2."""
    write_partition(tmp_path, {0: [made(0, [1]), bomb(1, 2), made(2, [3])]})
    return tmp_path


@pytest.mark.parametrize("corrupt_skip", [False, True])
def test_a_time_does_not_pass_over_what_is_too_large(around, corrupt_skip):
    """It led to the next batch, and a range began behind it: records were missing and nobody was told."""
    want: dict[str, list[object]] = {
        "2.jsonl": [TooLarge],
        "2...jsonl": [TooLarge],
        "2..3.jsonl": [TooLarge],
        "1..2.jsonl": [0],  # the batch's only record is the first one at or after 2
        "0..3.jsonl": [0, TooLarge],
        "0...jsonl": [0, TooLarge],
        "3...jsonl": [2],
        "3.jsonl": [2],
        "2..2.jsonl": [],
    }
    assert {name: offsets(around, f"by-time/{name}", corrupt_skip=corrupt_skip) for name in want} == want


def test_a_range_that_ends_in_what_is_too_large_ends_with_the_error(tmp_path):
    """Nobody can tell how much of the batch is in it."""
    write_partition(tmp_path, {0: [made(0, [1]), bomb(1, 2, 3, 4), made(4, [5])]})
    assert offsets(tmp_path, "by-time/1..3.jsonl") == [0, TooLarge]
    assert offsets(tmp_path, "by-time/3..4.jsonl") == [TooLarge]
    assert offsets(tmp_path, "by-time/3..3.jsonl") == []


def test_a_range_within_an_old_message_that_is_too_large_is_none(tmp_path):
    """Regression: of a compressed message of v1 the header tells the last offset only, and the range was empty."""
    path = Dataset("2.8.0", "stopped").path
    whole = [json.loads(line) for line in cat(tree(path), "v1-snappy-0/by-offset/0...jsonl").splitlines()]
    root = tree(path, max_batch=1)
    for time_ms in {record["timestamp"] for record in whole}:
        with pytest.raises(TooLarge):
            cat(root, f"v1-snappy-0/by-time/{time_ms}..{time_ms + 1}.jsonl")


def test_raw_views_by_time_need_no_unpacking(around):
    """The header tells that the batch has a record as late; which one takes no part in what is shown."""
    root = tree(around, max_batch=LIMIT)
    size = len(bomb(1, 2).data)
    sizes = {name: len(cat(root, f"t-0/by-time/{name}")) for name in ("2", "2..3", "2..2")}
    assert sizes == {"2": size, "2..3": size, "2..2": 0}
    about = cast(FileNode, node(root, "t-0/by-time/2")).xattrs()
    assert about["user.kafkafs.base_offset"] == b"1"
    assert "user.kafkafs.offset" not in about
    explained = cat(root, "t-0/by-time/2.explain").decode()
    assert "answer: batch 1..1" in explained
    assert "allows" in explained.splitlines()[-1]


def test_a_raw_point_says_so_where_only_the_records_tell(tmp_path):
    """The log start cuts the batch: its largest timestamp may lie below."""
    write_partition(tmp_path, {0: [bomb(0, 9, 1), made(2, [9])]})
    write_start(tmp_path, 1)
    with pytest.raises(TooLarge):
        cat(tree(tmp_path, max_batch=LIMIT), "t-0/by-time/5")


def test_a_range_does_not_end_in_front_of_what_the_log_start_cuts(tmp_path):
    """Regression: its largest timestamp lies below, so what is as late comes behind it; the range was empty."""
    write_partition(tmp_path, {0: [bomb(0, 9, 1), made(2, [9])]})
    write_start(tmp_path, 1)
    for name in ("0..5.jsonl", "1..5.jsonl"):
        assert offsets(tmp_path, f"by-time/{name}", limit=256 << 20) == [1]
        assert offsets(tmp_path, f"by-time/{name}") == [TooLarge]


def test_the_links_count_what_is_too_large(tmp_path):
    """`earliest` and `latest` hid it; behind the link the batch says itself what is wrong."""
    write_partition(tmp_path, {0: [bomb(0, 1, 2), made(2, [3]), bomb(3, 4, 5)]})
    assert [target(tmp_path, name) for name in ("earliest", "latest")] == ["by-offset/0", "by-offset/4"]
    for name in ("earliest.jsonl", "latest.jsonl", "earliest...jsonl", "latest...jsonl"):
        assert offsets(tmp_path, f"by-offset/{name}") == [TooLarge], name
    write_start(tmp_path, 1)
    assert target(tmp_path, "earliest") == "by-offset/1"


def test_all_views_agree_on_the_limit_for_what_is_not_packed(tmp_path):
    """A point had its record, the range and the explanation said that the batch is too large."""
    write_partition(tmp_path, {0: [made(0, [1]), made(1, [2], size=1000), made(2, [3])]})
    names = ("by-offset/1.jsonl", "by-offset/1..2.jsonl", "by-time/2.jsonl", "by-time/2..3.jsonl")
    for name in names:
        assert offsets(tmp_path, name, limit=200) == [TooLarge], name
        assert offsets(tmp_path, name, limit=1200) == [1], name
    root = tree(tmp_path, max_batch=200)
    for name in 2 * ("by-offset/1.explain", "by-time/2.explain"):
        assert "answer: batch 1..1" in (text := cat(root, f"t-0/{name}").decode())
        assert "allows" in text.splitlines()[-1]
    for name in 2 * names:  # by now its batch is known to be sound, and looked at more briefly
        with pytest.raises(TooLarge):
            cat(root, f"t-0/{name}")
