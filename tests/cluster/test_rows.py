"""Rows: what no broker of today writes, and numbers that JSON has no word for, are shown as well."""

import json
import math

import pytest

from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.image import Acl
from kafkafs.cluster.rows import NO_OFFSET, Ends, acl_row, lag, quota_row, user_row


def acl(operation: int = 3, permission: int = 3) -> Acl:
    return Acl(2, "orders", 3, "User:a", "*", operation, permission)


@pytest.mark.parametrize(
    ("number", "word"), [(1, "ANY"), (3, "READ"), (15, "TWO_PHASE_COMMIT"), (16, "UNKNOWN"), (0, "UNKNOWN")]
)
def test_an_operation_has_the_word_of_kafkas_own_tools(number, word):
    """Source: AclOperation."""
    assert acl_row(acl(number))["operation"] == word


def test_what_only_a_later_kafka_knows_is_unknown():
    assert acl_row(acl(permission=9))["permission"] == "UNKNOWN"
    assert user_row("a", 9, 4096)["mechanism"] == "UNKNOWN"


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_quota_that_is_no_finite_number_is_a_text(value):
    """JSON has none for it, and a program that reads lines must not stop at one."""
    row = json.loads(json.dumps(quota_row((("user", "a"),), "rate", value), allow_nan=False))
    assert float(row["value"]) == value or math.isnan(value)


def test_lag_is_reported_of_what_somebody_has_yet_to_read():
    """As `kafka-consumer-groups.sh` has it."""
    commit = Commit("t", 0, 7, None, None, "", None, None, None)
    assert lag(commit, Ends(0, 10, 12)) == 3
    assert lag(commit, Ends()) is None
    assert lag(commit._replace(offset=NO_OFFSET), Ends(0, 10, 12)) is None
    assert lag(commit._replace(producer_id=1), Ends(0, 10, 12)) is None
