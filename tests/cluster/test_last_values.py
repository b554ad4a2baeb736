"""What is left of a coordinator's partition, where the order of its records matters. Source: OffsetMetadataManager."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cluster.kept_records import HEAD, NO_PRODUCER, KeptRecords, LastValue
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read
from tests.cluster.writing import Data, commit, marker, pair

OFFSETS = "__consumer_offsets-0"
PRODUCER = 7


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path / "data")


def reported(data):
    """(offset, pending) of all lines, by group."""
    root = Root([data.path], ReadOptions())
    return {
        row["group"]: [(each["offset"], each["pending"]) for each in lines(root, f"{row['path']}/offsets.jsonl")]
        for row in lines(root, "groups.jsonl")
    }


def test_a_tombstone_takes_pending_offsets_along(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, None)])
    assert reported(data) == {"g": []}


def test_a_tombstone_counts_where_a_commit_follows_it_at_once(data):
    """Both are read in one go: only of equals may the last one stand for all."""
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, None), commit("g", "t", 0, 6)])
    assert reported(data) == {"g": [(6, False)]}


def test_a_marker_applies_only_what_is_newer_than_the_commit_in_effect(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5), commit("g", "t", 1, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, 9)])
    data.write(OFFSETS, [marker()], producer_id=PRODUCER, is_control=True)
    assert reported(data) == {"g": [(9, False), (5, False)]}


def test_a_group_whose_transaction_was_aborted_is_still_there(data):
    """Kafka 4.1 and later lists it until its tombstone, which it always writes."""
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [marker(commits=False)], producer_id=PRODUCER, is_control=True)
    assert reported(data) == {"g": []}
    data.write(OFFSETS, [pair("GroupMetadata", {"group": "g"}, None)])
    assert reported(data) == {}


def test_before_4_1_a_group_goes_with_its_last_offset(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5, version=3)])
    data.write(OFFSETS, [commit("g", "t", 0, None)])
    assert reported(data) == {}


def test_records_of_an_unknown_type_make_no_group(data):
    data.write(OFFSETS, [(b"\0\x63\0\1g", b"\0\0"), (b"\0\x09\0\1h", None), commit("known", "t", 0, 5)])
    assert reported(data) == {"known": [(5, False)]}
    state = json.loads(read(Root([data.path], ReadOptions()), "state.json"))
    assert f"{OFFSETS}: keys of the unknown type 99: 1" in state["problems"]


COMMIT = commit("g", "t", 0, 5)[0] or b""
MEMBER = pair("ConsumerGroupMemberMetadata", {"groupId": "g", "memberId": "m"}, None)[0] or b""
CUT_KEYS = [COMMIT[:-1], COMMIT[:5], b"\0\1\0\1g\x7f\xfftopic\0\0\0\1", b"\0\0" + COMMIT[2:-4], MEMBER[:-2]]
"""Keys that begin with a group's name, and end before what has to follow it."""


@pytest.mark.parametrize("key", CUT_KEYS)
def test_a_record_whose_key_cannot_be_read_makes_no_group(data, key):
    """Regression: it made a group that was "Empty"; what stands for a name there may be anything."""
    value = commit("known", "t", 0, 5)[1]
    data.write(OFFSETS, [(key, value), commit("known", "t", 0, 5)])
    data.write(OFFSETS, [(key, value)], producer_id=PRODUCER)
    assert reported(data) == {"known": [(5, False)]}
    state = json.loads(read(Root([data.path], ReadOptions()), "state.json"))
    assert f"{OFFSETS}: keys that cannot be read: 1" in state["problems"]


NAMES = st.sampled_from([b"", b"a", b"a\0", b"ab", b"\xff"])
KEYS = st.tuples(st.integers(0, 3), NAMES, st.sampled_from([b"", b"\0", b"rest"]))
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.integers(NO_PRODUCER, 1)),
    st.tuples(st.just("remove"), KEYS, st.none()),
    st.tuples(st.sampled_from(["keep_names", "end"]), NAMES, st.none()),
    st.tuples(st.sampled_from(["commit", "abort"]), st.integers(0, 1), st.none()),
)


class Model:
    """The same by dictionaries: (name, producer, kind, rest) -> (offset, value)."""

    def __init__(self) -> None:
        self.rows: dict[tuple[bytes, int, int, bytes], tuple[int, bytes]] = {}
        self.outliving: set[bytes] = set()

    def remove(self, kind: int, name: bytes, rest: bytes) -> None:
        for row in [row for row in self.rows if (row[0], *row[2:]) == (name, kind, rest)]:
            del self.rows[row]

    def settle(self, producer: int, take_effect: bool) -> list[bytes]:
        own = [row for row in self.rows if row[1] == producer]
        for name, _, kind, rest in own:
            found = self.rows.pop((name, producer, kind, rest))
            held = self.rows.get((name, NO_PRODUCER, kind, rest))
            if take_effect and (held is None or held[0] < found[0]):
                self.rows[name, NO_PRODUCER, kind, rest] = found
        return [row[0] for row in own]

    def of(self, name: bytes) -> Iterator[tuple[bytes, LastValue]]:
        for (own, producer, kind, rest), found in sorted(self.rows.items()):
            if own == name:
                yield HEAD.pack(kind, len(name)) + name + rest, LastValue(*found, producer)

    def names(self) -> list[bytes]:
        return sorted({row[0] for row in self.rows} | self.outliving)


@given(st.lists(STEPS, max_size=30))
def test_it_keeps_what_a_dictionary_keeps(steps: list[tuple[str, object, int | None]]) -> None:
    """A group's offsets are what a consumer goes on with: none may be lost, mixed up or come back."""
    kept, model = KeptRecords(), Model()
    for offset, (what, about, producer) in enumerate(steps):
        match what, about:
            case "put", (int(kind), bytes(name), bytes(rest)):
                assert producer is not None
                kept.put(HEAD.pack(kind, len(name)) + name + rest, LastValue(offset, b"%d" % offset, producer))
                model.rows[name, producer, kind, rest] = offset, b"%d" % offset
            case "remove", (int(kind), bytes(name), bytes(rest)):
                kept.remove(HEAD.pack(kind, len(name)) + name + rest)
                model.remove(kind, name, rest)
            case "keep_names", bytes(name):
                kept.keep_names(name)
                model.outliving.add(name)
            case "end", bytes(name):
                kept.end(name)
                model.outliving.discard(name)
            case _, int(number):
                assert sorted(kept.settle_pending(number, what == "commit")) == sorted(
                    model.settle(number, what == "commit")
                )
        assert kept.names() == model.names()
        assert all(kept.of(name) == list(model.of(name)) for name in model.names())
    assert list(kept.by_name()) == [(name, list(model.of(name))) for name in model.names()]
    assert [kept.has(name) for name in (b"", b"a", b"none")] == [name in model.names() for name in (b"", b"a", b"none")]
