"""The settings that go along into the new cluster."""

import pytest

from kafkafs.revive.kept_configs import Config, kept_configs
from kafkafs.revive.releases import RELEASES
from kafkafs.revive.topics import RevivedTopic, made_up_id
from kafkafs.revive.whole_image import WholeImage


def test_settings_that_belong_to_another_machine_are_left_out():
    image = WholeImage()
    image.configs = {
        (4, ""): {"log.cleaner.threads": "2", "log.retention.ms": "5"},
        (4, "1"): {"listener.name.x.ssl.key.password": "SECRET", "num.io.threads": "8", "cordoned.log.dirs": "/d"},
        (4, "2"): {"num.io.threads": "9"},
        (32, "g"): {"consumer.session.timeout.ms": "50000"},
        (16, "watch"): {"interval.ms": "60000"},
        (2, "gone"): {"retention.ms": "1"},
    }
    kept, sentences = kept_configs(image, [], 1, frozenset({"log.retention.ms"}), RELEASES["3.9"])
    assert kept == [
        Config(4, "", "log.cleaner.threads", "2"), Config(4, "1", "num.io.threads", "8"),
        Config(16, "watch", "interval.ms", "60000"),
    ]  # fmt: skip
    assert len(sentences) == 5
    assert not any("SECRET" in sentence for sentence in sentences)
    kept, _ = kept_configs(image, [], 1, frozenset(), RELEASES["4.4"])
    assert Config(32, "g", "consumer.session.timeout.ms", "50000") in kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.dirs", "/"), ("log.dir", "/etc"), ("metadata.log.dir", "x"), ("ssl.keystore.location", "a.jks"),
        ("ssl.truststore.location", "b.jks"), ("remote.log.storage.manager.class.path", "x.jar"),
        ("principal.builder.class", "Evil"), ("config.providers", "file"), ("config.providers.file.class", "x"),
        ("sasl.oauthbearer.jwks.endpoint.url", "x"), ("rsm.config.dir", "x"), ("whatever", "/etc/passwd"),
        ("max.connections", "${file:/etc/passwd:x}"), ("some.plugin", "file:///etc"), ("early.start.listeners", "X"),
        ("log.dirs\n", "x"),
    ],
)  # fmt: skip
def test_no_setting_names_a_path_of_this_machine(name, value):
    image = WholeImage()
    image.configs = {(4, ""): {name: value}, (4, "1"): {name: value}}
    kept, sentences = kept_configs(image, [], 1, frozenset(), RELEASES["4.4"])
    assert kept == []
    assert len(sentences) == 2


def test_a_setting_below_what_the_target_starts_from_is_raised():
    """Kafka 4 ends at its start where the segments of one topic are smaller than a mebibyte."""
    image = WholeImage()
    image.configs = {(4, ""): {"log.segment.bytes": "1000"}}
    topics = [RevivedTopic("small", made_up_id("s"), {"segment.bytes": "14"}, ()),
              RevivedTopic("large", made_up_id("l"), {"segment.bytes": "1048577"}, ())]  # fmt: skip
    kept, sentences = kept_configs(image, topics, 1, frozenset(), RELEASES["4.4"])
    assert [each.value for each in kept] == ["1048576", "1048577", "1048576"]
    assert sentences == [
        "the setting segment.bytes=14 of small becomes 1048576, the least for Kafka 4.4",
        "the setting log.segment.bytes=1000 of all brokers becomes 1048576, the least for Kafka 4.4",
    ]
    kept, sentences = kept_configs(image, topics, 1, frozenset(), RELEASES["3.9"])
    assert ([each.value for each in kept], sentences) == (["14", "1048577", "1000"], [])


@pytest.mark.parametrize("release", RELEASES)
def test_topics_settings_that_a_release_refuses_are_left_out(release):
    """Regression: on 3.9 no setting of such a topic could be changed any more."""
    configs = {"retention.ms": "5", "remote.copy.lag.ms": "7", "internal.segment.bytes": "2000"}
    kept, sentences = kept_configs(
        None, [RevivedTopic("t", made_up_id("t"), configs, ())], 1, frozenset(), RELEASES[release]
    )
    names = {each.name for each in kept}
    assert names == ({"retention.ms"} if release == "3.9" else {*configs})
    assert sorted(sentences) == [
        f"the setting {name}={configs[name]} of t is left out: Kafka 3.9 does not know it"
        for name in sorted({*configs} - names)
    ]
