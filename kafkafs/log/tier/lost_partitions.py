"""Partitions that a tier has, and no disk that was named: their directories are lost, or on another broker.

A tier in a directory is looked through when names are asked for and the last look is old. A bucket is asked in a thread
of its own, and only for somebody who needs to know (`wait`): what is on the disk never waits for a store.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping

from kafkafs.disk.blocking import ProcessLock, acquired, may_block, patience_left
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import Denied, DiskError, KafkafsError, NotFound, Unanswered, UsageError, Vanished
from kafkafs.format.names import OWN_TOPICS, is_topic_name
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.disks_together import DisksTogether
from kafkafs.log.tier.namesakes import shown
from kafkafs.log.tier.remote_log_metadata import RemoteLogMetadata
from kafkafs.log.tier.tier import Tier

logger = logging.getLogger(__name__)

Lost = Mapping[str, TierPartition]
"""Partitions by the name that their directory would have."""

GOOD_S = 60.0
"""How long a look is good for, as long as the disks have the same partitions: it takes a question for each topic."""

_FAILED_S = 10.0
"""How long a bucket that did not answer is not asked again."""

_LONGEST_S = 16.0  # a moment longer than one question: its end tells others that the store is silent


class LostPartitions:
    """The partitions of one tier that no disk has. `_lock` is held during a look."""

    def __init__(self, tier: Tier, disks: DisksTogether, metadata: RemoteLogMetadata) -> None:
        self._tier = tier
        self._disks = disks
        self._metadata = metadata
        self._lock = ProcessLock()
        clock = tier.options.clock
        self._known: CachedValue[Lost] = CachedValue(GOOD_S, clock)
        self._looked_beside: set[str] | None = None  # the names on the disks at that look
        self._failed: CachedValue[KafkafsError] = CachedValue(_FAILED_S, clock)

    @property
    def latest(self) -> Lost:
        """The lost partitions at the last look."""
        return self._known.latest or {}

    def now(self) -> Lost:
        """The lost partitions as far as they are known. Never waits for a bucket."""
        if self._tier.is_far or self._is_fresh():
            return self.latest
        may_block()
        with acquired(self._lock):
            if not self._is_fresh():
                try:
                    self._look()
                except (DiskError, NotFound, Denied, Vanished, UsageError) as error:  # the disk answers all the same
                    logger.warning("the partitions of the tier are unknown: %s", error)
                    self._failed.store(Unanswered(f"which partitions are in the tier is not known: {error}"))
                    self._known.store(self.latest, fresh_until=self._failed.fresh_until)
        return self.latest

    def _is_fresh(self) -> bool:
        return self._known.fresh() is not None and self._looked_beside == {*self._disks.names()}

    def wait(self) -> None:
        """Waits until the lost partitions are known, as long as the caller's patience lasts. Unanswered if the store
        does not tell them in time, or did not a moment ago; also if a tier in a directory cannot be read."""
        if not self._tier.is_far:
            self.now()
        elif self._is_fresh():
            return
        may_block()
        failed = self._failed.fresh()
        if failed is None and self._tier.is_far:
            self._ask_soon()
            failed = self._failed.fresh()
        if failed is not None:
            raise failed.with_traceback(None)

    def _ask_soon(self) -> None:
        """Has a thread of its own look, unless one is at it, and waits for it."""
        self._tier.before_asking()
        if self._lock.acquire(blocking=False):
            threading.Thread(target=self._ask, name="lost", daemon=True).start()
        if not self._lock.acquire(timeout=min(patience_left(), _LONGEST_S)):
            self._failed.store(Unanswered("which partitions are in the tier is not known: it did not answer in time"))
            raise Unanswered("which partitions are in the tier is not known yet: it did not answer in time")
        self._lock.release()

    def _ask(self) -> None:
        try:
            self._look()
        except KafkafsError as error:
            self._failed.store(error.with_traceback(None))
        finally:
            self._lock.release()

    def _look(self) -> None:
        """Finds the partitions that no disk has, also those of which the metadata topic alone tells; of topics of the
        same name those of the one that a disk has a partition of, else see `namesakes`. A topic that the metadata topic
        calls deleted has no upload that counts."""
        on_disk, layout = self._disks.names(), self._tier.layout
        siblings: defaultdict[str, list[str]] = defaultdict(list)
        for directory, name in on_disk.items():
            siblings[name.topic].append(directory)
        topic_ids: dict[str, str | None] = {}
        recorded = self._metadata.partitions()
        names = {each.topic_id: each.topic for each in recorded}  # a manifest that cannot be read names none
        in_tier = [each._replace(topic=names.get(each.topic_id, each.topic)) for each in layout.partitions()]
        found = []
        for each in dict.fromkeys([*in_tier, *recorded]):
            if each.name.directory in on_disk or each.topic in OWN_TOPICS or not is_topic_name(each.topic):
                continue
            if each.topic not in topic_ids:
                topic_ids[each.topic] = self._disks.topic_id(siblings[each.topic])
            if not topic_ids[each.topic] or each.topic_id in ("", topic_ids[each.topic]):
                found.append(each)
        self._known.store(shown(found, layout, self._metadata.recorded))
        self._looked_beside = {*on_disk}
        self._failed.expire()
