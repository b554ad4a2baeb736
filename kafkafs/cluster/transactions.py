"""Transactional ids and their last transaction. Sources: TransactionLog, TransactionState, TransactionMetadata."""

from typing import Any, NamedTuple

from kafkafs.cluster.groups import Problem
from kafkafs.cluster.kept import LastValue
from kafkafs.cluster.lines import known
from kafkafs.cluster.problems import what_is_wrong
from kafkafs.format.messages.records import TRANSACTION_STATES, InternalTopic, Unreadable, parse_record


class Transaction(NamedTuple):
    """What the coordinator wrote last of a transactional id. `producer_ids` are the former and the next one as well."""

    transactional_id: str
    producer_id: int
    producer_epoch: int | None
    state: str
    timeout_ms: int
    start_timestamp: int | None
    last_update_timestamp: int | None
    partitions: tuple[tuple[str, int], ...]
    producer_ids: tuple[int, ...]


def read_transaction(key: bytes, kept: LastValue, problem: Problem) -> Transaction | None:
    """The transactional id of that record; None where it cannot be read."""
    message = parse_record(InternalTopic.TRANSACTIONS, key, kept.value)
    if isinstance(message, Unreadable):
        problem((kept.offset, what_is_wrong(message)))
        return None
    key_fields: dict[str, Any] = message.key or {}
    value: dict[str, Any] = message.value or {}
    status = value["transactionStatus"]
    if not 0 <= status < len(TRANSACTION_STATES):
        problem((kept.offset, f"its transaction status {status} is unknown"))
        return None
    producer_ids = (value["producerId"], value.get("previousProducerId", -1), value.get("nextProducerId", -1))
    return Transaction(
        key_fields["transactionalId"],
        value["producerId"],
        known(value["producerEpoch"]),
        TRANSACTION_STATES[status],
        value["transactionTimeoutMs"],
        known(value["transactionStartTimestampMs"]),
        known(value["transactionLastUpdateTimestampMs"]),
        tuple(
            sorted(
                (each["topic"], number)
                for each in value["transactionPartitions"] or ()
                for number in each["partitionIds"]
            )
        ),
        tuple(each for each in producer_ids if each >= 0),
    )
