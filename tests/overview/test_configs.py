"""Which of a topic's settings count, and which words name one."""

import pytest

from kafkafs.cluster.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image, TopicImage
from kafkafs.errors import UsageError
from kafkafs.overview.configs import BrokerSettings, parse_set
from kafkafs.overview.retention import Limits

DAY_MS, WEEK_MS = 86_400_000, 604_800_000


def image(**configs):
    """Metadata that know the topic `t`; settings of `topic`, `broker` and `cluster`."""
    made = Image()
    made.topics["id"], made.ids["t"] = TopicImage("t", "id", {}), "id"
    places = {"topic": (TOPIC_RESOURCE, "t"), "broker": (BROKER_RESOURCE, "1"), "cluster": (BROKER_RESOURCE, "")}
    made.configs.update({places[place]: setting for place, setting in configs.items()})
    return made


ORDER = (  # the first that is there counts
    ("asked", {"retention.ms": "1"}),
    ("topic", {"retention.ms": "2"}),
    ("broker", {"log.retention.ms": "3"}),
    ("cluster", {"log.retention.ms": "4"}),
    ("file", {"log.retention.ms": "5", "log.retention.minutes": "6", "log.retention.hours": "7"}),
)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_places_of_a_setting_have_an_order(first):
    places = dict(ORDER[first:])
    asked = {"t": places.pop("asked")} if "asked" in places else {}
    found = BrokerSettings(
        image(**{name: setting for name, setting in places.items() if name != "file"}), 1, asked, places["file"]
    )
    assert found.of("t").limits.retention_ms == first + 1
    assert "retention.ms" not in found.of("t").defaults


@pytest.mark.parametrize(
    ("file", "retention_ms"),
    [
        ({"log.retention.minutes": "6", "log.retention.hours": "7"}, 360_000),
        ({"log.retention.hours": "7"}, 7 * 3_600_000),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-1", "log.retention.hours": "7"}, -1),
        ({}, WEEK_MS),
    ],
)
def test_the_brokers_file_has_three_units_of_time(file, retention_ms):
    assert BrokerSettings(image(), 1, {}, file).of("t").limits.retention_ms == retention_ms


def test_settings_of_another_broker_do_not_count():
    setting = image(broker={"log.retention.ms": "3"})
    assert BrokerSettings(setting, 2).of("t").limits.retention_ms == WEEK_MS
    assert BrokerSettings(setting, None).of("t").limits.retention_ms == WEEK_MS


def test_what_was_taken_from_kafka_is_reported():
    assert BrokerSettings(None, None).of("t").defaults == ("cleanup.policy", "retention.ms", "retention.bytes")
    assert BrokerSettings(image(topic={"retention.bytes": "5"}), 1).of("t").defaults == (
        "cleanup.policy",
        "retention.ms",
    )


@pytest.mark.parametrize(
    ("topic", "policy"),
    [("__consumer_offsets", "compact"), ("__transaction_state", "compact"), ("__share_group_state", "delete"),
     ("__remote_log_metadata", "delete"), ("t", "delete")],
)  # fmt: skip
def test_kafkas_own_topics_are_made_with_settings_of_their_own(topic, policy):
    """Of a broker with ZooKeeper nothing on the disk has them: without them, groups would be called deletable."""
    found = BrokerSettings(None, None, {}, {"log.cleanup.policy": "delete"}).of(topic)
    assert found.policy == policy
    assert found.limits.retention_ms == (-1 if topic in ("__remote_log_metadata", "__share_group_state") else WEEK_MS)


@pytest.mark.parametrize(
    ("policy", "limits"),
    [("delete", (True, False)), ("compact", (False, True)), ("compact,delete", (True, True)),
     ("delete, compact", (True, True)), ("", (False, False))],
)  # fmt: skip
def test_a_policy_has_words(policy, limits):
    found = BrokerSettings(image(topic={"cleanup.policy": policy}), 1).of("t")
    assert (found.policy, found.limits[:2]) == (policy, limits)


TIERED = {"remote.storage.enable": "true", "retention.ms": "9", "retention.bytes": "8"}


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, Limits(True, False, 9, 8)),
        ({"local.retention.ms": "-2", "local.retention.bytes": "-2"}, Limits(True, False, 9, 8)),
        ({"local.retention.ms": "3", "local.retention.bytes": "2"}, Limits(True, False, 3, 2)),
        ({"local.retention.ms": "3", "remote.log.copy.disable": "true"}, Limits(True, False, 9, 8)),
        ({"local.retention.ms": "3", "remote.storage.enable": "false"}, Limits(True, False, 9, 8)),
        ({"local.retention.ms": "3", "cleanup.policy": ""}, Limits(True, False, 3, 8)),
    ],
)
def test_a_tiered_topic_has_local_limits(settings, limits):
    assert BrokerSettings(image(topic=TIERED | settings), 1).of("t").limits == limits


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("t.retention.ms=5", {"t": {"retention.ms": "5"}}),
        ("t.with.dots.retention.ms=5", {"t.with.dots": {"retention.ms": "5"}}),
        ("t.local.retention.ms=-2", {"t": {"local.retention.ms": "-2"}}),
        ("t.delete.retention.ms=5", {"t": {"delete.retention.ms": "5"}}),
        ("t.cleanup.policy=compact,delete", {"t": {"cleanup.policy": "compact,delete"}}),
        ("t.cleanup.policy=", {"t": {"cleanup.policy": ""}}),
        ("t.remote.storage.enable=true", {"t": {"remote.storage.enable": "true"}}),
    ],
)
def test_the_longest_name_at_the_end_is_the_setting(word, found):
    assert parse_set([word], {"t": None, "t.with.dots": None, "t.local": None, "t.delete": None}) == found


@pytest.mark.parametrize(
    "word",
    ["t.retention.ms", "t.nonsense=5", "nobody.retention.ms=5", "retention.ms=5", "=5", "t.retention.ms=soon",
     "t.retention.ms=-5", "t.retention.ms=", "t.cleanup.policy=burn", "t.local.retention.bytes=-3",
     "t.retention.bytes=9223372036854775808", "t.retention.ms=٣", "t.remote.storage.enable=maybe",
     f"t.retention.ms={'9' * 5000}"],
)  # fmt: skip
def test_a_word_that_sets_nothing_is_named(word):
    with pytest.raises(UsageError, match="--set") as raised:
        parse_set([word], {"t": None})
    assert repr(word) in str(raised.value)


def test_a_bad_value_in_the_brokers_file_is_named():
    with pytest.raises(UsageError, match=r"log\.retention\.hours cannot be 'many'"):
        BrokerSettings(image(), 1, {}, {"log.retention.hours": "many"}).of("t")
