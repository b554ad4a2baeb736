"""The options of a read: what they mean together, and what is refused before any directory is looked at."""

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.spark.source_options import (
    KNOWN,
    SourceOptions,
    batch_options,
    check_names,
    stream_options,
    wants_headers,
)
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Specific, Timestamps, TopicPartition

BOTH = pytest.mark.parametrize("read", [batch_options, stream_options])
Read = Callable[[Mapping[str, str]], SourceOptions]
FIRST = TopicPartition("t", 0)


def given_(read: Read = batch_options, /, **options: object) -> SourceOptions:
    """A read of one topic with these options, unless they name other ones."""
    named = {name.replace("__", "."): str(value) for name, value in options.items()}
    chosen = {} if {"assign", "subscribePattern"} & options.keys() else {"subscribe": "t"}
    return read({"path": "/data", **chosen, **named})


def test_a_batch_reads_all_and_a_stream_what_comes():
    assert (given_().starting, given_().ending) == (AllAt(EARLIEST), AllAt(LATEST))
    assert given_(stream_options).starting == AllAt(LATEST)


@BOTH
def test_names_are_read_in_any_case(read):
    """Spark's own options are; a map of them comes in lower case anyway."""
    found = given_(read, STARTINGOFFSETS='{"t":{"0":5}}', kafka__isolation__level=" READ_COMMITTED ")
    assert found.starting == Specific({FIRST: 5})
    assert found.isolation == "read_committed"


def test_headers_are_a_column_where_they_are_asked_for():
    assert wants_headers({"INCLUDEHEADERS": "true"})
    assert not wants_headers({})
    with pytest.raises(UsageError, match="includeHeaders is true or false"):
        wants_headers({"includeHeaders": "yes"})


@BOTH
def test_a_time_goes_before_times_and_times_before_offsets(read):
    """Which of them counts is Spark's order of preference."""
    offsets, times = {"startingOffsets": "earliest"}, {"startingOffsetsByTimestamp": '{"t":{"0":7}}'}
    assert given_(read, **offsets).starting == AllAt(EARLIEST)
    assert given_(read, **offsets, **times).starting == Timestamps({FIRST: 7}, "error")
    assert given_(read, **offsets, **times, startingTimestamp=" 9 ").starting == Timestamps(9, "error")


def test_no_record_at_or_after_a_time_is_an_error_only_at_the_start():
    """At the end it means all there is."""
    assert given_(endingTimestamp=9).ending == Timestamps(9, "latest")
    assert given_(startingTimestamp=9, startingOffsetsByTimestampStrategy="Latest").starting == Timestamps(9, "latest")


def test_partitions_are_chosen_in_one_of_three_ways():
    assert given_(subscribe=" a, ,b ").choice == Choice(topics=("a", "b"))
    assert given_(assign='{"t":[1,0]}').choice == Choice(assign=(TopicPartition("t", 1), FIRST))
    assert given_(subscribePattern="a|b").choice == Choice(pattern="a|b")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900.0), ("30s", 30.0), ("250", 0.25), ("250ms", 0.25), ("2min", 120.0), ("1h", 3600.0), ("1D", 86400.0),
     (" 5s ", 5.0), ("500us", 0.0005)],
)  # fmt: skip
def test_a_delay_is_a_number_with_a_unit(text, seconds):
    assert given_(stream_options, maxTriggerDelay=text).max_trigger_delay_s == pytest.approx(seconds)


