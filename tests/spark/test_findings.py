"""A finding as a line of the report: what it is about, and how bad it is."""

import json

import pytest

from kafkafs.spark.audit.findings import CheckedFile, severity_of


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("crc", "data loss"),
        ("missing-offsets", "data loss"),
        ("offset-index-order", "rebuildable index"),
        ("missing-index", "rebuildable index"),
        ("last-offset", "note"),
        ("of-a-later-release", "note"),
    ],
)
def test_what_lost_records_is_worse_than_what_can_be_made_again(kind, severity):
    assert severity_of(kind) == severity
    assert CheckedFile("/data", "a-0/x.log").finding(kind, "why").severity == severity


def test_a_finding_is_of_the_partition_whose_file_it_is_in():
    """Programs read these lines: what does not apply is null, not absent."""
    found = json.loads(
        CheckedFile("/data", "a-b-7/00.log").finding("crc", "it differs", position=61, offset=5).to_json()
    )
    assert found == {
        "dataDirectory": "/data", "file": "a-b-7/00.log", "kind": "crc", "message": "it differs", "position": 61,
        "offset": 5, "slot": None, "severity": "data loss", "topic": "a-b", "partition": 7, "epochs": None,
    }  # fmt: skip
    assert (CheckedFile("/data", "meta.properties").finding("name", "why").topic) is None


def test_a_finding_may_say_itself_how_bad_it_is():
    assert CheckedFile("/data", "a-0/x.log").finding("crc", "why", severity="note").severity == "note"
