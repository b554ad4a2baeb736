"""`_schemas-0`, followed: what its records have left, against a dictionary, whatever a stranger wrote in between."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cluster import schema_topic
from kafkafs.cluster.registry import RegisteredSchema
from kafkafs.cluster.schema_topic import SCHEMAS, SchemaRecords, SchemaTopic
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import WouldBlock
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from tests.cluster.writing import Data, Pair


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def record(kind: str, value: dict[str, Any] | None, **key: Any) -> Pair:
    return json.dumps({"keytype": kind, **key}).encode(), None if value is None else json.dumps(value).encode()


def schema(subject: str, version: int, number: int, text: str = '"int"', **more: Any) -> Pair:
    about = {"subject": subject, "version": version}
    return record("SCHEMA", {**about, "id": number, "schema": text, **more}, **about)


def tombstone(subject: str, version: int) -> Pair:
    return record("SCHEMA", None, subject=subject, version=version)


def deletion(subject: str, version: int) -> Pair:
    """Of a subject with all versions up to that one."""
    return record("DELETE_SUBJECT", {"subject": subject, "version": version}, subject=subject)


def topic_of(*places: Path, clock: Clock | None = None) -> SchemaTopic:
    options = ReadOptions(clock=clock or Clock(), log_fresh_s=0.0, names_fresh_s=0.0)
    return SchemaTopic([open_data_directory(place, options) for place in places], options)


def reported(topic: SchemaTopic) -> dict[tuple[str, int], RegisteredSchema]:
    return {(each.subject, each.version): each for each in topic.registry(now=True)}


SUBJECTS, VERSIONS = st.sampled_from("abc"), st.integers(1, 3)
STEPS = st.lists(st.one_of(
    st.builds(lambda subject, version, text, deleted: ("schema", subject, version, text, deleted),
              SUBJECTS, VERSIONS, st.sampled_from(['"int"', '"long"']), st.booleans()),
    st.builds(lambda subject, version: ("tombstone", subject, version), SUBJECTS, VERSIONS),
    st.builds(lambda subject, version: ("deletion", subject, version), SUBJECTS, VERSIONS),
    st.just(("noop",)),
), max_size=12)  # fmt: skip


@given(STEPS, st.integers(0, 12))
def test_records_leave_what_a_dictionary_of_them_does(tmp_path_factory, steps, looked_after):
    """The id of a version is its own here. A look in between changes nothing about what is told at the end."""
    place = tmp_path_factory.mktemp("data")
    data, model = Data(place), dict[tuple[str, int], list[Any]]()
    data.write(SCHEMAS, [record("NOOP", {}, magic=0)])
    topic = topic_of(place)
    for number, step in enumerate(steps, 1):
        match step:
            case ("schema", subject, version, text, deleted):
                pair = schema(subject, version, ord(subject) * 10 + version, text, deleted=deleted)
                first = model.get((subject, version), [number])[0]
                model[subject, version] = [first, text, deleted, False]
            case ("tombstone", subject, version):
                pair = tombstone(subject, version)
                if (subject, version) in model:
                    model[subject, version][3] = True
            case ("deletion", subject, version):
                pair = deletion(subject, version)
                for (other, each), known in model.items():
                    if other == subject and each <= version:
                        known[2] = True
            case _:
                pair = record("NOOP", {}, magic=0)
        data.write(SCHEMAS, [pair])
        if number == looked_after:
            topic.registry(now=True)
    found = {place: [each.offset, each.text, each.deleted, each.gone] for place, each in reported(topic).items()}
    assert found == model
    assert topic.problems() == []
    shutil.rmtree(place)


BROKEN: list[tuple[Pair, str]] = [
    ((b"\\xff", b"{}"), "its key is not a JSON object"),
    ((b"[]", b"{}"), "its key is not a JSON object"),
    (
        (json.dumps({"keytype": "SCHEMA", "subject": "a", "version": 1}).encode(), b"[]"),
        "its value is not a JSON object",
    ),
    (record("DELETE_SUBJECT", None, subject="a"), ""),
    (record("DELETE_SUBJECT", {"version": "1"}, subject="a"), ""),
    (record("SCHEMA", {"subject": "b", "version": "x", "id": 1, "schema": ""}, subject="b"), "subject, version or id"),
    (record("SCHEMA", {}, subject=5), ""),
    ((b"", None), "its key is not a JSON object"),
]


@pytest.mark.parametrize(("pair", "sentence"), BROKEN)
def test_a_record_that_is_none_is_a_sentence_with_its_offset_and_the_rest_counts(tmp_path, pair, sentence):
    """Anybody may write into the topic; one record of theirs must not cost a whole registry."""
    Data(tmp_path).write(SCHEMAS, [schema("a", 1, 1), pair, schema("c", 1, 2)])
    topic = topic_of(tmp_path)
    assert {place: each.deleted for place, each in reported(topic).items()} == {("a", 1): False, ("c", 1): False}
    if sentence:
        (problem,) = topic.problems()
        assert problem.startswith(f"{SCHEMAS}: offset 1: ")
        assert sentence in problem
    else:
        assert topic.problems() == []


def test_markers_are_no_records(tmp_path):
    """A registry writes in transactions where it is told to."""
    data = Data(tmp_path)
    data.write(SCHEMAS, [schema("a", 1, 1)], producer_id=7)
    data.write(SCHEMAS, [(b"\0\0\0\1", b"\0\0\0\0\0\0")], producer_id=7, is_control=True)
    topic = topic_of(tmp_path)
    assert set(reported(topic)) == {("a", 1)}
    assert topic.problems() == []


OVERHEAD = schema_topic.OVERHEAD


def test_only_so_much_is_kept_and_that_is_reported(tmp_path, monkeypatch):
    """Whatever stands in the topic: a text too many is left out, a schema too many is, and others stay."""
    monkeypatch.setattr(schema_topic, "KEPT_BYTES", 3 * OVERHEAD + 100)
    text = json.dumps({"type": "enum", "name": "E", "symbols": ["A"]})
    large = " " * 2 * OVERHEAD
    pairs = [schema("a", 1, 1, text), schema("b", 1, 2, large), schema("c", 1, 3, text), schema("d", 1, 4, text)]
    Data(tmp_path).write(SCHEMAS, pairs)
    topic = topic_of(tmp_path)
    assert {place: each.text for place, each in reported(topic).items()} == {
        ("a", 1): text,
        ("b", 1): None,
        ("c", 1): text,
    }
    assert [problem.partition(": ")[2] for problem in topic.problems()] == [
        "schema 2 is too large for memory, alone or with the others",
        "there are more schemas than fit in memory",
    ]


def test_what_is_written_again_takes_no_more(tmp_path, monkeypatch):
    """Regression: each record counted as a schema more, though a registry writes a version again whenever it is
    deleted, and after enough of that new ones were left out."""
    monkeypatch.setattr(schema_topic, "KEPT_BYTES", 3 * OVERHEAD)
    again = [schema("a", 1, 1, deleted=number % 2 > 0) for number in range(9)]
    Data(tmp_path).write(SCHEMAS, [*again, schema("b", 1, 2)])
    topic = topic_of(tmp_path)
    assert (set(reported(topic)), topic.problems()) == ({("a", 1), ("b", 1)}, [])


def test_a_text_of_many_subjects_is_kept_once(tmp_path):
    text = json.dumps({"type": "enum", "name": "E", "symbols": ["A"] * 1000})
    Data(tmp_path).write(SCHEMAS, [schema(f"s{number}", 1, 1, text) for number in range(50)])
    texts = [each.text for each in reported(topic_of(tmp_path)).values()]
    assert len(texts) == 50
    assert len({id(each) for each in texts}) == 1


def test_a_look_is_good_for_a_moment_and_no_new_record_makes_no_new_registry(tmp_path):
    """Decoders are kept for a registry: each new one makes them anew."""
    data, clock = Data(tmp_path), Clock()
    data.write(SCHEMAS, [schema("a", 1, 1)])
    topic = topic_of(tmp_path, clock=clock)
    first = topic.registry()
    data.write(SCHEMAS, [record("NOOP", {}, magic=0)])
    clock.now += 1.0
    assert topic.registry() is first
    data.write(SCHEMAS, [schema("b", 1, 2)])
    assert topic.registry() is first, "looked at a moment ago"
    assert len(topic.registry(now=True)) == 2
    data.write(SCHEMAS, [schema("c", 1, 3)])
    clock.now += 1.0
    with non_blocking(), pytest.raises(WouldBlock):
        topic.registry()
    assert len(topic.registry()) == 3


def test_the_topic_may_come_and_go(tmp_path):
    """A directory without it has an empty registry; of several the one that got furthest counts."""
    here, there = Data(tmp_path / "here"), Data(tmp_path / "there")
    topic = topic_of(here.path, there.path)
    assert len(topic.registry(now=True)) == 0
    assert topic.partition() is None
    here.write(SCHEMAS, [schema("a", 1, 1)])
    assert set(reported(topic)) == {("a", 1)}
    there.write(SCHEMAS, [schema("a", 1, 1), schema("b", 1, 2)])
    assert set(reported(topic)) == {("a", 1), ("b", 1)}
    for data in (here, there):
        shutil.rmtree(data.path / SCHEMAS)
    assert reported(topic) == {}


def test_it_is_begun_again_with_the_log(tmp_path):
    """What was truncated away is not remembered."""
    Data(tmp_path).write(SCHEMAS, [schema("a", 1, 1)])
    records = SchemaRecords()
    records.report("something is wrong")
    log = open_data_directory(tmp_path).partition(SCHEMAS).log()
    assert records.reset(log) == log.start_offset == 0
    assert (len(records.registry()), list(records.problems), records.changed) == (0, [], False)
