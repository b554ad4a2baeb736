"""The files of the new directory that are not logs: checkpoints, the metadata, settings, and those that a broker needs
to start."""

import time

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.image import TOPIC_RESOURCE
from kafkafs.format.checkpoints import CheckpointOffsets, offset_checkpoint_bytes
from kafkafs.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    RECOVERY_POINTS,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.kept_configs import Config, kept_configs
from kafkafs.revive.kept_rights import kept_rights
from kafkafs.revive.metadata_snapshot import State, snapshot_bytes, snapshot_name
from kafkafs.revive.partitions import Reports
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.plan import Choices, Plan, next_block
from kafkafs.revive.settings import (
    OFF,
    SECOND_PROPERTIES,
    SERVER_PROPERTIES,
    clean_shutdown,
    meta_properties,
    second_properties,
    second_settings,
    server_properties,
    settings,
    thread_counts,
    token_key,
)

_RETENTION = "retention.ms"


class NodeFiles:
    """`sentences`: the configs and rights that the cluster does not keep. `without_retention`: the topics without a
    retention time of their own. They get one, because any further broker may have another default."""

    def __init__(self, plan: Plan, choices: Choices) -> None:
        metadata, topics = plan.metadata, list(plan.topics)
        node_settings = settings(
            plan.node, choices.to.resolve(), topics,
            is_dynamic=metadata.is_dynamic, has_acls=bool(metadata.image and metadata.image.acls),
            has_shares=plan.release.has_new_groups,
        )  # fmt: skip
        fixed = frozenset((*node_settings, *OFF))
        configs, self.sentences = kept_configs(metadata.image, topics, plan.node.number, fixed, plan.release)
        self._rights, refused = kept_rights(metadata.image) if metadata.image else ([], [])
        self.sentences += refused
        unset = [each.name for each in topics if _RETENTION not in each.configs]
        self.without_retention = unset if choices.retention == "off" else []
        self._configs = [*configs, *(Config(TOPIC_RESOURCE, each, _RETENTION, "-1") for each in self.without_retention)]
        self._settings = node_settings | thread_counts(configs)
        self._plan, self._has_set_aside = plan, bool(choices.include)

    def remove_last_files(self, place: NewDirectory) -> None:
        """Remove the files of an earlier command without which no broker starts."""
        for name in (CLEAN_SHUTDOWN, META_PROPERTIES):
            place.remove(name)

    def write_cluster(self, place: NewDirectory, reports: Reports) -> int:
        """Write the checkpoints and the metadata. Return the next producer id."""
        _write_checkpoints(self._plan, reports, place)
        producer_ids = _producer_ids(place) if self._has_set_aside else []
        used = max((*producer_ids, *(each["largestProducerId"] for each in reports.values())), default=-1)
        plan, metadata, as_of = self._plan, self._plan.metadata, self._plan.metadata.as_of
        timestamp_ms = as_of.timestamp if as_of and as_of.timestamp is not None else time.time_ns() // 1_000_000
        epochs = {name: each["leaderEpoch"] for name, each in reports.items()}
        state = State(
            plan.node, plan.features, plan.topics, epochs, self._configs, self._rights,
            max(plan.next_producer_id, next_block(used) if used >= 0 else 0), timestamp_ms,
            max(1, as_of.epoch or 1) if as_of else 1, metadata.is_dynamic,
        )  # fmt: skip
        place.remove_directory(METADATA_LOG)
        with place.below(METADATA_LOG) as target:
            offset = max(1, as_of.offset + 1) if as_of else 1
            target.write(snapshot_name(offset, state.epoch), snapshot_bytes(state))
        return state.next_producer_id

    def write_settings(self, place: NewDirectory) -> None:
        """Write the settings of the node, and of a further broker."""
        plan = self._plan
        token = token_key() if plan.metadata.image and plan.metadata.image.tokens else b""
        place.write(SERVER_PROPERTIES, server_properties(self._settings) + token)
        second = second_settings(self._settings, plan.node, place.path.resolve())
        place.write(SECOND_PROPERTIES, second_properties(second, plan.cluster_id) + token)

    def write_last_files(self, place: NewDirectory) -> None:
        """Write the files without which no broker starts, through to the disk."""
        place.write(META_PROPERTIES, meta_properties(self._plan.cluster_id, self._plan.node), through=True)
        place.write(CLEAN_SHUTDOWN, clean_shutdown(), through=True)


def cluster_of(place: NewDirectory) -> Cluster:
    """The cluster in the new directory, with everything that was left out, and everything that was written again."""
    return Cluster([DataDirectory(place.path, ReadOptions())], ReadOptions())


def _producer_ids(place: NewDirectory) -> list[int]:
    """The producer ids of transactions. The metadata of a cluster that started again do not know the ids of what it set
    aside."""
    cluster = cluster_of(place)
    cluster.look()
    return [each for transaction, _ in cluster.transactions.all() for each in transaction.producer_ids]


def _write_checkpoints(plan: Plan, reports: Reports, place: NewDirectory) -> None:
    ends, starts, cleaned = CheckpointOffsets(), CheckpointOffsets(), CheckpointOffsets()
    cleaned_to = {directory.path: directory.checkpoints.cleaner_offsets() or {} for directory in plan.disks.directories}
    for _, each in plan.partitions():
        report = reports.get(each.name)
        if report is None or each.replica is None:
            continue
        name = each.topic, each.number
        ends[name] = report["endOffset"]
        if report["startOffset"] > report["firstBase"]:
            starts[name] = report["startOffset"]
        first_dirty = cleaned_to[each.replica.directory.path].get(name)
        if first_dirty is not None:
            cleaned[name] = min(first_dirty, report["endOffset"])
    place.write(RECOVERY_POINTS, offset_checkpoint_bytes(ends))
    place.write(HIGH_WATERMARKS, offset_checkpoint_bytes(ends))
    place.write(LOG_STARTS, offset_checkpoint_bytes(starts))
    place.write(CLEANER_OFFSETS, offset_checkpoint_bytes(cleaned))
