"""The two small tables: aborted transactions (`.txnindex`) and producers (`.snapshot`)."""

from collections.abc import Iterator

from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import FieldLines, Source, pieces
from kafkafs.dump.entries import sequence_before
from kafkafs.dump.single_lines import optional_long
from kafkafs.errors import CorruptData
from kafkafs.format.producer_snapshot import HEADER_SIZE, ProducerState, check_size, parse_producer_snapshot
from kafkafs.format.transaction_index import DTYPE

TRANSACTION_FIELDS = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
PRODUCER_FIELDS = ("producerId", "producerEpoch", "coordinatorEpoch", "currentTxnFirstOffset", "lastTimestamp")
BATCH_FIELDS = ("firstSequence", "lastSequence", "lastOffset", "offsetDelta", "timestamp")


def transaction_index(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """A line for each aborted transaction; Kafka checks nothing of them but the version, of which it reads one byte."""
    fields = FieldLines(source, options, TRANSACTION_FIELDS)
    for piece in pieces(source.data, DTYPE):
        for stored, *numbers in piece.tolist():
            version = stored >> 8
            if version > 0:
                findings.problem(source, f"an entry has version {version}, and only 0 is known; the rest is left out.")
                return
            yield fields.line(version, *numbers).encode()


def producer_snapshot(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """A line for each producer; nothing of a snapshot that is cut or whose CRC fails."""
    try:
        check_size(source.data.read(0, HEADER_SIZE), source.data.size)
        producers = parse_producer_snapshot(source.data.read(0, source.data.size))
    except CorruptData as error:
        findings.problem(source, f"{error}.")
        return
    without_batch = FieldLines(source, options, PRODUCER_FIELDS)
    with_batch = FieldLines(source, options, PRODUCER_FIELDS + BATCH_FIELDS)
    for producer in producers:
        values = _producer_values(producer, options)
        if producer.last_offset >= 0:
            yield with_batch.line(*values, *_batch_values(producer)).encode()
        else:
            yield without_batch.line(*values).encode()


def _producer_values(producer: ProducerState, options: DumpOptions) -> tuple[object, ...]:
    first = producer.transaction_first_offset if producer.transaction_first_offset >= 0 else None
    shown = ("null" if first is None else first) if options.json else optional_long(first)
    return producer.producer_id, producer.producer_epoch, producer.coordinator_epoch, shown, producer.timestamp


def _batch_values(producer: ProducerState) -> tuple[int, ...]:
    first_sequence = sequence_before(producer.last_sequence, producer.offset_delta)
    return first_sequence, producer.last_sequence, producer.last_offset, producer.offset_delta, producer.timestamp
