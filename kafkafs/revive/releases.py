"""The releases of Kafka that a revived directory can be for, and what each can hold.

A release refuses to start from a feature level, or a version of a metadata record, that it does not know. Source:
`kafka-storage version-mapping` of each; the versions of records by MetadataVersion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafkafs.cluster.metadata import METADATA_VERSION
from kafkafs.errors import UsageError

ELIGIBLE_LEADERS = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True)
class Release:
    """`metadata_versions`: the lowest and the highest. `features`: the highest level of each other feature. `least`:
    the least values of settings of topics and brokers. An older release takes less; this one does not start from it.
    `refused`: settings of topics that newer releases have. With one of these, this release refuses each change of the
    topic's settings. (4.x takes what it does not know.)"""

    name: str
    metadata_versions: tuple[int, int]
    features: Mapping[str, int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    @property
    def has_new_groups(self) -> bool:
        """True if the release knows groups of the newer protocols, and configs of groups."""
        return "group.version" in self.features

    def takes(self, setting: str, value: str) -> str:
        """The value, or the least that it takes of that setting."""
        least = self.least.get(setting, 0)
        return str(least) if value.isascii() and value.isdigit() and int(value) < least else value


_OF_4 = {"transaction.version": 2, "group.version": 1, ELIGIBLE_LEADERS: 1, "share.version": 1, "streams.version": 1}
_NEW_IN_4 = frozenset((
    "errors.deadletterqueue.group.enable", "internal.segment.bytes", "max.decompressed.message.bytes",
    "remote.copy.lag.bytes", "remote.copy.lag.ms",
))  # fmt: skip
_LEAST_OF_4 = dict.fromkeys(("segment.bytes", "log.segment.bytes"), 1 << 20)

RELEASES: Mapping[str, Release] = {
    each.name: each
    for each in (
        Release("3.9", (1, 21), refused=_NEW_IN_4),
        Release("4.3", (7, 30), _OF_4, _LEAST_OF_4),
        Release("4.4", (7, 33), _OF_4 | {"share.version": 2}, _LEAST_OF_4),
    )
}
"""By their names, the oldest first."""


def release(word: str) -> Release:
    """The release that a user names, with or without its last number; UsageError for any other."""
    found = RELEASES.get(".".join(word.split(".")[:2]))
    if found is None:
        raise UsageError(
            f"--kafka {word!r} is not a release that revive writes for; write one of {', '.join(RELEASES)}"
        )
    return found


def newest_for(features: Mapping[str, int]) -> Release:
    """The newest release that can hold these feature levels; of none the newest."""
    newest_first = [*RELEASES.values()][::-1]
    for each in newest_first:
        lowest, highest = each.metadata_versions
        others = (level <= each.features.get(name, 0) for name, level in features.items() if name != METADATA_VERSION)
        if lowest <= features.get(METADATA_VERSION, highest) <= highest and all(others):
            return each
    return newest_first[0]


def fitted(features: Mapping[str, int], target: Release) -> tuple[dict[str, int], list[str]]:
    """The feature levels that the target starts with, and in sentences what of the given ones it cannot hold."""
    lowest, highest = target.metadata_versions
    given = features.get(METADATA_VERSION, highest)
    kept, sentences = {METADATA_VERSION: min(max(given, lowest), highest)}, []
    if given != kept[METADATA_VERSION]:
        sentences.append(f"{METADATA_VERSION} {given} becomes {kept[METADATA_VERSION]}, for Kafka {target.name}")
    for name, level in features.items():
        if name == METADATA_VERSION:
            continue
        known = min(level, target.features.get(name, 0))
        if known:
            kept[name] = known
        if known != level:
            sentences.append(f"the feature {name} {level} becomes {known or 'unset'}, for Kafka {target.name}")
    return kept, sentences


def record_version(name: str, metadata_version: int) -> int:
    """The version of a metadata record that a cluster of that metadata.version writes."""
    steps = {"PartitionRecord": (17, 23), "RegisterBrokerRecord": (7, 8, 17, 30)}.get(name, ())
    return sum(metadata_version >= step for step in steps)
