"""The two small tables: aborted transactions (`.txnindex`) and producers (`.snapshot`)."""

from collections.abc import Iterator

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot
from kafkafs.format.transaction_index import DTYPE, ENTRY_SIZE
from kafkafs.view.dump.entries import sequence_before
from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.lines import optional_long
from kafkafs.view.dump.source import Source


def transaction_index(source: Source, findings: Findings) -> Iterator[bytes]:
    """A line for each aborted transaction; Kafka checks nothing of them but the version, of which it reads one byte."""
    data = source.data.read(0, source.data.size)
    for row in np.frombuffer(data, DTYPE, len(data) // ENTRY_SIZE).tolist():
        stored, producer, first, last, last_stable = row
        version = stored >> 8
        if version > 0:
            findings.problem(source, f"an entry has version {version}, and only 0 is known; the rest is left out.")
            return
        yield (
            f"version: {version} producerId: {producer} firstOffset: {first} lastOffset: {last}"
            f" lastStableOffset: {last_stable}\n"
        ).encode()


def producer_snapshot(source: Source, findings: Findings) -> Iterator[bytes]:
    """A line for each producer; nothing of a snapshot that is cut or whose CRC fails."""
    try:
        producers = parse_producer_snapshot(source.data.read(0, source.data.size))
    except CorruptData as error:
        findings.problem(source, f"{error}.")
        return
    for producer in producers:
        yield _producer_line(producer).encode()


def _producer_line(producer: ProducerState) -> str:
    first_offset = producer.transaction_first_offset
    line = (
        f"producerId: {producer.producer_id} producerEpoch: {producer.producer_epoch}"
        f" coordinatorEpoch: {producer.coordinator_epoch}"
        f" currentTxnFirstOffset: {optional_long(first_offset if first_offset >= 0 else None)}"
        f" lastTimestamp: {producer.timestamp}"
    )
    if producer.last_offset >= 0:
        line += (
            f" firstSequence: {sequence_before(producer.last_sequence, producer.offset_delta)}"
            f" lastSequence: {producer.last_sequence} lastOffset: {producer.last_offset}"
            f" offsetDelta: {producer.offset_delta} timestamp: {producer.timestamp}"
        )
    return line + "\n"
