"""The one of several topics of a name whose partitions a tier shows.

A topic that was deleted and made again has another id. Two clusters that share a tier may both have a topic of a name.
All partitions that are shown are those of one topic: a mix would be of nobody's.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.tier.layouts import Layout

if TYPE_CHECKING:  # it loads Kafka's schemas, which a listing need not wait for
    from kafkafs.log.tier.remote_log_metadata import RecordedUploads

Rank = tuple[bool, bool, int]
"""True if the tier has anything that counts, true if the metadata topic mentions it, and when its newest upload that
counts was written."""


def shown(
    partitions: Iterable[TierPartition], layout: Layout, recorded: "Callable[[TierPartition], RecordedUploads | None]"
) -> dict[str, TierPartition]:
    """The partitions that have an upload which counts, by the name of their directory. Among topics of the same name,
    the topic that the metadata topic mentions is shown, else the one with the newest upload. A topic of which nothing
    is left comes last."""
    ranks: dict[TierPartition, Rank] = {}
    topics: dict[tuple[str, str], Rank] = {}
    for each in partitions:
        rank = _rank(each, layout, recorded)
        if rank is not None:
            ranks[each] = rank
            key = each.topic, each.topic_id
            topics[key] = max(rank, topics.get(key, rank))
    best = {topic: topic_id for (topic, topic_id), _ in sorted(topics.items(), key=lambda item: item[1])}
    return {each.name.directory: each for each in ranks if best[each.topic] == each.topic_id}


def _rank(
    partition: TierPartition, layout: Layout, recorded: "Callable[[TierPartition], RecordedUploads | None]"
) -> Rank | None:
    known = recorded(partition)
    uploads = layout.uploads(partition, () if known is None else known.finished)
    counted = uploads if known is None else known.counted(uploads)
    times = [file.mtime_ns for upload in counted for file in upload.files.values()]
    if not times and known is not None and known.finished:
        return False, True, 0  # all of them are gone, which is an error there
    return (True, known is not None, max(times)) if times else None
