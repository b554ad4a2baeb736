"""Internal topics that change under a reader: grown, compacted, cut, and their first segments deleted."""

import os

import pytest

from kafkafs.cluster.following import Following
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines
from tests.cluster.writing import Data, batch, commit
from tests.kafka.broker import wait_until
from tests.nobody import as_nobody, takes_root
from tests.promises import at_most

NAME = "__consumer_offsets-0"
FRESH_S = at_most(2.0)
"""A second is promised; the other is the machine's."""


@pytest.fixture
def data(open_path):
    return Data(open_path / "data")


def reported(root):
    """The offset that each group has committed."""
    groups = [row["group"] for row in lines(root, "groups.jsonl")]
    return {name: each["offset"] for name in groups for each in lines(root, f"groups/{name}/offsets.jsonl")}


def becomes(root, expected):
    wait_until(lambda: reported(root) == expected, f"{expected}, not {reported(root)}", FRESH_S)


@pytest.fixture
def root(data):
    """A reader that has read two commits."""
    data.write(NAME, [commit("a", "t", 0, 1)])
    data.write(NAME, [commit("b", "t", 0, 2)])
    root = Root([data.path], ReadOptions())
    assert reported(root) == {"a": 1, "b": 2}
    return root


def log(data, base=0):
    return data.path / NAME / f"{base:020}.log"


def test_a_new_commit_is_reported_within_a_second(root, data):
    data.write(NAME, [commit("a", "t", 0, 5)])
    becomes(root, {"a": 5, "b": 2})


@takes_root
def test_a_log_that_may_not_be_read_is_reported(data):
    """Regression: no groups, no problem, and `kafkafs groups` ended with 0."""
    data.write(NAME, [commit("a", "t", 0, 1)])
    assert reported(Root([data.path], ReadOptions())) == {"a": 1}  # as nobody no module can be imported
    log(data).chmod(0o600)
    with as_nobody():
        root = Root([data.path], ReadOptions())
        assert reported(root) == {}
        (state,) = lines(root, "state.json")
    assert any("may not be read" in problem and NAME in problem for problem in state["problems"]), state


def test_a_compacted_segment_is_read_again(root, data):
    """What was cleaned away must not live on in a reader."""
    cleaned = log(data).with_suffix(".cleaned")
    cleaned.write_bytes(batch([commit("b", "t", 0, 2)], 1))
    os.replace(cleaned, log(data))
    becomes(root, {"b": 2})


def test_a_log_that_was_cut_and_grew_again_is_read_again(root, data):
    """A follower gives up what its new leader does not have, and gets other records in its place."""
    first = len(batch([commit("a", "t", 0, 1)], 0))
    with open(log(data), "r+b") as file:
        file.truncate(first)
    becomes(root, {"a": 1})
    data.write(NAME, [commit("c", "t", 0, 9)], at=1)
    becomes(root, {"a": 1, "c": 9})


def test_what_stood_in_a_deleted_segment_is_forgotten(root, data):
    log(data, 2).write_bytes(batch([commit("c", "t", 0, 3)], 2))
    becomes(root, {"a": 1, "b": 2, "c": 3})
    log(data).unlink()
    becomes(root, {"c": 3})


def test_what_is_strange_is_counted_alike_by_who_follows_and_who_begins(root, data):
    """A key of an unknown type counts once, however often it comes and in how many looks, until its tombstone."""
    strange = (b"\0\x63\0\1g", b"\0\0")
    one = f"{NAME}: keys of the unknown type 99: 1"
    for _ in range(2):
        data.write(NAME, [strange])
        wait_until(lambda: one in problems(root), "the sentence", FRESH_S)
        assert problems(root) == problems(Root([data.path], ReadOptions()))
    data.write(NAME, [(strange[0], None)])
    wait_until(lambda: one not in problems(root), "its end", FRESH_S)


def problems(root):
    (state,) = lines(root, "state.json")
    return state["problems"]


@pytest.fixture
def looks(monkeypatch):
    """The internal partitions that were looked at, one after the other; a look takes `looks.takes_s` of `looks.now`."""

    class Looks(list[str]):
        now, takes_s = 100.0, 0.0

    looks, catch_up = Looks(), Following.catch_up

    def counted(following):
        looks.append(following.partition.name.directory)
        looks.now += looks.takes_s
        return catch_up(following)

    monkeypatch.setattr(Following, "catch_up", counted)
    return looks


def test_the_steps_of_one_command_are_of_one_look(data, looks):
    """`cat groups/g/offsets.jsonl` asks five times; each went over all partitions of the coordinator."""
    data.write(NAME, [commit("a", "t", 0, 1)])
    data.write("__consumer_offsets-1", [commit("b", "t", 0, 1)])
    root = Root([data.path], ReadOptions(clock=lambda: looks.now))
    assert lines(root, "groups/a/offsets.jsonl")[0]["offset"] == 1
    assert looks == [NAME, "__consumer_offsets-1"]
    data.write(NAME, [commit("a", "t", 0, 5)])
    looks.now += 0.2
    assert lines(root, "groups/a/offsets.jsonl")[0]["offset"] == 5
    assert len(looks) == 4


def test_what_a_long_look_found_at_its_beginning_is_not_of_its_end(data, looks):
    """The first scan takes minutes: whatever asks behind it is told what came meanwhile."""
    data.write(NAME, [commit("a", "t", 0, 1)])
    root = Root([data.path], ReadOptions(clock=lambda: looks.now))
    looks.takes_s = 1.0
    assert reported(root) == {"a": 1}
    before = len(looks)
    data.write(NAME, [commit("a", "t", 0, 5)])
    assert reported(root) == {"a": 5}
    assert len(looks) > before
