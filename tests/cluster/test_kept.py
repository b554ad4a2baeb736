"""What is kept of keys, against a dictionary that does the same."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafs.cluster.kept import HEAD, NO_PRODUCER, KeptRecords, LastValue

NAMES = st.sampled_from([b"", b"a", b"a\0", b"ab", b"\xff"])
KEYS = st.tuples(st.integers(0, 3), NAMES, st.sampled_from([b"", b"\0", b"rest"]))
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.integers(NO_PRODUCER, 1)),
    st.tuples(st.just("remove"), KEYS, st.none()),
    st.tuples(st.sampled_from(["outlive", "end"]), NAMES, st.none()),
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


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=30), st.booleans())
def test_it_keeps_what_a_dictionary_keeps(steps: list[tuple[str, object, int | None]], cleared: bool) -> None:
    """A group's offsets are what a consumer goes on with: none may be lost, mixed up or come back."""
    kept, model = KeptRecords(), Model()
    if cleared:
        kept.put(HEAD.pack(1, 1) + b"x", LastValue(0, b""))
        kept.clear()
    for offset, (what, about, producer) in enumerate(steps):
        match what, about:
            case "put", (int(kind), bytes(name), bytes(rest)):
                assert producer is not None
                kept.put(HEAD.pack(kind, len(name)) + name + rest, LastValue(offset, b"%d" % offset, producer))
                model.rows[name, producer, kind, rest] = offset, b"%d" % offset
            case "remove", (int(kind), bytes(name), bytes(rest)):
                kept.remove(HEAD.pack(kind, len(name)) + name + rest)
                model.remove(kind, name, rest)
            case "outlive", bytes(name):
                kept.outlive(name)
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
