"""Messages as JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.messages.message_json import Embedded, fields_json, jackson_string, type_name


@given(st.text())
def test_a_text_is_quoted_as_json(text: str) -> None:
    assert json.loads(jackson_string(text)) == text


def test_escapes_are_jacksons() -> None:
    assert jackson_string('\x1f\b"\\/\x7f\u2028') == '"\\u001F\\b\\"\\\\/\x7f\u2028"'


def test_a_tagged_default_is_left_out_and_a_null_is_not() -> None:
    fields = {"name": None}
    assert fields_json("metadata", "BeginTransactionRecord", 0, fields, jackson_string) == "{}"
    rack = {"topicId": "A" * 22, "name": "t"}
    assert fields_json("metadata", "TopicRecord", 0, rack, jackson_string) == f'{{"name":"t","topicId":"{"A" * 22}"}}'


def test_a_message_may_stand_in_place_of_its_bytes() -> None:
    inner = Embedded("clients", "ConsumerProtocolAssignment", 0, {"assignedPartitions": (), "userData": None})
    assert fields_json(*inner, jackson_string) == '{"assignedPartitions":[],"userData":null}'
    member = {"memberId": "m", "clientId": "c", "clientHost": "h", "sessionTimeout": 1, "subscription": b"\0\1"}
    group = {"protocolType": "consumer", "generation": 1, "protocol": None, "leader": None}
    reported = fields_json(
        "group-coordinator", "GroupMetadataValue", 0,
        group | {"members": (member | {"assignment": inner},)}, jackson_string,
    )  # fmt: skip
    assert reported.endswith('"subscription":"AAE=","assignment":{"assignedPartitions":[],"userData":null}}]}')


def test_the_name_of_a_type_is_javas_constant() -> None:
    assert type_name("NoOpRecord") == "NO_OP_RECORD"