REFUSED: dict[str, dict[str, object]] = {
    "one of the options subscribe": {},
    "only one of the options": {"subscribe": "binary", "subscribePattern": "b.*"},
    "no topics to subscribe": {"subscribe": " , "},
    "is empty": {"subscribePattern": " "},
    "is malformed: Possible set intersection": {"subscribePattern": "[a-z&&b]inary"},
    r"is malformed: bad escape \\p at position 0; \\p\{Lower\} is Java's": {"subscribePattern": r"\p{Lower}+"},
    "is malformed: unknown extension .* is Java's": {"subscribePattern": "(?<name>b).*"},
    "is malformed: missing": {"subscribePattern": "("},
    "no topic partitions to assign": {"assign": "binary"},
    "expected e": {"assign": '{"binary":0}'},
    "kafka.auto.offset.reset": {"subscribe": "binary", "kafka.auto.offset.reset": "latest"},
    "kafka.key.deserializer": {"subscribe": "binary", "kafka.key.deserializer": "x"},
    "neither read_uncommitted": {"subscribe": "binary", "kafka.isolation.level": "serializable"},
    "minPartitions must be positive": {"subscribe": "binary", "minPartitions": 0},
    "maxRecordsPerPartition must be positive": {"subscribe": "binary", "maxRecordsPerPartition": -1},
    "maxOffsetsPerTrigger must be positive": {"subscribe": "binary", "maxOffsetsPerTrigger": -5},
    "minPartitions is a number": {"subscribe": "binary", "minPartitions": "some"},
    "replicas is furthest or refuse": {"subscribe": "binary", "replicas": "all"},
    "startingTimestamp is one number": {"subscribe": "binary", "startingTimestamp": "yesterday"},
    "Strategy is error or latest": {"subscribe": "binary", "startingOffsetsByTimestampStrategy": "earliest"},
    "is a time such as": {"subscribe": "binary", "maxTriggerDelay": "soon"},
    "higher than maxOffsetsPerTrigger": {
        "subscribe": "binary", "minOffsetsPerTrigger": 9, "maxOffsetsPerTrigger": 3,
    },
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_kafka_source_refuses_is_refused(reason, read):
    with pytest.raises(UsageError, match=reason):
        read({"path": "/data", **{name: str(value) for name, value in REFUSED[reason].items()}})


REFUSED_OF_BATCHES: dict[str, dict[str, object]] = {
    "startingOffsets cannot be latest": {"startingOffsets": "latest"},
    "cannot be latest \\(-1\\)": {"startingOffsets": '{"t":{"0":-1}}'},
    "endingOffsets cannot be earliest": {"endingOffsets": "earliest"},
    "cannot be earliest \\(-2\\)": {"endingOffsets": '{"t":{"0":-2}}'},
    "offsets must name the same": {"startingOffsets": '{"t":{"0":1}}', "endingOffsets": '{"t":{"1":1}}'},
    "timestamps must name the same": {
        "startingOffsetsByTimestamp": '{"t":{"0":1}}', "endingOffsetsByTimestamp": '{"t":{"1":1}}',
    },
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED_OF_BATCHES)
def test_what_makes_no_batch_is_refused(reason):
    with pytest.raises(UsageError, match=reason):
        given_(**REFUSED_OF_BATCHES[reason])


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_what_makes_no_stream_is_refused(name):
    with pytest.raises(UsageError, match=f"{name} is not valid in a streaming query"):
        given_(stream_options, **{name: "latest"})


@pytest.mark.parametrize("kind", ["Offsets", "OffsetsByTimestamp"])
@given(start=st.integers(0, 20), end=st.integers(-1, 20))
def test_a_start_behind_its_end_is_refused(kind, start, end):
    """-1 is the latest, and behind every start."""
    options = {f"starting{kind}": json.dumps({"t": {"0": start}}), f"ending{kind}": json.dumps({"t": {"0": end}})}
    if 0 <= end < start:
        with pytest.raises(UsageError, match="is greater than its ending"):
            given_(**options)
    else:
        assert given_(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"startingTimestamp": "2000", "endingTimestamp": "1000"},
        {"startingTimestamp": "2021-09-23", "endingTimestamp": "2021-09-22"},
        {"startingTimestamp": "2000", "endingOffsetsByTimestamp": '{"t":{"0":1000}}'},
        {"startingOffsetsByTimestamp": '{"t":{"0":2000}}', "endingTimestamp": "1000"},
    ],
)
def test_times_the_wrong_way_round_are_refused(options):
    """Regression: they gave no rows, and no word about it. Equal times, the earliest and the latest are no error."""
    with pytest.raises(UsageError, match=r"the starting timestamp .* is greater than "):
        given_(**options)
    assert given_(startingTimestamp="2000", endingTimestamp="2000")
    assert given_(startingTimestamp="2000", endingTimestamp="-1")


