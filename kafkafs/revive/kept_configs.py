"""The settings that go along, and those that do not: another machine's, and those that the target does not take."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kafkafs.cluster.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kafkafs.revive.refused_settings import is_taken_of_broker
from kafkafs.revive.releases import Release
from kafkafs.revive.topics import RevivedTopic
from kafkafs.revive.whole_image import WholeImage


class Config(NamedTuple):
    """A setting of a topic, a broker, a group: the resource's type and name, the setting's name and value."""

    kind: int
    resource: str
    name: str
    value: str


def kept_configs(
    image: WholeImage | None, topics: Sequence[RevivedTopic], node: int, settings: frozenset[str], target: Release
) -> tuple[list[Config], list[str]]:
    """The configs that go along, and in sentences what does not. `settings`: what the new node's own file says, which a
    config of the cluster would overrule."""
    kept = [Config(TOPIC_RESOURCE, each.name, name, value) for each in topics for name, value in each.configs.items()]
    sentences = [
        f"the setting {each.name}={each.value} of {each.resource} is left out: Kafka {target.name} does not know it"
        for each in kept if each.name in target.refused
    ]  # fmt: skip
    kept = [each for each in kept if each.name not in target.refused]
    for (kind, resource), configs in sorted(image.configs.items()) if image else ():
        if kind == TOPIC_RESOURCE:
            continue
        for name, value in configs.items():
            config = Config(kind, resource, name, value)
            sentence = _left_out(config, node, settings, target)
            if sentence is None:
                kept.append(config)
            else:
                sentences.append(sentence)
    fitting = [each._replace(value=target.takes(each.name, each.value)) for each in kept]
    sentences += [
        f"the setting {before.name}={before.value} of {_whose(before.kind, before.resource)} becomes {after.value}, the"
        f" least for Kafka {target.name}"
        for before, after in zip(kept, fitting, strict=True) if before != after
    ]  # fmt: skip
    return fitting, sentences


def _left_out(config: Config, node: int, settings: frozenset[str], target: Release) -> str | None:
    """The sentence about a setting of no topic that does not go along; None if it does."""
    kind, resource, name, value = config
    if kind == BROKER_RESOURCE and resource not in ("", str(node)):
        return f"the setting {name} of broker {resource} is left out: the new cluster has node {node} alone"
    if kind == BROKER_RESOURCE and (name in settings or _is_of_a_machine(name, value)):
        why = "the new node has its own" if name in settings else "it belongs to the old machine"
        return f"the setting {name} of {_whose(kind, resource)} is left out: {why}"
    if kind == BROKER_RESOURCE:
        if is_taken_of_broker(name, value):
            return None
        return f"the setting {name}={value!r} of {_whose(kind, resource)} is left out: no Kafka takes such a value"
    if kind not in (CLIENT_METRICS_RESOURCE, GROUP_RESOURCE) or not resource:
        return f"the setting {name}={value!r} of {resource!r} is left out: Kafka has no such resource (type {kind})"
    if kind == GROUP_RESOURCE and not target.has_new_groups:
        return f"the setting {name}={value} of group {resource} is left out: the release has no such groups"
    return None


def _whose(kind: int, resource: str) -> str:
    if kind == TOPIC_RESOURCE:
        return resource
    return f"broker {resource}" if resource else "all brokers"


_OF_A_MACHINE = re.compile(
    r"(listener|ssl|sasl|config\.providers|password\.encoder|zookeeper|controller|rsm\.config|rlmm\.config|metrics?)\..*"
    r"|.*(listeners|reporters|\.dirs?|\.path|\.location|\.file|\.url|\.cmd|\.class|\.classes|\.class\.names?|providers)",
    re.ASCII,
)  # fmt: skip
"""Names of settings that tell of addresses, files, programs or jars. Sources: BrokerSecurityConfigs, SslConfigs,
SaslConfigs, ServerLogConfigs, RemoteLogManagerConfig."""


def _is_of_a_machine(name: str, value: str) -> bool:
    """True if the setting is about a machine's own addresses, files or jars, or takes its value from there."""
    is_name = re.fullmatch(r"[\w.-]+", name, re.ASCII) is not None
    return not is_name or _OF_A_MACHINE.fullmatch(name) is not None or value.startswith(("/", "file:", "${"))
