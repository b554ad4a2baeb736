"""`by-key/`: its names, what each suffix answers, and that the tree shows what `search` finds."""

import json
from typing import cast

import pytest

from kafkafs.errors import NoData, NotFound
from kafkafs.view.by_key import KeyName, parse_key_name, shown_name
from kafkafs.view.node import DirectoryNode, FileNode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, spread, write_partition
from tests.view.trees import cat, node, opened, tree

KEYS = [
    b"customer-17",
    b"a/b",
    b"\0",
    b"\xff\xfe",
    b"",
    b"odd.jsonl",
    b"%41",
    b".",
    b"..",
    "schlüssel".encode(),
    b"x.value",
]


def named(key: bytes) -> str:
    """A name for the key, by the rules of the contract, by another hand."""
    return "".join(chr(b) if chr(b).isalnum() and b < 128 else f"%{b:02x}" for b in key)


def records(*pairs: tuple[bytes | None, bytes | None]) -> Made:
    made = tuple(Record(at, 1000 + at, 0, key, value) for at, (key, value) in enumerate(pairs))
    return Made(v2_batch(made), made)


def test_what_each_suffix_answers(tmp_path):
    """The last record as a line, as bytes, as its batch; and all of them."""
    first = records(*((key, b"old") for key in KEYS))
    second = tuple(Record(20 + at, 2000, 0, key, b"new of " + key) for at, key in enumerate(KEYS))
    write_partition(tmp_path, {0: [first], 20: [Made(v2_batch(second), second)]})
    root = tree(tmp_path)
    assert cast(DirectoryNode, node(root, "t-0/by-key")).entries() == []
    for number, key in enumerate(KEYS):
        name = f"t-0/by-key/{named(key)}"
        assert json.loads(cat(root, name + ".jsonl"))["offset"] == 20 + number
        assert cat(root, name + ".jsonl") == cat(root, f"t-0/by-offset/{20 + number}.jsonl")
        assert cat(root, name + ".value") == b"new of " + key
        lines = [json.loads(line) for line in cat(root, name + ".history.jsonl").splitlines()]
        assert [line["offset"] for line in lines] == [number, 20 + number]
        assert f"offset {20 + number}" in cat(root, name + ".explain").decode()
        if key:
            assert cat(root, name) == cat(root, f"t-0/by-offset/{20 + number}")
            xattrs = cast(FileNode, node(root, name)).xattrs()
            assert xattrs["user.kafkafs.offset"] == b"%d" % (20 + number)
        for suffix in (".jsonl", ".value"):
            point = node(root, name + suffix)
            assert point.attributes().size == len(cat(root, name + suffix))


def test_a_tombstone_is_a_record_without_a_value(tmp_path):
    """It is the key's last record; only its value is not there."""
    write_partition(tmp_path, {0: [records((b"a", b"x"), (b"a", None), (None, b"no key"))]})
    root = tree(tmp_path)
    assert json.loads(cat(root, "t-0/by-key/a.jsonl"))["value"] is None
    assert node(root, "t-0/by-key/a.value").attributes().size == 0
    with pytest.raises(NoData):
        opened(root, "t-0/by-key/a.value")
    assert len(cat(root, "t-0/by-key/a.history.jsonl").splitlines()) == 2


def test_what_is_not_there(tmp_path):
    """A key that no record has does not exist, whatever is asked of it; the empty one has no raw name."""
    write_partition(tmp_path, {0: [records((b"a", b"x"))]})
    root = tree(tmp_path)
    for name in ("b", "b.jsonl", "b.value", "b.history.jsonl", "b.explain", ".jsonl", "%", "a.follow.jsonl"):
        with pytest.raises(NotFound):
            node(root, f"t-0/by-key/{name}").attributes()


def test_a_long_history_is_read_in_pieces(tmp_path):
    """Megabytes of one key among others, by who reads on and by who goes back."""
    batches = []
    for number in range(300):
        made = tuple(Record(number * 40 + at, 5, 0, b"%d" % (at % 4), b"%d" % at + b"." * 400) for at in range(40))
        batches.append(Made(v2_batch(made), made))
    write_partition(tmp_path, spread(batches, 20))
    root = tree(tmp_path)
    offsets = [json.loads(line)["offset"] for line in cat(root, "t-0/by-key/3.history.jsonl").splitlines()]
    assert offsets == list(range(3, 12_000, 4))


@pytest.mark.parametrize(("name", "key", "suffix"), [
    ("customer-17", b"customer-17", ""),
    ("customer-17.jsonl", b"customer-17", ".jsonl"),
    ("a.b.history.jsonl", b"a.b", ".history.jsonl"),
    (".jsonl", b"", ".jsonl"), (".history.jsonl", b"", ".history.jsonl"), (".value", b"", ".value"),
    ("a%2Fb", b"a/b", ""), ("%2f%00%ff", b"/\0\xff", ""), ("%25", b"%", ""), ("%2E%2E", b"..", ""),
    ("odd%2Ejsonl", b"odd.jsonl", ""), ("odd%2Ejsonl.jsonl", b"odd.jsonl", ".jsonl"),
    ("odd.jsonl.jsonl", b"odd.jsonl", ".jsonl"),
    ("a.key", b"a.key", ""), ("a.history", b"a.history", ""),
    ("\udcff", b"\xff", ""), ("schlüssel.value", "schlüssel".encode(), ".value"),
    ("%41%4", None, ""), ("%", None, ""), ("100%", None, ""), ("%zz.jsonl", None, ""),
    ("a.follow.jsonl", b"a", ".follow.jsonl"), ("a.batches.jsonl", b"a", ".batches.jsonl"), ("", None, ""),
])  # fmt: skip
def test_a_name_is_a_key_and_a_suffix(name, key, suffix):
    """The contract's grammar: percent-encoding, suffixes, and names that could be read both ways."""
    assert parse_key_name(name) == (None if key is None else KeyName(key, suffix))


def test_a_name_may_be_of_any_length():
    """A mount has its own bound; `kafkafs cat` takes what the contract says no file name can hold."""
    assert parse_key_name("k" * 10_000 + ".jsonl") == KeyName(b"k" * 10_000, ".jsonl")


def test_keys_are_shown_as_a_terminal_may_see_them():
    assert shown_name(b"a\x1b[2J/%\xff") == "a%1B[2J%2F%25%FF"
    assert shown_name("schlüssel 1".encode()) == "schlüssel 1"