def test_paths_are_a_list_or_words_with_commas():
    """`load()` with a list has another option for it."""
    one = batch_options({"path": "/a, /b,", "subscribe": "t"})
    assert one.paths == batch_options({"paths": json.dumps(["/a", "/b"]), "subscribe": "t"}).paths
    assert [str(path) for path in one.paths] == ["/a", "/b"]
    for path in ("", " , "):
        with pytest.raises(UsageError, match="'path' must name"):
            batch_options({"path": path, "subscribe": "t"})


@BOTH
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("startingOffset", "startingOffsets"), ("STARTINGOFFSETS ", "startingOffsets"), ("subscribes", "subscribe"),
        ("startingOffsetByTimestamp", "startingOffsetsByTimestamp"), ("startingTime", "startingTimestamp"),
        ("includeHeader", "includeHeaders"), ("failOnDatalos", "failOnDataLoss"),
        ("isolation.level", "kafka.isolation.level"),
        ("kafka.isolation_level", "kafka.isolation.level"), ("minPartition", "minPartitions"), ("replica", "replicas"),
        ("pushFilter", "pushFilters"), ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("isolation", "kafka.isolation.level"), ("from-time", "startingTimestamp"), ("toOffsets", "endingOffsets"),
    ],
)  # fmt: skip
def test_a_slip_in_a_name_is_refused_with_the_nearest(read, name, meant):
    """Regression: `startingOffset` read a topic from its beginning, and nobody said so."""
    with pytest.raises(UsageError, match=f"there is no option '{name.lower()}'; did you mean {meant}?"):
        read({"path": "/data", "subscribe": "t", name: "x"})


@BOTH
@pytest.mark.parametrize("name", [
    "kafka.ssl.truststore.location", "kafka.group.id", "groupIdPrefix", "numRows", "kafka.key.serializer",
    "kafka.value.serializer", "kafka.bootstrap.controllers", "kafka.auto.commit.interval.ms",
])  # fmt: skip
def test_other_names_are_passed_over_as_by_sparks_source(read, name):
    read({"path": "/data", "subscribe": "t", name: "x"})


def test_no_known_name_is_a_slip_of_another():
    for name in KNOWN:
        check_names([name.lower()])


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2021-09-23T09:43:27.806Z", 1632390207806), ("2021-09-23", 1632355200000), ("@1632390207", 1632390207000),
        ("1632390207806", 1632390207806), ("-1", LATEST), ("-2", EARLIEST), ("1960-01-01", EARLIEST), ("-5", -5),
    ],
)  # fmt: skip
def test_times_are_numbers_or_iso_8601(text, time):
    assert given_(startingTimestamp=text).starting == Timestamps(time)
    each: object = int(text) if text.removeprefix("-").isdigit() else text
    assert given_(startingOffsetsByTimestamp=json.dumps({"t": {"0": each}})).starting == Timestamps({FIRST: time})
    assert given_(endingTimestamp=f" {text} ").ending == Timestamps(time, "latest")


@pytest.mark.parametrize("place", ["s3://bucket/kafka?region=x", "gs://b/k", "abfs://c@a.dfs/k", "hdfs://n/k"])
def test_a_place_may_be_a_bucket(place):
    """Regression: "'/work/s3:/bucket/kafka' does not exist"; of a question mark a glob was made."""
    assert [str(path) for path in given_(path=place).paths] == [place]


def test_an_address_that_nothing_reads_is_refused():
    with pytest.raises(UsageError, match="'https://x/k' is no address of a bucket"):
        given_(path="https://x/k")
