"""The offset of a stream, there and back; Spark's own source and earlier releases read it, and it reads theirs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.log.lineage import BatchMark, LogIdentity
from kafkafs.spark.stream_offset import LOGS, StreamOffset, stream_offset
from kafkafs.tables.offsets import TopicPartition, from_dict, parse_offsets

_topics = st.text("abc._-", min_size=1, max_size=4)
_places = st.builds(TopicPartition, _topics, st.integers(0, 2**31 - 1))
_numbers = st.integers(-1, 2**63 - 1)
_marks = st.builds(BatchMark, _numbers, _numbers, _numbers, _numbers, st.integers(0, 2**32 - 1), st.booleans())
_ids = st.none() | st.text("abcXYZ01_-", min_size=22, max_size=22)
_logs = st.builds(LogIdentity, _ids, st.none(), st.none() | _marks)
_offsets = st.dictionaries(_places, st.tuples(st.integers(0, 2**63 - 1), _logs), max_size=6).map(
    lambda both: StreamOffset(
        {name: at for name, (at, _) in both.items()}, {name: log for name, (_, log) in both.items()}
    )
)


def known(offset: StreamOffset) -> dict[TopicPartition, LogIdentity]:
    return {name: log for name, log in offset.logs.items() if log != LogIdentity()}


@given(_offsets)
def test_offsets_come_back_as_they_were(offset):
    text = json.dumps(offset.to_json())
    read = stream_offset(json.loads(text))
    assert read.at == offset.at
    assert read.logs == known(offset)
    assert json.dumps(read.to_json()) == text


@given(_offsets)
def test_others_read_the_offsets_alone(offset):
    """Spark's source and earlier releases flatten {topic: {partition: offset}}; `startingOffsets` takes a copy, too."""
    reported = offset.to_json()
    assert from_dict(reported) == parse_offsets(json.dumps(reported)) == offset.at
    assert all(reported[name] == {} for name in reported if name.startswith(LOGS))


@given(_offsets)
def test_equal_offsets_are_the_same_text(offset):
    """Spark compares the texts to see whether anything has come."""
    backwards = StreamOffset(dict(reversed(offset.at.items())), dict(reversed(offset.logs.items())))
    assert json.dumps(backwards.to_json()) == json.dumps(offset.to_json())


def test_an_offset_of_others_knows_no_log():
    assert stream_offset({"t": {"0": 3}}) == StreamOffset({TopicPartition("t", 0): 3})


@pytest.mark.parametrize("rest", ["", "{", "[]", '{"t":[]}', '{"t":{"id":{"x":[]}}}', '{"t":{"id":{"0":[1]}}}'])
def test_a_damaged_member_is_refused(rest):
    with pytest.raises(UsageError, match="begin a new checkpoint"):
        stream_offset({"t": {"0": 3}, LOGS + rest: {}})
