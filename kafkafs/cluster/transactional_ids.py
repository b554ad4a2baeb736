"""The transactional ids of a cluster, from all partitions of `__transaction_state` that are here, and the producers of
partitions with the ids that they belong to."""

from collections.abc import Iterator

from kafkafs.cluster.chosen_replicas import ChosenReplicas
from kafkafs.cluster.coordinators import CoordinatorTopic, TransactionPartition
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.cluster.transactions import Owners, Producer, ProducerScans, Transaction
from kafkafs.format.names import TRANSACTIONS_TOPIC
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions


class TransactionalIds(CoordinatorTopic[TransactionPartition]):
    """The transactional ids of a cluster. For the thread that holds the cluster's lock."""

    def __init__(self, names: TopicNames, options: ReadOptions, until_ms: int | None) -> None:
        super().__init__(TRANSACTIONS_TOPIC, TransactionPartition, names, options, until_ms)
        self._is_as_of_then = until_ms is not None

    def all(self) -> list[tuple[Transaction, int]]:
        """All transactional ids, each with the partition it was found in."""
        found = [(each, number) for number, one in self.followed.items() for each in one.replay.transactions()]
        return sorted(found, key=lambda item: (item[0].transactional_id, item[1]))

    def owners(self) -> Owners:
        """Return the holders of the open transactions."""
        count = self.count
        if count is None and self.names.image is not None and self._is_as_of_then:
            return Owners([], all_here=True)  # the topic was made later
        return Owners([each for each, _ in self.all()], count is not None and self._are_whole(count))

    def _are_whole(self, count: int) -> bool:
        """True if all partitions of the transactions' topic are here, and could be read from end to end."""
        return self.partitions == list(range(count)) and not any(self.problems())


class Producers:
    """The producers of all partitions at hand. For the thread that holds the cluster's lock."""

    def __init__(self, replicas: ChosenReplicas, ids: TransactionalIds) -> None:
        self._replicas = replicas
        self._ids = ids
        self._scans = ProducerScans()

    def open_transactions(self) -> list[Producer]:
        """The producers with an open transaction, by topic, partition and first offset."""
        owners = self._ids.owners()
        return [owners.join(each.name, state) for each in self._partitions() for state in self._scans.open_in(each)]

    def all(self) -> Iterator[Producer]:
        """The producers, by topic, partition and id, as they are asked for."""
        owners = self._ids.owners()
        return (owners.join(each.name, state) for each in self._partitions() for state in self._scans.of(each))

    def _partitions(self) -> list[Partition]:
        partitions = self._replicas.all()
        self._scans.keep_only(partitions)
        return partitions
