"""Why a name leads nowhere: said in one sentence, and logged."""

import logging
from functools import partial
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.log.data_directory import open_data_directory
from kafkafs.sample import unpack
from kafkafs.view.grammar import parse_offset_name, parse_time_name
from kafkafs.view.node import FileNode
from kafkafs.view.paths import resolve
from kafkafs.view.reasons import OFFSETS, TIMES, refused
from kafkafs.view.tree import Root


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("5.jsnl", "there is no suffix '.jsnl'; did you mean '5.jsonl'?"),
        ("5..9.json", "there is no suffix '.json'; did you mean '5..9.jsonl'?"),
        ("earliest.decode.jsonl", "did you mean 'earliest.decoded.jsonl'?"),
        ("5.zip", "there is no suffix '.zip'; there are .jsonl, .follow.jsonl,"),
        ("5.follow.jsonl", ".follow.jsonl is of open ranges only: 5...follow.jsonl"),
        ("1.jsonl.jsonl", "a name has one suffix, and this one has .jsonl after another"),
        ("5..9.follow.jsonl", ".follow.jsonl is of open ranges only"),
        ("5...value", ".value is of points only, not of ranges"),
        ("five", "a name here is an offset, earliest"),
        ("", "a name here is"),
        ("...", "a name here is"),
    ],
)
def test_what_is_wrong_with_a_name_by_offset(name, fault, caplog):
    caplog.set_level(logging.INFO)
    error = refused("t-0/by-offset", name, parse_offset_name, OFFSETS)
    assert f"{name!r} is not a query: " in str(error)
    assert fault in str(error)
    assert caplog.messages == [f"t-0/by-offset: {error}"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("2021-09-23.jsn", "did you mean '2021-09-23.jsonl'?"),
        ("@1632390207.5.josnl", "did you mean '@1632390207.5.jsonl'?"),
        ("2021-13-01", "a name here is milliseconds, @seconds, an ISO 8601 date"),
    ],
)
def test_what_is_wrong_with_a_name_by_time(name, fault):
    assert fault in str(refused("t-0/by-time", name, partial(parse_time_name, now_ms=1), TIMES))


def said(data, path) -> str:
    def open_it() -> None:
        cast(FileNode, resolve(Root([data], open_data_directory(data).options), path)).open()

    with pytest.raises(NotFound) as refused:
        open_it()
    return str(refused.value)


@pytest.mark.parametrize("suffix", ["", ".jsonl", ".value"])
def test_which_side_of_the_log_an_offset_lies_on(tmp_path, suffix, caplog):
    caplog.set_level(logging.INFO)
    data = unpack(tmp_path)
    assert said(data, f"test-0/by-offset/5{suffix}").startswith("offset 5 is below the log start, 23147: ")
    assert said(data, f"test-0/by-offset/23488{suffix}").startswith("offset 23488 is at or after the log end, 23488: ")
    assert [message.split(": ")[0] for message in caplog.messages if "offset" in message] == ["test-0", "test-0"]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("tst-0", "'test-0'"), ("test/by-offset/1", "test-0"), ("test-0/byoffset", "'by-offset'"),
        ("test-0/segments/00000000000000023147.lg", "'00000000000000023147.log'"),
    ],
)  # fmt: skip
def test_what_is_listed_and_was_probably_meant(tmp_path, path, near):
    assert said(unpack(tmp_path), path).endswith(f"; did you mean {near}?")


def test_nothing_is_guessed_where_nothing_is_alike(tmp_path):
    assert said(unpack(tmp_path), "xyzzy") == "there is no partition 'xyzzy'"
