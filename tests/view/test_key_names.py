"""Names in `by-key/`."""

import pytest

from kafkafs.view.by_key import KeyName, parse_key_name, printable


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
def test_names(name, key, suffix):
    """The contract's grammar: percent-encoding, suffixes, and names that could be read both ways."""
    assert parse_key_name(name) == (None if key is None else KeyName(key, suffix))


def test_a_name_may_be_of_any_length():
    """A mount has its own bound; `kafkafs cat` takes what the contract says no file name can hold."""
    assert parse_key_name("k" * 10_000 + ".jsonl") == KeyName(b"k" * 10_000, ".jsonl")


def test_keys_are_shown_as_a_terminal_may_see_them():
    assert printable(b"a\x1b[2J/%\xff") == "a%1B[2J%2F%25%FF"
    assert printable("schlüssel 1".encode()) == "schlüssel 1"
