"""What each release can hold, and which is the newest that fits."""

import pytest

from kafkafs.errors import UsageError
from kafkafs.revive.releases import RELEASES, fitted, newest_for, record_version, release


def test_a_release_is_named_with_or_without_its_last_number():
    assert release("4.3") is release("4.3.1") is RELEASES["4.3"]


@pytest.mark.parametrize("word", ["2.8", "4", "4.30", "", "newest"])
def test_any_other_is_refused_with_those_there_are(word):
    with pytest.raises(UsageError, match=r"write one of 3\.9, 4\.3, 4\.4"):
        release(word)


def test_the_newest_that_fits_is_taken():
    assert newest_for({}).name == "4.4"
    assert newest_for({"metadata.version": 30, "group.version": 1}).name == "4.4"
    assert newest_for({"metadata.version": 4}).name == "3.9"  # 4.x begins at 7
    assert newest_for({"metadata.version": 99}).name == "4.4"


def test_what_a_target_cannot_hold_is_lowered_and_said():
    features = {"metadata.version": 30, "group.version": 1, "share.version": 1}
    kept, sentences = fitted(features, RELEASES["3.9"])
    assert kept == {"metadata.version": 21}
    assert sentences == [
        "metadata.version 30 becomes 21, for Kafka 3.9",
        "the feature group.version 1 becomes unset, for Kafka 3.9",
        "the feature share.version 1 becomes unset, for Kafka 3.9",
    ]
    assert fitted(features, RELEASES["4.3"]) == (features, [])


def test_without_metadata_the_target_has_its_own_level():
    assert fitted({}, RELEASES["4.4"]) == ({"metadata.version": 33}, [])


@pytest.mark.parametrize(
    ("level", "partition", "registration"), [(1, 0, 0), (7, 0, 1), (17, 1, 3), (21, 1, 3), (30, 2, 4)]
)
def test_records_have_the_version_of_their_metadata_version(level, partition, registration):
    assert record_version("PartitionRecord", level) == partition
    assert record_version("RegisterBrokerRecord", level) == registration
    assert record_version("TopicRecord", level) == 0


def test_from_4_on_a_segment_has_at_least_a_mebibyte():
    for name, least in (("3.9", "14"), ("4.3", "1048576"), ("4.4", "1048576")):
        assert RELEASES[name].takes("segment.bytes", "14") == RELEASES[name].takes("log.segment.bytes", "14") == least
        assert RELEASES[name].takes("segment.bytes", "2000000") == "2000000"
        assert RELEASES[name].takes("retention.bytes", "14") == "14"
